// main() for a fuzz target without libFuzzer: replays a corpus and seeded mutations of it.
//
// Not a search: it has no feedback. It keeps old finds fixed and catches blunders on every run.
// usage: target CORPUS_FOLDER [MUTATIONS [SECONDS [ONLY]]]; ONLY replays one input by its number.
#include "base/rng.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using bytes = std::vector<uint8_t>;

constexpr size_t input_bytes_max = size_t{64} << 10U;

// What the crash handlers need; they may use nothing else.
struct running_input {
  const uint8_t* data = nullptr;
  size_t size = 0;
  unsigned long number = 0;
};
running_input running;

/// Says which input it was, and keeps it. Only async-signal-safe calls.
void keep_running_input() {
  char text[96];
  auto length = std::snprintf(text, sizeof text, "fuzz: died on input %lu; kept as ./fuzz-crash\n",
                              running.number);
  [[maybe_unused]] auto said = write(STDERR_FILENO, text, static_cast<size_t>(length));
  int file = open("fuzz-crash", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file >= 0) {
    [[maybe_unused]] auto kept = write(file, running.data, running.size);
    close(file);
  }
}

void on_crash(int signal_number) {
  keep_running_input();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void watch_for_crashes() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_running_input);
    std::signal(SIGABRT, on_crash); // The sanitizers leave this one alone.
    return;
  }
  for (int s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(s, on_crash);
}

std::vector<bytes> read_corpus(const char* folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.is_regular_file())
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

void put_number(bytes& input, size_t at, penstock::rng& random) {
  static constexpr std::array<uint64_t, 10> awkward{
    0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, ~uint64_t{0}};
  uint64_t value = awkward[random.below(awkward.size())];
  size_t width = size_t{1} << random.below(4);
  width = std::min(width, input.size() - at);
  std::memcpy(input.data() + at, &value, width);
}

void mutate_once(bytes& input, const bytes& other, penstock::rng& random) {
  if (input.empty()) {
    input.push_back(static_cast<uint8_t>(random.next()));
    return;
  }
  size_t at = random.below(input.size());
  size_t length = 1 + random.below(std::min<size_t>(input.size() - at, 32));
  auto from = input.begin() + static_cast<ptrdiff_t>(at);
  switch (random.below(8)) {
  case 0:
    input[at] ^= static_cast<uint8_t>(1U << random.below(8));
    break;
  case 1:
    input[at] = static_cast<uint8_t>(random.next());
    break;
  case 2:
    input.erase(from, from + static_cast<ptrdiff_t>(length));
    break;
  case 3: {
    bytes copy(from, from + static_cast<ptrdiff_t>(length));
    input.insert(from, copy.begin(), copy.end());
    break;
  }
  case 4:
    input.resize(at);
    break;
  case 5:
    put_number(input, at, random);
    break;
  case 6: { // A run of another input in the middle of this one.
    if (other.empty())
      break;
    size_t start = random.below(other.size());
    size_t count = 1 + random.below(std::min<size_t>(other.size() - start, 256));
    auto first = other.begin() + static_cast<ptrdiff_t>(start);
    input.insert(from, first, first + static_cast<ptrdiff_t>(count));
    break;
  }
  default:
    input.insert(from, size_t{1} << random.below(10), input[at]);
    break;
  }
}

bytes mutated(const std::vector<bytes>& corpus, uint64_t number) {
  penstock::rng random{number};
  bytes input = corpus[random.below(corpus.size())];
  const bytes& other = corpus[random.below(corpus.size())];
  for (uint64_t i = 0, count = 1 + random.below(6); i < count; ++i)
    mutate_once(input, other, random);
  input.resize(std::min(input.size(), input_bytes_max));
  return input;
}

void run_one(const bytes& input, unsigned long number) {
  // A copy of exactly this size, so that the address sanitizer sees reads past the end.
  bytes exact(input);
  exact.shrink_to_fit();
  running = {exact.data(), exact.size(), number};
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

unsigned long number_argument(int argc, char** argv, int index, unsigned long otherwise) {
  return index < argc ? std::strtoul(argv[index], nullptr, 10) : otherwise;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATIONS [SECONDS [ONLY]]]\n", argv[0]);
    return 2;
  }
  auto corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no file in %s; a target without a corpus tests nothing\n", argv[0],
                 argv[1]);
    return 1;
  }
  watch_for_crashes();
  auto total = corpus.size() + number_argument(argc, argv, 2, 3000);
  auto only = number_argument(argc, argv, 4, total);
  auto end
    = std::chrono::steady_clock::now() + std::chrono::seconds(number_argument(argc, argv, 3, 20));
  unsigned long number = only < total ? only : 0;
  auto stop = only < total ? only + 1 : total;
  for (; number < stop && std::chrono::steady_clock::now() < end; ++number)
    run_one(number < corpus.size() ? corpus[number] : mutated(corpus, number), number);
  std::printf("%lu of %lu inputs, %zu of them files\n", number, total, corpus.size());
  return 0;
}
