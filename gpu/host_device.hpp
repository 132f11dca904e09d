// A device made of CPU cores: packed weights, a team of threads, KV in memory of the caller's.
//
// Runs each step inside submit(), on the caller's thread and the team's, and calls `done` before
// submit() returns. Keeps what the device interface says of slots; the arithmetic is forward_pass's
// and docs/numerics.md's. Not thread-safe: one owner submits.
#pragma once

#include "base/clock.hpp"
#include "gpu/device.hpp"
#include "gpu/forward_pass.hpp"
#include "gpu/sampler.hpp"
#include "gpu/seen_tokens.hpp"

#include <memory>

namespace penstock::gpu {

struct host_options {
  uint32_t threads = 1;         ///< Workers, the submitting thread included, in [1, 256].
  std::vector<uint32_t> cores;  ///< One per worker, or empty: not pinned.
  uint32_t row_slots = 0;       ///< In [1, 65536].
  uint32_t step_tokens_max = 0; ///< >= 1.
  uint32_t context_max = 0;     ///< In [1, the model's context].
  uint32_t block_tokens = 0;    ///< A multiple of limits::block_tokens_multiple.
  uint32_t blocks = 0;          ///< >= 1.
  kv_dtype kv = kv_dtype::f32;  ///< Only f32 now.
};

/// What a host device needs of memory, in bytes.
struct host_memory {
  size_t weights = 0;     ///< Packed; beside the checkpoint's own bytes.
  size_t kv = 0;          ///< The pool the caller supplies.
  size_t activations = 0; ///< Buffers of the largest step.
  [[nodiscard]] size_t total() const noexcept { return weights + kv + activations; }
};

/// @returns errc::invalid_argument or errc::unsupported, naming the option and what is allowed.
[[nodiscard]] result<void> check_options(const model::model_config& config,
                                         const host_options& options);

/// @returns The KV layout these options give.
[[nodiscard]] kv_layout layout_of(const model::model_config& config, const host_options& options);

/// @pre check_options passes. Reads shapes and dtypes only.
[[nodiscard]] host_memory memory_of(const model::model_config& config, const model::weights& source,
                                    const host_options& options);

class host_device final : public device {
public:
  /// Packs the weights. @pre check_options passes.
  /// @param source Fits `config`. Its embedding must outlive the device; the rest is copied.
  /// @param pool layout_of(...).pool_bytes() long at least, 4-byte aligned; outlives the device.
  /// @param kernels From kernels_for(); outlives the device, as does `time`.
  host_device(const model::model_config& config, const model::weights& source,
              const host_options& options, std::span<std::byte> pool, const kernel_table& kernels,
              const clock& time);

  void submit(step work, done_handler done) override;
  [[nodiscard]] const device_limits& limits() const noexcept override { return limits_; }
  [[nodiscard]] const kv_layout& layout() const noexcept override { return layout_; }
  [[nodiscard]] std::span<std::byte> pool() noexcept override { return pool_; }
  [[nodiscard]] std::string numerics_id() const override;

  /// For tests: logits of the index-th sampled row of the last step. [vocab]
  [[nodiscard]] std::span<const float> logits(uint32_t index) const { return pass_.logits(index); }

private:
  void check(const step& work) const;
  void sample_rows(const step& work, step_output& out);

  const model::model_config config_;
  const clock& time_;
  const kernel_table& kernels_;
  const device_limits limits_;
  const kv_layout layout_;
  std::span<std::byte> pool_;
  const host_weights weights_;
  thread_team team_;
  forward_pass pass_;
  std::vector<token_id> last_token_;             ///< [row_slots]
  std::vector<seen_tokens> seen_;                ///< [row_slots]
  std::vector<sampling_scratch> sample_scratch_; ///< [workers]
  time_us idle_since_;
};

} // namespace penstock::gpu
