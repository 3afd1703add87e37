#include "paceline/tensor/dtype.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <array>
#include <utility>

namespace paceline::tensor {
namespace {

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 4> kDtypes{{
    {"float32", at::kFloat},
    {"float64", at::kDouble},
    {"bfloat16", at::kBFloat16},
    {"float16", at::kHalf},
}};

}  // namespace

std::string_view dtype_name(at::ScalarType dtype) {
  for (const auto& [name, scalar_type] : kDtypes) {
    if (scalar_type == dtype) return name;
  }
  return {};
}

at::ScalarType dtype_from_name(std::string_view name) {
  for (const auto& [known, scalar_type] : kDtypes) {
    if (known == name) return scalar_type;
  }
  throw base::InternalError(fmt::format("the dtype '{}' is unknown", name));
}

}  // namespace paceline::tensor
