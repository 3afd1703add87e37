#pragma once

#include "paceline/tensor/aten.h"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::tensor {

/// A few named tensors, in the order in which they were named: what a batch holds, what a network
/// is given, what it puts out. Copies share the tensors.
class Fields {
 public:
  struct Field {
    std::string name;
    at::Tensor tensor;
  };

  Fields() = default;
  Fields(std::initializer_list<Field> fields) : fields_(fields) {}

  /// Throws InternalError, which says what there is, if there is no field of this name.
  const at::Tensor& at(std::string_view name) const;
  at::Tensor& at(std::string_view name) {
    return const_cast<at::Tensor&>(std::as_const(*this).at(name));
  }
  /// nullptr if there is no field of this name.
  const at::Tensor* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Adds a field, or replaces its tensor.
  void set(std::string_view name, at::Tensor tensor);

  /// The same names with what `change` makes of each tensor.
  template <typename Change>
  Fields map(const Change& change) const {
    Fields changed;
    changed.fields_.reserve(fields_.size());
    for (const Field& field : fields_)
      changed.fields_.push_back({field.name, change(field.tensor)});
    return changed;
  }

  /// "images, labels": for messages.
  std::string names() const;

  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  auto begin() { return fields_.begin(); }
  auto end() { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

}  // namespace paceline::tensor
