#include "schema/message.hpp"

#include "schema/cluster_codec.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <optional>

namespace penstock::schema {

namespace {

using penstock::limits::message_bytes_max;

// A message opened for reading. Its words must outlive it.
class opened {
public:
  explicit opened(const message& m) : reader_(words_of(m), options_for(m)) {}
  wire::Envelope::Reader root() { return reader_.getRoot<wire::Envelope>(); }

private:
  static kj::ArrayPtr<const capnp::word> words_of(const message& m) {
    return {reinterpret_cast<const capnp::word*>(m.bytes().data()),
            m.size_bytes() / sizeof(capnp::word)};
  }
  // Nobody may make us read much more than was sent: lists can overlap, so bytes can be read twice.
  static capnp::ReaderOptions options_for(const message& m) {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = m.size_bytes() / sizeof(capnp::word) * 2 + 64;
    options.nestingLimit = 8;
    return options;
  }

  capnp::FlatArrayMessageReader reader_;
};

result<header> read_header(wire::Envelope::Reader from) {
  header h;
  h.from = {from.getFromNode(), from.getFromIncarnation()};
  h.to = {from.getToNode(), from.getToIncarnation()};
  h.to_role = static_cast<role>(from.getToRole());
  if (h.to_role > role::decode)
    return error{errc::malformed, "to_role is no role"};
  h.request = from.getRequest();
  h.attempt = from.getAttempt();
  h.budget_us = from.getBudgetUs();
  return h;
}

void write_header(const header& from, wire::Envelope::Builder into) {
  into.setFromNode(from.from.node);
  into.setFromIncarnation(from.from.incarnation);
  into.setToNode(from.to.node);
  into.setToIncarnation(from.to.incarnation);
  into.setToRole(static_cast<uint8_t>(from.to_role));
  into.setRequest(from.request);
  into.setAttempt(from.attempt);
  into.setBudgetUs(from.budget_us);
}

// Runs `read` on the root; whatever Cap'n Proto throws at broken bytes becomes errc::malformed.
template <class T, class F>
result<T> read_root(const message& m, F read) {
  if (m.size_bytes() == 0)
    return error{errc::malformed, "the message is empty"};
  std::optional<result<T>> out;
  auto thrown = kj::runCatchingExceptions([&out, &m, &read] {
    opened words{m};
    out.emplace(read(words.root()));
  });
  KJ_IF_MAYBE (e, thrown)
    return error{errc::malformed,
                 std::string{"no valid Cap'n Proto message: "} + e->getDescription().cStr()};
  return std::move(*out);
}

} // namespace

result<message> message::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() > message_bytes_max)
    return error{errc::malformed, "a message has " + std::to_string(bytes.size())
                                    + " bytes, more than " + std::to_string(message_bytes_max)};
  if (bytes.size() % sizeof(uint64_t) != 0)
    return error{errc::malformed,
                 "a message has " + std::to_string(bytes.size()) + " bytes, not a multiple of 8"};
  if (bytes.empty())
    return message{};
  size_t count = bytes.size() / sizeof(uint64_t);
  auto words = std::make_shared_for_overwrite<uint64_t[]>(count);
  std::memcpy(words.get(), bytes.data(), bytes.size());
  return message{std::move(words), count};
}

message encode(const header& h, const body& b) {
  PS_CHECK(h.to_role <= role::decode);
  capnp::MallocMessageBuilder builder{static_cast<unsigned>(words_hint(b))};
  auto root = builder.initRoot<wire::Envelope>();
  write_header(h, root);
  write_body(b, root.getBody());
  auto segments = builder.getSegmentsForOutput();
  size_t count = capnp::computeSerializedSizeInWords(segments);
  PS_CHECK(count * sizeof(uint64_t) <= message_bytes_max);
  auto words = std::make_shared_for_overwrite<uint64_t[]>(count);
  kj::ArrayOutputStream out{
    kj::arrayPtr(reinterpret_cast<kj::byte*>(words.get()), count * sizeof(uint64_t))};
  capnp::writeMessage(out, segments);
  return message{std::move(words), count};
}

result<envelope> decode(const message& m) {
  return read_root<envelope>(m, [](wire::Envelope::Reader root) -> result<envelope> {
    auto h = read_header(root);
    if (!h)
      return h.err();
    auto b = read_body(root.getBody());
    if (!b)
      return b.err();
    return envelope{*h, std::move(*b)};
  });
}

result<header> decode_header(const message& m) {
  return read_root<header>(m, read_header);
}

} // namespace penstock::schema
