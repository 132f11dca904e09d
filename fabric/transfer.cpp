#include "fabric/transfer.hpp"

#include "base/digest.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::fabric {

namespace {

constexpr uint32_t table_entries_max = scratch_slot_bytes / generation_table::entry_bytes;
constexpr uint32_t uses_mask = (1U << 24U) - 1;

} // namespace

transfer::transfer(uint32_t id, const transfer_geometry& geometry, const transfer_limits& limits,
                   const transfer_destination& to, uint32_t first_index,
                   std::vector<uint32_t> blocks)
  : id_(id), geometry_(geometry), limits_(limits), to_(to), blocks_(std::move(blocks)),
    source_(geometry, first_index, static_cast<uint32_t>(blocks_.size())),
    slots_(limits.reads_in_flight_max) {
  PS_CHECK(limits.reads_in_flight_max > 0);
  PS_CHECK(limits.reads_in_flight_max <= reads_in_flight_limit);
  PS_CHECK(to.pool.size() == geometry.destination_bytes());
  PS_CHECK(to.scratch.size() >= slots_.size() * scratch_slot_bytes);
  PS_CHECK(reinterpret_cast<uintptr_t>(to.scratch.data()) % generation_table::entry_bytes == 0);
  for (uint32_t block : blocks_)
    PS_CHECK(block < geometry.destination_blocks);
}

result<void> transfer::add(const published& message) {
  if (state_ != transfer_state::reading)
    return {};
  auto fresh = source_.add(message);
  if (!fresh)
    return fresh.err();
  if (!fresh->empty()) {
    std::vector<piece_at> pieces;
    pieces.reserve(fresh->size() * geometry_.layers);
    for (uint32_t layer = 0; layer < geometry_.layers; ++layer)
      for (uint32_t position : *fresh)
        pieces.push_back({layer, position});
    batch next;
    next.by_source = std::move(*fresh);
    std::sort(next.by_source.begin(), next.by_source.end(), [this](uint32_t a, uint32_t b) {
      return source_.source_block(a) < source_.source_block(b);
    });
    batches_.push_back(std::move(next));
    queue_pieces(static_cast<uint32_t>(batches_.size() - 1), pieces);
  }
  land_if_complete();
  return {};
}

void transfer::queue_pieces(uint32_t index, std::span<const piece_at> pieces) {
  auto units = plan_reads(geometry_, source_, blocks_, pieces, limits_.unit_bytes_max);
  batches_[index].reads_left = static_cast<uint32_t>(units.size());
  for (const auto& unit : units)
    ready_.push_back({index, 0, false, unit, {}});
}

uint64_t transfer::bytes_of(const work& w) const noexcept {
  return w.is_table ? w.range.blocks * generation_table::entry_bytes
                    : w.unit.count * geometry_.piece_bytes;
}

std::span<std::byte> transfer::target_of(const work& w, size_t slot_index) const {
  if (w.is_table)
    return to_.scratch.subspan(slot_index * scratch_slot_bytes, bytes_of(w));
  auto offset = geometry_.destination_offset(w.unit.layer, blocks_[w.unit.first]);
  return to_.pool.subspan(offset, bytes_of(w));
}

const transfer::work* transfer::next_ready() const {
  if (state_ != transfer_state::reading || ready_.empty() || in_flight_ == slots_.size())
    return nullptr;
  const auto& next = ready_.front();
  bool fits = bytes_in_flight_ + bytes_of(next) <= limits_.bytes_in_flight_max;
  return fits || in_flight_ == 0 ? &next : nullptr;
}

read_request transfer::start(work next) {
  size_t index = 0;
  while (slots_[index].busy)
    ++index;
  auto& mine = slots_[index];
  mine.busy = true;
  mine.uses = (mine.uses + 1) & uses_mask;
  mine.doing = next;
  ++in_flight_;
  bytes_in_flight_ += bytes_of(next);
  ++stats_.reads;
  read_request out;
  out.cookie = uint64_t{id_} << 32U | uint64_t{mine.uses} << 8U | index;
  out.into = target_of(next, index);
  out.offset = next.is_table
                 ? generation_table::entry_offset(next.range.first_block)
                 : geometry_.source_offset(next.unit.layer, source_.source_block(next.unit.first));
  return out;
}

std::vector<read_request> transfer::next_reads(size_t reads_max) {
  std::vector<read_request> out;
  while (out.size() < reads_max) {
    const auto* next = next_ready();
    if (next == nullptr)
      break;
    work taken = *next;
    ready_.pop_front();
    out.push_back(start(taken));
  }
  return out;
}

transfer::slot* transfer::find(uint64_t cookie) {
  size_t index = cookie & 0xFFU;
  if (id_of(cookie) != id_ || index >= slots_.size())
    return nullptr;
  auto& at = slots_[index];
  return at.busy && at.uses == ((cookie >> 8U) & uses_mask) ? &at : nullptr;
}

void transfer::end(slot& ended) {
  ended.busy = false;
  --in_flight_;
  bytes_in_flight_ -= bytes_of(ended.doing);
}

bool transfer::completed(uint64_t cookie, errc code) {
  auto* mine = find(cookie);
  if (mine == nullptr)
    return false;
  end(*mine);
  if (state_ != transfer_state::reading)
    return true;
  work done = mine->doing;
  if (code != errc::ok)
    retry(done);
  else if (done.is_table)
    check_generations(done, static_cast<size_t>(mine - slots_.data()));
  else
    check_pieces(done);
  return true;
}

