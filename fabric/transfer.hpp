// One hand-over of KV blocks as a state machine: which reads to post, and when it has landed.
//
// No thread, no clock, no transport: its owner posts what next_reads() says, tells it what became
// of each, and keeps the deadline. Per published batch: read the pieces, digest each; when all are
// here, read the blocks' generations, in that order, so that an unchanged generation proves that no
// piece was read from a later use of its block. It lands only if every digest and generation is the
// published one. Every path ends: each read and each batch is tried at most 1 + retries_max times.
// Memory is bounded by blocks x layers. The destination's bytes are borrowed.
#pragma once

#include "fabric/published_blocks.hpp"
#include "fabric/read_plan.hpp"
#include "fabric/transfer_types.hpp"

#include <deque>
#include <span>
#include <vector>

namespace penstock::fabric {

class transfer {
public:
  /// @param id Upper half of every cookie, so that the owner of many can route completions.
  /// @param to Outlives the object, and every read in flight.
  /// @param first_index Ordinal, in the sequence, of the first block that is moved.
  /// @param blocks Destination blocks by position; distinct, inside the pool. May be empty.
  transfer(uint32_t id, const transfer_geometry& geometry, const transfer_limits& limits,
           const transfer_destination& to, uint32_t first_index, std::vector<uint32_t> blocks);

  /// Takes what the source published, in any order; what is known is ignored.
  /// @returns errc::malformed if it contradicts the geometry or an earlier message. Then nothing
  ///   has changed; the owner decides whether to cancel.
  [[nodiscard]] result<void> add(const published& message);

  /// Says what to post next and counts it as in flight. Empty if the window is full or nothing is
  /// ready. @param reads_max Reads wanted at most.
  [[nodiscard]] std::vector<read_request> next_reads(size_t reads_max);

  /// A read ended. Digests its pieces: takes as long as that.
  /// @returns False, and does nothing, if no read with this cookie is in flight.
  bool completed(uint64_t cookie, errc code);

  /// A read from next_reads() was not posted (the transport's window is full): it comes again.
  void withdraw(uint64_t cookie);

  /// The region was closed: every read in flight has ended without a completion. Counts as a failed
  /// try of each; posting goes on once the owner has opened it again.
  void region_closed();

  /// Gives up. Ends nothing that is in flight. Does nothing once landed or failed.
  settlement cancel();

  /// The owner will not wait for what is in flight: it stays in quarantine until region_closed().
  settlement abandon();

  /// @returns What may not be reused yet. Blocks not named are free to go, whatever the state.
  [[nodiscard]] settlement settle() const;

  [[nodiscard]] transfer_state state() const noexcept { return state_; }
  /// Why it failed. @pre state() is failed.
  [[nodiscard]] const error& failure() const;
  [[nodiscard]] const transfer_stats& stats() const noexcept { return stats_; }
  [[nodiscard]] uint32_t id() const noexcept { return id_; }

  /// @returns The id of the transfer a cookie belongs to.
  [[nodiscard]] static constexpr uint32_t id_of(uint64_t cookie) noexcept {
    return static_cast<uint32_t>(cookie >> 32U);
  }

private:
  // Blocks that one message brought; verified together.
  struct batch {
    std::vector<uint32_t> by_source; // Positions, ascending by source block.
    uint32_t reads_left = 0;         // Of pieces, then of generations.
    uint32_t rounds = 0;             // Times pieces were read again for a wrong digest.
    std::vector<piece_at> wrong;
  };
  struct work {
    uint32_t batch = 0;
    uint32_t tries = 0;
    bool is_table = false;
    read_unit unit;
    table_range range;
  };
  struct slot {
    work doing;
    bool busy = false;
    uint32_t uses = 0; // Part of the cookie: a late completion finds another number.
  };

  [[nodiscard]] const work* next_ready() const;
  [[nodiscard]] read_request start(work next);
  [[nodiscard]] slot* find(uint64_t cookie);
  void end(slot& ended);
  void retry(const work& failed);
  void check_pieces(const work& done);
  void check_generations(const work& done, size_t slot_index);
  void pieces_are_here(uint32_t index);
  void batch_is_checked(uint32_t index);
  void queue_pieces(uint32_t index, std::span<const piece_at> pieces);
  void land_if_complete();
  void fail(errc code, std::string detail);
  [[nodiscard]] uint64_t bytes_of(const work& w) const noexcept;
  [[nodiscard]] std::span<std::byte> target_of(const work& w, size_t slot_index) const;

  uint32_t id_;
  transfer_geometry geometry_;
  transfer_limits limits_;
  transfer_destination to_;
  std::vector<uint32_t> blocks_;
  published_blocks source_;
  std::vector<batch> batches_;
  std::deque<work> ready_;
  std::vector<slot> slots_;
  size_t in_flight_ = 0;
  uint64_t bytes_in_flight_ = 0;
  uint32_t landed_blocks_ = 0;
  transfer_state state_ = transfer_state::reading;
  bool abandoned_ = false;
  error failure_;
  transfer_stats stats_;
};

} // namespace penstock::fabric
