#include "base/errc.hpp"

namespace penstock {

std::string_view name_of(errc code) noexcept {
  switch (code) {
  case errc::ok:
    return "ok";
  case errc::invalid_argument:
    return "invalid_argument";
  case errc::prompt_empty:
    return "prompt_empty";
  case errc::prompt_too_long:
    return "prompt_too_long";
  case errc::unknown_model:
    return "unknown_model";
  case errc::blocked:
    return "blocked";
  case errc::unsupported:
    return "unsupported";
  case errc::overloaded:
    return "overloaded";
  case errc::out_of_blocks:
    return "out_of_blocks";
  case errc::deadline_exceeded:
    return "deadline_exceeded";
  case errc::cancelled:
    return "cancelled";
  case errc::unavailable:
    return "unavailable";
  case errc::draining:
    return "draining";
  case errc::peer_lost:
    return "peer_lost";
  case errc::transfer_failed:
    return "transfer_failed";
  case errc::stale_data:
    return "stale_data";
  case errc::device_failed:
    return "device_failed";
  case errc::malformed:
    return "malformed";
  case errc::io_failed:
    return "io_failed";
  case errc::incompatible:
    return "incompatible";
  case errc::internal:
    return "internal";
  }
  return "unknown";
}

errc errc_from(uint8_t value) noexcept {
  auto code = static_cast<errc>(value);
  return name_of(code) == "unknown" ? errc::malformed : code;
}

bool is_retryable(errc code) noexcept {
  switch (code) {
  case errc::out_of_blocks:
  case errc::unavailable:
  case errc::draining:
  case errc::peer_lost:
  case errc::transfer_failed:
  case errc::stale_data:
  case errc::device_failed:
    return true;
  case errc::ok:
  case errc::invalid_argument:
  case errc::prompt_empty:
  case errc::prompt_too_long:
  case errc::unknown_model:
  case errc::blocked:
  case errc::unsupported:
  case errc::overloaded:
  case errc::deadline_exceeded:
  case errc::cancelled:
  case errc::malformed:
  case errc::io_failed:
  case errc::incompatible:
  case errc::internal:
    return false;
  }
  return false;
}

} // namespace penstock
