// The sequences decode has promised to take, from the booking to the running batch.
//
// A booking reserves a row and every block its sequence may need, by count; the blocks themselves
// are taken when prefill begins. Bookings that do not fit wait in order. Decides; acts on nothing.
//
//   waiting ─► booked ─► begun ─► receiving ─► ready ─► running ─► (gone)
//                 └────────── full hit ──────────┘
// A booking holds the cached prefix it hit; only what is missing is received and quarantined.
//   drop: any stage ─► (gone), but from receiving through leaving, until nothing lands any more.
#pragma once

#include "actors/decode_batch.hpp"
#include "base/result.hpp"
#include "gpu/prefix_cache.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

struct booking {
  work_key key;
  schema::node_ref prefill;
  std::vector<token_id> tokens;
  uint32_t prompt_tokens = 0;
  sampling_params sampling;
  std::vector<token_id> end_ids;
  time_us deadline = 0;
  priority_class priority = priority_class::normal;
  std::string cache_scope = {};           ///< Whose cached prefixes it may use.
  uint32_t cache_tokens_max = UINT32_MAX; ///< Leading tokens that may be cached.
};

class bookings {
public:
  struct limits {
    uint32_t rows_max = 1;
    uint32_t queue_max = 256; ///< Bookings waiting.
    uint32_t context_max = 2;
    uint32_t block_tokens = 16;
  };
  /// @param pool, cache Outlive the bookings; the cache is of that pool.
  bookings(limits bounds, gpu::block_pool& pool, gpu::prefix_cache& cache);

  /// @returns errc::overloaded, errc::out_of_blocks (can never fit) or errc::invalid_argument.
  [[nodiscard]] result<void> add(booking b);

  struct admitted {
    work_key key;
    uint32_t cached_tokens = 0; ///< Leading tokens whose KV is here, held from now on.
    bool needs_transfer = true; ///< False if only the last token's KV is missing.
  };
  /// @returns Bookings that have room now, in order; each is reported once.
  [[nodiscard]] std::vector<admitted> admit();

  /// Prefill has begun. Unknown or later stages are ignored.
  void begin(const work_key& key);
  /// All KV it needs is cached here: it is ready as soon as it has blocks.
  void begin_without_transfer(const work_key& key);

  struct grant {
    work_key key;
    schema::node_ref prefill;
    uint32_t first_index = 0;     ///< Ordinal of the first block that will receive KV.
    std::vector<uint32_t> blocks; ///< Those that will receive KV, in order.
    bool transfer = true;
  };
  /// @returns Begun bookings that took their blocks just now.
  [[nodiscard]] std::vector<grant> take_blocks();

  /// All KV is here. @returns False if the key is not receiving.
  bool landed(const work_key& key);
  /// @returns The next row for the batch, if one is ready.
  [[nodiscard]] std::optional<decode_row> next_ready();

  enum class drop_result : uint8_t { unknown, gone, leaving, running };
  /// Gives up on a booking. `leaving`: the mover must be told; blocks are quarantined until
  /// quiet(). `running`: the batch owns the row; call finished() once it left.
  drop_result drop(const work_key& key);
  /// Nothing lands any more in a leaving booking's blocks.
  void quiet(const work_key& key);
  /// A running row has left the batch.
  void finished(const work_key& key);

  [[nodiscard]] const booking* find(const work_key& key) const;
  /// @returns Tokens of the prefix it hit; 0 if unknown.
  [[nodiscard]] uint32_t cached_tokens(const work_key& key) const;
  [[nodiscard]] bool is_receiving(const work_key& key) const;
  /// @returns True from the moment its source is no longer needed.
  [[nodiscard]] bool has_all_kv(const work_key& key) const;
  [[nodiscard]] std::vector<work_key> late(time_us now) const; ///< Not running ones.
  template <class Predicate>
  [[nodiscard]] std::vector<work_key> keys_if(Predicate wanted) const {
    std::vector<work_key> found;
    for (const auto& [key, e] : entries_)
      if (e.at != stage::leaving && e.at != stage::running && wanted(e.what))
        found.push_back(key);
    return found;
  }

  [[nodiscard]] uint32_t reserved_blocks() const noexcept { return reserved_blocks_; }
  [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(entries_.size()); }

private:
  enum class stage : uint8_t { waiting, booked, begun, receiving, ready, running, leaving };
  struct entry {
    booking what;
    stage at = stage::waiting;
    uint32_t blocks = 0; // Reserved.
    bool transfer = true;
    uint32_t cached_tokens = 0;
    gpu::kv_lease hit;                  // The cached prefix.
    std::optional<gpu::kv_lease> lease; // What follows it.
    std::optional<gpu::quarantine_id> quarantined;
  };

  entry* find_entry(const work_key& key);
  void erase(const work_key& key);

  limits bounds_;
  gpu::block_pool& pool_;
  gpu::prefix_cache& cache_;
  std::map<work_key, entry> entries_;
  std::deque<work_key> order_; // Waiting, oldest first.
  std::deque<work_key> begun_; // Wanting blocks.
  std::deque<work_key> ready_;
  uint32_t reserved_rows_ = 0;
  uint32_t reserved_blocks_ = 0;
};

} // namespace penstock::actors
