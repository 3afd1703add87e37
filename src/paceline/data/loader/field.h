#pragma once

#include <cstddef>
#include <cstdint>
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

/// One of the named parts that a sample is made of.
struct FieldSpec {
  std::string name;
  FieldType type = FieldType::kFloat32;
  std::vector<std::int64_t> sizes = {};  ///< of one sample; empty: it is a number
  bool channels_last = false;            ///< the first of the sizes varies fastest in memory
};

/// Bytes that a field takes of each sample.
std::size_t sample_bytes(const FieldSpec& field);

/// The fields of labelled images: [3, height, width] and a class index.
inline constexpr std::string_view kImagesField = "images";
inline constexpr std::string_view kLabelsField = "labels";

}  // namespace paceline::data
