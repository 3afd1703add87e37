#pragma once

#include <cstdint>
#include <string_view>

namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace paceline::tensor {

/// The name of a dtype that can be trained: "float32", "float64", "bfloat16" or "float16"; empty
/// for any other.
std::string_view dtype_name(c10::ScalarType dtype);
/// Throws InternalError for any other name.
c10::ScalarType dtype_from_name(std::string_view name);

}  // namespace paceline::tensor
