#pragma once

#include "paceline/config/struct_info.h"

namespace paceline::config {

/// The value that `value` points at, as a node. A component becomes {name: ..., its options}.
Node to_node(const TypeInfo& type, const void* value);

/// A config struct as a map of all its fields, defaults included.
Node to_node(const StructInfo& info, const void* object);

}  // namespace paceline::config