void transfer::withdraw(uint64_t cookie) {
  auto* mine = find(cookie);
  PS_CHECK(mine != nullptr);
  end(*mine);
  --stats_.reads;
  if (state_ == transfer_state::reading)
    ready_.push_front(mine->doing);
}

void transfer::region_closed() {
  abandoned_ = false;
  for (auto& each : slots_) {
    if (!each.busy)
      continue;
    end(each);
    if (state_ == transfer_state::reading)
      retry(each.doing);
  }
}

void transfer::retry(const work& failed) {
  if (failed.tries >= limits_.retries_max) {
    fail(errc::transfer_failed, "a read failed " + std::to_string(failed.tries + 1) + " times");
    return;
  }
  ++stats_.retries;
  ready_.push_front(failed);
  ++ready_.front().tries;
}

void transfer::check_pieces(const work& done) {
  auto& owner = batches_[done.batch];
  auto bytes = target_of(done, 0);
  stats_.bytes += bytes.size();
  for (uint32_t i = 0; i < done.unit.count; ++i) {
    uint32_t position = done.unit.first + i;
    auto piece = bytes.subspan(i * geometry_.piece_bytes, geometry_.piece_bytes);
    if (digest64_of(piece) != source_.digest(done.unit.layer, position))
      owner.wrong.push_back({done.unit.layer, position});
  }
  if (--owner.reads_left == 0)
    pieces_are_here(done.batch);
}

// Generations go to the front: a batch that is here soon makes room for its owner's next one.
void transfer::pieces_are_here(uint32_t index) {
  auto& owner = batches_[index];
  std::vector<uint32_t> sorted;
  sorted.reserve(owner.by_source.size());
  for (uint32_t position : owner.by_source)
    sorted.push_back(source_.source_block(position));
  auto ranges = plan_table_reads(sorted, table_entries_max);
  owner.reads_left = static_cast<uint32_t>(ranges.size());
  for (const auto& range : ranges)
    ready_.push_front({index, 0, true, {}, range});
}

void transfer::check_generations(const work& done, size_t slot_index) {
  auto& owner = batches_[done.batch];
  auto entries = target_of(done, slot_index);
  auto first = std::lower_bound(
    owner.by_source.begin(), owner.by_source.end(), done.range.first_block,
    [this](uint32_t position, uint32_t block) { return source_.source_block(position) < block; });
  for (auto at = first; at != owner.by_source.end(); ++at) {
    uint64_t entry = source_.source_block(*at) - done.range.first_block;
    if (entry >= done.range.blocks)
      break;
    uint64_t found = 0;
    std::memcpy(&found, &entries[entry * sizeof found], sizeof found);
    if (found != source_.generation(*at)) {
      fail(errc::stale_data, "source block " + std::to_string(source_.source_block(*at))
                               + " was given back: generation " + std::to_string(found)
                               + ", published " + std::to_string(source_.generation(*at)));
      return;
    }
  }
  if (--owner.reads_left == 0)
    batch_is_checked(done.batch);
}

void transfer::batch_is_checked(uint32_t index) {
  auto& owner = batches_[index];
  if (owner.wrong.empty()) {
    landed_blocks_ += static_cast<uint32_t>(owner.by_source.size());
    land_if_complete();
    return;
  }
  auto wrong = std::exchange(owner.wrong, {});
  stats_.wrong_digests += wrong.size();
  if (owner.rounds == limits_.retries_max) {
    fail(errc::stale_data, std::to_string(wrong.size()) + " pieces have a wrong digest after "
                             + std::to_string(owner.rounds + 1) + " reads");
    return;
  }
  ++owner.rounds;
  stats_.retries += wrong.size();
  std::sort(wrong.begin(), wrong.end());
  queue_pieces(index, wrong);
}

void transfer::land_if_complete() {
  if (!source_.complete() || landed_blocks_ != source_.count())
    return;
  PS_CHECK(in_flight_ == 0 && ready_.empty());
  state_ = transfer_state::landed;
}

void transfer::fail(errc code, std::string detail) {
  state_ = transfer_state::failed;
  failure_ = {code, std::move(detail)};
  ready_.clear();
}

const error& transfer::failure() const {
  PS_CHECK(state_ == transfer_state::failed);
  return failure_;
}

settlement transfer::cancel() {
  if (state_ == transfer_state::reading) {
    state_ = transfer_state::cancelled;
    ready_.clear();
  }
  return settle();
}

settlement transfer::abandon() {
  auto now = cancel();
  abandoned_ = in_flight_ > 0;
  if (abandoned_)
    now.state = settlement::kind::abandoned;
  return now;
}

settlement transfer::settle() const {
  settlement out;
  for (const auto& each : slots_) {
    if (!each.busy)
      continue;
    if (each.doing.is_table)
      out.scratch = true;
    else
      for (uint32_t i = 0; i < each.doing.unit.count; ++i)
        out.blocks.push_back(blocks_[each.doing.unit.first + i]);
  }
  std::sort(out.blocks.begin(), out.blocks.end());
  out.blocks.erase(std::unique(out.blocks.begin(), out.blocks.end()), out.blocks.end());
  if (in_flight_ > 0)
    out.state = abandoned_ ? settlement::kind::abandoned : settlement::kind::pending;
  return out;
}

} // namespace penstock::fabric
