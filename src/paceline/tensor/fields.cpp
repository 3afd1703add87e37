#include "paceline/tensor/fields.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::tensor {

const at::Tensor* Fields::find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? nullptr : &found->tensor;
}

const at::Tensor& Fields::at(std::string_view name) const {
  if (const at::Tensor* const found = find(name)) return *found;
  throw base::InternalError(fmt::format("there is no field '{}' among: {}", name, names()));
}

std::string Fields::names() const {
  std::string names;
  for (const Field& field : fields_) names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

void Fields::set(std::string_view name, at::Tensor tensor) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  if (found != fields_.end()) {
    found->tensor = std::move(tensor);
  } else {
    fields_.push_back({std::string(name), std::move(tensor)});
  }
}

}  // namespace paceline::tensor
