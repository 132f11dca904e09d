#include "fabric/local_transport.hpp"

#include "fabric/descriptors.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::fabric {

using destination_list = std::shared_ptr<std::vector<std::span<std::byte>>>;

class local_region final : public remote_region {
public:
  local_region(local_fabric& on, const local_descriptor& from, size_t window,
               transport::done_handler on_done, destination_list destinations)
    : fabric_(on), from_(from), window_(window), on_done_(std::move(on_done)),
      destinations_(std::move(destinations)) {}
  ~local_region() override { fabric_.forget(this); }

  [[nodiscard]] uint64_t size_bytes() const noexcept override { return from_.size_bytes; }

  [[nodiscard]] result<void> read(uint64_t offset, std::span<std::byte> into,
                                  uint64_t cookie) override {
    if (into.empty() || !in_bounds(offset, into.size(), from_.size_bytes))
      return error{errc::invalid_argument, "read of " + std::to_string(into.size()) + " bytes at "
                                             + std::to_string(offset) + " of "
                                             + std::to_string(from_.size_bytes)};
    auto holds = [into](std::span<std::byte> memory) {
      return into.data() >= memory.data()
             && into.data() + into.size() <= memory.data() + memory.size();
    };
    if (std::none_of(destinations_->begin(), destinations_->end(), holds))
      return error{errc::invalid_argument, "the destination was not registered"};
    if (in_flight_ == window_)
      return error{errc::overloaded, std::to_string(window_) + " reads in flight"};
    ++in_flight_;
    fabric_.pending_.push_back({this, from_.source, offset, cookie, into});
    return {};
  }

  void done(uint64_t cookie, errc code) {
    --in_flight_;
    read_done one{cookie, code};
    on_done_({&one, 1});
  }

private:
  local_fabric& fabric_;
  local_descriptor from_;
  size_t window_;
  transport::done_handler on_done_;
  destination_list destinations_;
  size_t in_flight_ = 0;
};

void local_fabric::deliver_one(size_t index, delivery how) {
  PS_CHECK(index < pending_.size());
  posted read = pending_[index];
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  const auto& from = sources_.at(read.source);
  if (!from.alive) {
    read.region->done(read.cookie, errc::peer_lost);
    return;
  }
  const auto* bytes = from.memory.data() + read.offset;
  size_t half = read.into.size() / 2;
  errc code = errc::ok;
  switch (how.how) {
  case delivery::kind::good:
    std::memcpy(read.into.data(), bytes, read.into.size());
    break;
  case delivery::kind::failed:
    code = how.code;
    break;
  case delivery::kind::partial:
    std::memcpy(read.into.data(), bytes, half);
    code = how.code;
    break;
  case delivery::kind::truncated:
    std::memcpy(read.into.data(), bytes, half);
    break;
  case delivery::kind::flipped:
    std::memcpy(read.into.data(), bytes, read.into.size());
    read.into[half] ^= std::byte{0x10};
    break;
  case delivery::kind::lost:
    lost_.push_back(read);
    return;
  }
  read.region->done(read.cookie, code);
}

size_t local_fabric::pump(rng& order) {
  size_t count = 0;
  for (; !pending_.empty(); ++count)
    deliver_one(order.below(pending_.size()));
  return count;
}

void local_fabric::kill(std::span<const std::byte> from_bytes) {
  auto from = parse_local(from_bytes);
  PS_CHECK(from);
  sources_.at(from->source).alive = false;
}

void local_fabric::forget(const local_region* region) {
  auto is_its = [region](const posted& read) { return read.region == region; };
  std::erase_if(pending_, is_its);
  std::erase_if(lost_, is_its);
}

local_transport::local_transport(local_fabric& on, size_t reads_in_flight_max)
  : fabric_(&on), reads_in_flight_max_(reads_in_flight_max),
    destinations_(std::make_shared<std::vector<std::span<std::byte>>>()) {
  PS_CHECK(reads_in_flight_max > 0);
}

local_transport::~local_transport() {
  if (source_ != 0)
    fabric_->sources_.at(source_).alive = false;
}

result<descriptor> local_transport::serve(std::span<std::byte> memory) {
  PS_CHECK(source_ == 0);
  if (memory.empty())
    return error{errc::invalid_argument, "serves 0 bytes"};
  source_ = fabric_->next_source_++;
  fabric_->sources_[source_] = {memory, true};
  return encode(local_descriptor{source_, memory.size()});
}

result<std::unique_ptr<remote_region>> local_transport::open(std::span<const std::byte> from,
                                                             done_handler on_done) {
  auto parsed = parse_local(from);
  if (!parsed)
    return parsed.err();
  auto found = fabric_->sources_.find(parsed->source);
  if (found == fabric_->sources_.end() || !found->second.alive)
    return error{errc::peer_lost, "local source " + std::to_string(parsed->source) + " is gone"};
  if (found->second.memory.size() != parsed->size_bytes)
    return error{errc::incompatible, "the source serves another size"};
  return std::unique_ptr<remote_region>(std::make_unique<local_region>(
    *fabric_, *parsed, reads_in_flight_max_, std::move(on_done), destinations_));
}

result<void> local_transport::register_destination(std::span<std::byte> memory) {
  destinations_->push_back(memory);
  return {};
}

} // namespace penstock::fabric
