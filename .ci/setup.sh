# Sourced by quickstart, check and .ci/run: what the machine must have before we can build.
# Every failure is one sentence on stderr and exit code 1.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\033[1m==> %s\033[0m\n' "$*" | if [[ -t 1 ]]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Debian 12 is what the package list is written for.
require_debian_12() {
  local id="" version=""
  if [[ -r /etc/os-release ]]; then
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")
  fi
  [[ $id == debian && $version == 12 ]] ||
    die "this needs Debian 12, found '${id:-unknown} ${version}'; install what ops/packages.txt" \
      "lists yourself and pass --no-install."
}

# require_disk MIB: room for the build, in the file system of the clone.
require_disk() {
  local free_mib
  free_mib=$(df -Pm "$root" | awk 'NR == 2 { print $4 }')
  ((free_mib >= $1)) ||
    die "the disk that holds $root has $free_mib MiB free, the build needs about $1 MiB."
}

# missing_packages all|build: names from the list that dpkg does not have. `build` leaves out the
# lines marked `# check`, which only tests need.
missing_packages() {
  local line name
  while IFS= read -r line; do
    [[ $1 == build && $line == *"# check"* ]] && continue
    name=${line%%#*}
    name=${name//[[:space:]]/}
    [[ -n $name ]] || continue
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$name"
  done <"$root/ops/packages.txt"
}

explain_apt_failure() { # LOG PACKAGES
  if grep -qiE 'no space left|not enough free space' "$1"; then
    die "the disk is full: apt-get could not install: $2."
  elif grep -qiE 'could not resolve|failed to fetch|could not connect|unable to connect' "$1"; then
    die "no network to the package mirror; these packages are missing: $2."
  elif grep -qiE 'unable to locate package' "$1"; then
    die "$(grep -i 'unable to locate package' "$1" | head -1); is apt set up for Debian 12?"
  elif grep -qiE 'could not get lock|is another process using it' "$1"; then
    die "another apt or dpkg is running; wait for it to end and try again."
  fi
  die "apt-get failed: $(grep -E '^E: ' "$1" | head -1) (needed: $2)"
}

# install_packages all|build: installs what is missing, as root or through sudo.
install_packages() {
  local missing apt=() log
  missing=$(missing_packages "$1" | tr '\n' ' ')
  [[ -n ${missing// /} ]] || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "need root to install packages and there is no sudo; as root: apt-get install $missing"
    sudo -n true 2>/dev/null || [[ -t 0 ]] ||
      die "sudo wants a password and there is no terminal; as root: apt-get install $missing"
    apt=(sudo)
  fi
  say "Installing: $missing"
  log=$(mktemp)
  apt+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0)
  # An old index often still serves, so a failed update alone is no reason to stop.
  "${apt[@]}" update </dev/null >"$log" 2>&1 || true
  # shellcheck disable=SC2086
  "${apt[@]}" install -y --no-install-recommends $missing </dev/null 2>&1 | tee -a "$log" |
    grep --line-buffered -E '^(Get:|Setting up|E:)' || true
  if [[ -n $(missing_packages "$1") ]]; then
    explain_apt_failure "$log" "$(missing_packages "$1" | tr '\n' ' ')"
  fi
  rm -f "$log"
}

# Compilers running at once: as many as there are cores, but 1.5 GiB of memory each.
build_jobs() {
  local cores memory_mib jobs
  cores=$(nproc)
  memory_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
  jobs=$((memory_mib / 1536))
  ((jobs >= 1)) || jobs=1
  ((jobs <= cores)) || jobs=$cores
  printf '%s' "$jobs"
}

# configure PRESET [ARGS]: quiet unless it fails.
configure() {
  local preset=$1 log
  shift
  log=$(mktemp)
  say "Configuring build/$preset"
  if ! (cd "$root" && cmake --preset "$preset" "$@") </dev/null >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "cmake could not configure build/$preset, see above."
  fi
  rm -f "$log"
}

# build PRESET [TARGETS]
build() {
  local preset=$1
  shift
  say "Building build/$preset ${*:+($*)}"
  ninja -C "$root/build/$preset" -j "$(build_jobs)" "$@" </dev/null ||
    die "the build of build/$preset failed, see above."
}
