// Asks a running gateway to go on with a prompt, and prints what comes as it comes.
//
//   example_generate 127.0.0.1:7600 "Once upon a time"
#include "schema/rpc_client.hpp"

#include <chrono>
#include <cstdio>
#include <string>

using namespace penstock;

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s ADDRESS PROMPT\n", words[0]);
    return 2;
  }

  // Waits up to 10 s, in case the gateway is still starting.
  auto client = schema::rpc_client::connect(words[1], std::chrono::seconds{10});
  if (!client) {
    std::fprintf(stderr, "%s\n", client.err().text().c_str());
    return 1;
  }

  generate_request request;
  request.prompt = words[2];
  request.sampling.tokens_max = 64;
  request.sampling.temperature = 0.0F; // Greedy: the same tokens every time.
  request.budget_us = 30'000'000;      // The answer must be complete in 30 s.

  auto outcome = (*client)->generate(
    request, [](std::span<const generated_token> /*tokens*/, std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      return true; // False would cancel the request.
    });
  std::printf("\n");
  if (!outcome) {
    std::fprintf(stderr, "%s\n", outcome.err().text().c_str());
    return 1;
  }

  std::string ending{name_of(outcome->reason)};
  if (outcome->code != errc::ok)
    ending += " (" + error{outcome->code, outcome->detail}.text() + ")";
  std::fprintf(stderr, "%s: %u + %u tokens, first after %.1f ms\n", ending.c_str(),
               outcome->usage.prompt_tokens, outcome->usage.completion_tokens,
               static_cast<double>(outcome->timings.ttft_us) / 1000.0);
  return outcome->code == errc::ok ? 0 : 1;
}
