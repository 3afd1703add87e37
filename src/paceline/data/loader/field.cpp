#include "paceline/data/loader/field.h"

#include "paceline/base/error.h"

namespace paceline::data {

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

std::size_t sample_bytes(const FieldSpec& field) {
  std::size_t bytes = bytes_of(field.type);
  for (const std::int64_t size : field.sizes) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

}  // namespace paceline::data
