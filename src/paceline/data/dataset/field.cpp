#include "paceline/data/dataset/field.h"

#include "paceline/base/error.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace paceline::data {
namespace {

constexpr std::array<std::string_view, 7> kNames{"uint8",   "int16",   "int32",  "int64",
                                                 "float16", "float32", "float64"};

template <class T>
double read(std::span<const std::byte> bytes, std::size_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

/// Of IEEE 754's binary16.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                        : std::numeric_limits<double>::quiet_NaN())
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -size : size;
}

}  // namespace

std::size_t bytes_of(FieldType type) {
  switch (type) {
    case FieldType::kUInt8:
      return 1;
    case FieldType::kInt16:
    case FieldType::kFloat16:
      return 2;
    case FieldType::kInt32:
    case FieldType::kFloat32:
      return 4;
    case FieldType::kInt64:
    case FieldType::kFloat64:
      return 8;
  }
  throw base::InternalError("an unknown type of a field");
}

std::string_view name_of(FieldType type) { return kNames.at(static_cast<std::size_t>(type)); }

std::optional<FieldType> field_type_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<FieldType>(i);
  }
  return std::nullopt;
}

double number_at(FieldType type, std::span<const std::byte> bytes, std::size_t index) {
  switch (type) {
    case FieldType::kUInt8:
      return read<std::uint8_t>(bytes, index);
    case FieldType::kInt16:
      return read<std::int16_t>(bytes, index);
    case FieldType::kInt32:
      return read<std::int32_t>(bytes, index);
    case FieldType::kInt64:
      return read<std::int64_t>(bytes, index);
    case FieldType::kFloat16:
      return half_value(static_cast<std::uint16_t>(read<std::uint16_t>(bytes, index)));
    case FieldType::kFloat32:
      return read<float>(bytes, index);
    case FieldType::kFloat64:
      return read<double>(bytes, index);
  }
  throw base::InternalError("an unknown type of a field");
}

std::size_t sample_bytes(const FieldSpec& field) {
  std::size_t bytes = bytes_of(field.type);
  for (const std::int64_t size : field.sizes) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

std::size_t sample_bytes(std::span<const FieldSpec> fields) {
  std::size_t bytes = 0;
  for (const FieldSpec& field : fields) bytes += sample_bytes(field);
  return bytes;
}

bool is_too_large(const FieldSpec& field) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  std::uint64_t bytes = bytes_of(field.type);
  for (const std::int64_t size : field.sizes) {
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor > kMost) return true;
    bytes *= factor;
    if (bytes >= kMost) return true;
  }
  return false;
}

std::string describe(const FieldSpec& field) {
  std::string text = fmt::format("{} {}", field.name, name_of(field.type));
  for (std::size_t i = 0; i < field.sizes.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? " " : " x ", field.sizes[i]);
  return text;
}

}  // namespace paceline::data
