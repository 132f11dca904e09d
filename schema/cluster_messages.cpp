#include "schema/cluster_messages.hpp"

namespace penstock::schema {

std::string_view name_of(role r) noexcept {
  switch (r) {
  case role::session:
    return "session";
  case role::gateway:
    return "gateway";
  case role::admission:
    return "admission";
  case role::guardrail:
    return "guardrail";
  case role::directory:
    return "directory";
  case role::prefill:
    return "prefill";
  case role::decode:
    return "decode";
  }
  return "unknown";
}

} // namespace penstock::schema
