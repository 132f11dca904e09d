#include "base/request.hpp"

namespace penstock {

std::vector<token_id> ends_of(const sampling_params& sampling,
                              const std::vector<token_id>& model_ends) {
  auto out = sampling.stop_ids;
  if (!sampling.ignore_end)
    out.insert(out.end(), model_ends.begin(), model_ends.end());
  return out;
}

std::string_view name_of(priority_class priority) noexcept {
  switch (priority) {
  case priority_class::interactive:
    return "interactive";
  case priority_class::normal:
    return "normal";
  case priority_class::batch:
    return "batch";
  }
  return "unknown";
}

std::string_view name_of(finish_reason reason) noexcept {
  switch (reason) {
  case finish_reason::stop:
    return "stop";
  case finish_reason::length:
    return "length";
  case finish_reason::cancelled:
    return "cancelled";
  case finish_reason::deadline:
    return "deadline";
  case finish_reason::blocked:
    return "blocked";
  case finish_reason::refused:
    return "refused";
  case finish_reason::failed:
    return "failed";
  }
  return "unknown";
}

} // namespace penstock
