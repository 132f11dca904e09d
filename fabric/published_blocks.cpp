#include "fabric/published_blocks.hpp"

#include <string>

namespace penstock::fabric {

namespace {

error refuse(const std::string& what) {
  return {errc::malformed, "published: " + what};
}

std::string text(uint64_t value) {
  return std::to_string(value);
}

} // namespace

published_blocks::published_blocks(const transfer_geometry& geometry, uint32_t first_index,
                                   uint32_t count)
  : geometry_(geometry), first_index_(first_index), entries_(count),
    digests_(size_t{count} * geometry.layers) {
  PS_CHECK(geometry.layers > 0 && geometry.piece_bytes > 0);
  PS_CHECK(geometry.source_blocks > 0 && geometry.destination_blocks > 0);
  PS_CHECK(count <= geometry.destination_blocks);
}

result<void> published_blocks::check_shape(const published& message) const {
  size_t blocks = message.source_blocks.size();
  uint64_t first = message.first_index;
  uint64_t end = uint64_t{first_index_} + count();
  if (blocks == 0 && !message.last)
    return refuse("no block and not the last");
  if (blocks > count() || first < first_index_ || first + blocks > end)
    return refuse("blocks " + text(first) + " to " + text(first + blocks) + " outside "
                  + text(first_index_) + " to " + text(end));
  if (message.last && first + blocks != end)
    return refuse("last ends at " + text(first + blocks) + ", wanted " + text(end));
  if (message.generations.size() != blocks)
    return refuse(text(message.generations.size()) + " generations for " + text(blocks)
                  + " blocks");
  if (message.digests.size() != blocks * geometry_.layers)
    return refuse(text(message.digests.size()) + " digests for " + text(blocks) + " blocks of "
                  + text(geometry_.layers) + " layers");
  for (uint32_t block : message.source_blocks)
    if (block >= geometry_.source_blocks)
      return refuse("source block " + text(block) + " of " + text(geometry_.source_blocks));
  return {};
}

bool published_blocks::agrees(const published& message, size_t index, uint32_t position) const {
  const auto& known = entries_[position];
  if (known.block != message.source_blocks[index] || known.generation != message.generations[index])
    return false;
  for (uint32_t layer = 0; layer < geometry_.layers; ++layer)
    if (digest(layer, position) != message.digests[layer * message.source_blocks.size() + index])
      return false;
  return true;
}

result<std::vector<uint32_t>> published_blocks::add(const published& message) {
  if (auto shape = check_shape(message); !shape)
    return shape.err();
  std::vector<uint32_t> fresh;
  size_t blocks = message.source_blocks.size();
  uint32_t start = message.first_index - first_index_;
  for (size_t i = 0; i < blocks; ++i) {
    auto position = start + static_cast<uint32_t>(i);
    if (!entries_[position].known)
      fresh.push_back(position);
    else if (!agrees(message, i, position))
      return refuse("block " + text(message.first_index + i) + " differs from what was said first");
  }
  for (uint32_t position : fresh) {
    size_t i = position - start;
    entries_[position] = {message.generations[i], message.source_blocks[i], true};
    for (uint32_t layer = 0; layer < geometry_.layers; ++layer)
      digests_[size_t{position} * geometry_.layers + layer] = message.digests[layer * blocks + i];
  }
  known_count_ += static_cast<uint32_t>(fresh.size());
  last_ = last_ || message.last;
  return fresh;
}

} // namespace penstock::fabric
