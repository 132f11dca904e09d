#include "model/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace penstock::model {

std::string_view name_of(dtype type) noexcept {
  switch (type) {
  case dtype::f32:
    return "F32";
  case dtype::f16:
    return "F16";
  case dtype::bf16:
    return "BF16";
  }
  PS_UNREACHABLE();
}

shape::shape(std::span<const uint64_t> dims) : rank_(dims.size()) {
  PS_CHECK(dims.size() <= rank_max);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

uint64_t shape::element_count() const noexcept {
  uint64_t count = 1;
  for (size_t i = 0; i < rank_; ++i)
    count *= dims_[i];
  return count;
}

std::string shape::text() const {
  std::string out = "[";
  for (size_t i = 0; i < rank_; ++i)
    out += (i > 0 ? ", " : "") + std::to_string(dims_[i]);
  return out + "]";
}

float f16_to_f32(uint16_t bits) noexcept {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16U;
  const uint32_t exponent = (bits >> 10U) & 0x1FU;
  const uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) { // Zero or subnormal: fraction * 2^-24, exact in float32.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13U));
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

float bf16_to_f32(uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U);
}

uint16_t f32_to_f16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16U) & 0x8000U);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U)
    return static_cast<uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) // 65520 and above round to infinity.
    return static_cast<uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) { // Below 2^-14: a multiple of 2^-24.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyintf(scaled)));
  }
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

uint16_t f32_to_bf16(float value) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return static_cast<uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

void widen(const tensor_view& from, uint64_t first, std::span<float> out) {
  PS_CHECK(first <= from.element_count() && out.size() <= from.element_count() - first);
  if (from.type == dtype::f32) {
    const auto source = from.f32().subspan(first, out.size());
    std::copy(source.begin(), source.end(), out.begin());
    return;
  }
  const auto source = from.bits16().subspan(first, out.size());
  std::transform(source.begin(), source.end(), out.begin(),
                 from.type == dtype::f16 ? f16_to_f32 : bf16_to_f32);
}

std::vector<float> widened(const tensor_view& from) {
  std::vector<float> out(from.element_count());
  widen(from, 0, out);
  return out;
}

} // namespace penstock::model
