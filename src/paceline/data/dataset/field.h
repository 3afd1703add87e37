#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What the numbers of a field are.
enum class FieldType : std::uint8_t {
  kUInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
};

std::size_t bytes_of(FieldType type);

/// "float16": as NumPy calls it.
std::string_view name_of(FieldType type);
std::optional<FieldType> field_type_named(std::string_view name);
inline bool is_integer(FieldType type) { return type < FieldType::kFloat16; }

/// Number `index` of a field's numbers.
double number_at(FieldType type, std::span<const std::byte> bytes, std::size_t index);

/// One of the named parts that a sample is made of.
struct FieldSpec {
  std::string name;
  FieldType type = FieldType::kFloat32;
  std::vector<std::int64_t> sizes = {};  ///< of one sample; empty: it is a number
  bool channels_last = false;            ///< the first of the sizes varies fastest in memory
  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

/// Numbers that all samples share and that a task has to know, by name: in which units values are,
/// how they were taken.
using SampleConstants = std::map<std::string, std::vector<double>, std::less<>>;

/// Bytes that a field takes of each sample.
std::size_t sample_bytes(const FieldSpec& field);
/// The same of all.
std::size_t sample_bytes(std::span<const FieldSpec> fields);

/// Whether it would take 4 GiB of each sample or more, as sizes from a file may say.
bool is_too_large(const FieldSpec& field);

/// "volume float32 1 x 64 x 64 x 64".
std::string describe(const FieldSpec& field);

/// The fields of labelled images: [3, height, width] and a class index.
inline constexpr std::string_view kImagesField = "images";
inline constexpr std::string_view kLabelsField = "labels";
/// Of each class 1 or 0, for images of several classes: what a loss sees in place of the label.
inline constexpr std::string_view kTargetsField = "targets";

}  // namespace paceline::data
