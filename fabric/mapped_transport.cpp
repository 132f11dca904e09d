#include "fabric/mapped_transport.hpp"

#include "fabric/unix_channel.hpp"
#include "fabric/wire_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace penstock::fabric {

namespace {

/// A read-only view of a source's memory.
class mapping {
public:
  mapping(const std::byte* at, size_t size) noexcept : bytes_(at, size) {}
  mapping(mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  mapping& operator=(mapping&&) = delete;
  ~mapping() {
    if (!bytes_.empty())
      ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
  std::span<const std::byte> bytes_;
};

class mapped_region final : public remote_region {
public:
  mapped_region(copy_thread& copies, mapping memory, unique_fd connection,
                transport::done_handler on_done)
    : copies_(copies), memory_(std::move(memory)),
      connection_(std::move(connection)), client_{std::move(on_done),
                                                  [this] { return check_source(); }} {}

  ~mapped_region() override { copies_.forget(&client_); }

  [[nodiscard]] uint64_t size_bytes() const noexcept override { return memory_.bytes().size(); }

  [[nodiscard]] result<void> read(uint64_t offset, std::span<std::byte> into,
                                  uint64_t cookie) override {
    if (into.empty() || !in_bounds(offset, into.size(), size_bytes()))
      return error{errc::invalid_argument, "read of " + std::to_string(into.size()) + " bytes at "
                                             + std::to_string(offset) + " of "
                                             + std::to_string(size_bytes())};
    if (lost_.load(std::memory_order_relaxed))
      return error{errc::peer_lost, "the source's process has ended"};
    if (!copies_.push({&client_, memory_.bytes().data() + offset, into, cookie}))
      return error{errc::overloaded, "too many reads in flight"};
    return {};
  }

private:
  errc check_source() {
    if (!lost_.load(std::memory_order_relaxed) && is_closed_by_peer(connection_.get()))
      lost_.store(true, std::memory_order_relaxed);
    return lost_.load(std::memory_order_relaxed) ? errc::peer_lost : errc::ok;
  }

  copy_thread& copies_;
  mapping memory_;
  unique_fd connection_; // Its end tells each side of the other's death.
  std::atomic<bool> lost_{false};
  copy_client client_;
};

/// Shows the key. @returns The source's memfd.
result<unique_fd> fetch_memory(int connection, const mapped_descriptor& from) {
  byte_writer hello;
  hello.number(mapped_hello, 8);
  hello.number(from.key.high, 8);
  hello.number(from.key.low, 8);
  auto refused = [](const char* what) {
    return error{errc::peer_lost, std::string{"mapped source: "} + what};
  };
  if (!send_packet(connection, std::move(hello).take()))
    return refused("closed the connection");
  std::array<std::byte, mapped_welcome_bytes + 1> bytes{};
  auto got = receive_packet(connection, bytes);
  if (got.size_bytes == 0)
    return refused("does not accept the key, is full, or is gone");
  byte_reader in{std::span{bytes}.first(std::min(got.size_bytes, mapped_welcome_bytes))};
  bool welcome = in.number(8) == mapped_hello;
  uint64_t size = in.number(8);
  if (got.size_bytes != mapped_welcome_bytes || !welcome || !got.fd)
    return error{errc::malformed, "mapped source: answers something else"};
  if (size != from.size_bytes)
    return error{errc::incompatible, "mapped source: serves " + std::to_string(size)
                                       + " bytes, described as " + std::to_string(from.size_bytes)};
  return std::move(got.fd);
}

/// Trusts neither size nor seals without looking: a file that shrinks would kill its reader.
result<mapping> map_memory(int memfd, uint64_t size_bytes) {
  struct stat status {};
  if (::fstat(memfd, &status) != 0 || status.st_size < 0
      || static_cast<uint64_t>(status.st_size) != size_bytes)
    return error{errc::incompatible, "mapped source: its memory has another size"};
  int seals = ::fcntl(memfd, F_GET_SEALS);
  constexpr int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (seals < 0 || (seals & wanted) != wanted)
    return error{errc::incompatible, "mapped source: its memory is not sealed"};
  void* at = ::mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, memfd, 0);
  if (at == MAP_FAILED)
    return error{errc::io_failed,
                 std::string{"mapping the source's memory: "} + std::strerror(errno)};
  return mapping{static_cast<const std::byte*>(at), size_bytes};
}

} // namespace

mapped_transport::mapped_transport(const mapped_options& options)
  : options_(options), copies_(options.reads_in_flight_max) {}

mapped_transport::~mapped_transport() = default;

result<descriptor> mapped_transport::serve(std::span<std::byte> memory) {
  PS_CHECK(server_ == nullptr);
  const auto* own = options_.memory;
  if (own == nullptr || own->fd() < 0 || own->bytes().data() != memory.data()
      || own->bytes().size() != memory.size())
    return error{errc::invalid_argument, "mapped transport serves sealed shared memory only"};
  auto server = mapped_server::start(own->fd(), memory.size());
  if (!server)
    return server.err();
  server_ = std::move(*server);
  return encode(server_->described());
}

result<std::unique_ptr<remote_region>> mapped_transport::open(std::span<const std::byte> from,
                                                              done_handler on_done) {
  auto parsed = parse_mapped(from);
  if (!parsed)
    return parsed.err();
  auto connection = connect_abstract(parsed->name, options_.connect_timeout_ms);
  if (!connection)
    return connection.err();
  auto memfd = fetch_memory(connection->get(), *parsed);
  if (!memfd)
    return memfd.err();
  auto memory = map_memory(memfd->get(), parsed->size_bytes);
  if (!memory)
    return memory.err();
  return std::unique_ptr<remote_region>(std::make_unique<mapped_region>(
    copies_, std::move(*memory), std::move(*connection), std::move(on_done)));
}

} // namespace penstock::fabric
