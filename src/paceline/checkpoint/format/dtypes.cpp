#include "paceline/checkpoint/format/dtypes.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::checkpoint {
namespace {

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 10> kDtypes{{
    {"F64", at::kDouble},
    {"F32", at::kFloat},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"I64", at::kLong},
    {"I32", at::kInt},
    {"I16", at::kShort},
    {"I8", at::kChar},
    {"U8", at::kByte},
    {"BOOL", at::kBool},
}};

}  // namespace

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [name, type] : kDtypes) {
    if (type == dtype) return name;
  }
  throw base::CheckpointError(
      fmt::format("tensors of dtype {} cannot be saved as safetensors", c10::toString(dtype)));
}

bool is_saved_dtype(at::ScalarType dtype) {
  return std::ranges::any_of(kDtypes, [&](const auto& known) { return known.second == dtype; });
}

std::optional<at::ScalarType> dtype_from_name(std::string_view name) {
  for (const auto& [known, type] : kDtypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::optional<std::int64_t> checked_numel(std::span<const std::int64_t> shape) {
  std::int64_t numel = 1;
  bool has_overflow = false;
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    is_empty = is_empty || size == 0;
    has_overflow = __builtin_mul_overflow(numel, size, &numel) || has_overflow;
  }
  if (is_empty) return 0;
  return has_overflow ? std::nullopt : std::optional(numel);
}

std::optional<std::uint64_t> checked_byte_size(std::span<const std::int64_t> shape,
                                               at::ScalarType dtype) {
  const auto numel = checked_numel(shape);
  std::uint64_t size = 0;
  if (!numel ||
      __builtin_mul_overflow(static_cast<std::uint64_t>(*numel),
                             static_cast<std::uint64_t>(c10::elementSize(dtype)), &size)) {
    return std::nullopt;
  }
  return size;
}

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("{}", shape); }

}  // namespace paceline::checkpoint
