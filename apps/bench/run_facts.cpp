#include "apps/bench/run_facts.hpp"

#include "cluster/machine.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace penstock::apps::bench {

namespace {

std::string cpu_name() {
  std::ifstream in{"/proc/cpuinfo"};
  for (std::string line; std::getline(in, line);) {
    auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown";
}

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \"'\\$*?;&|<>()") == std::string::npos)
    return word;
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

std::string utc_now() {
  auto now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

} // namespace

std::vector<std::string> program_arguments() {
  std::ifstream in{"/proc/self/cmdline", std::ios::binary};
  std::vector<std::string> out;
  for (std::string word; std::getline(in, word, '\0');)
    out.push_back(word);
  if (!out.empty())
    out.erase(out.begin());
  return out;
}

run_facts facts_of_this_run(const std::vector<std::string>& arguments) {
  run_facts out;
  out.version = PENSTOCK_VERSION;
  out.commit = PENSTOCK_COMMIT;
  out.build = "g++ " __VERSION__ ", " PENSTOCK_BUILD;
  out.cpu = cpu_name();
  auto machine = cluster::this_machine();
  out.cores = static_cast<uint32_t>(machine.cores.size());
  out.memory_bytes = machine.memory_bytes;
  utsname system{};
  if (uname(&system) == 0)
    out.system = std::string{system.sysname} + " " + system.release;
  if (getloadavg(&out.load_before, 1) != 1)
    out.load_before = 0.0;
  out.time = utc_now();
  out.command = "penstock";
  for (const auto& word : arguments)
    out.command.append(" ").append(quoted(word));
  return out;
}

} // namespace penstock::apps::bench
