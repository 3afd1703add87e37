#pragma once

#include "paceline/config/component.h"

namespace paceline::config {

/// The value that `value` points at, as a node. A component becomes {name: ..., its options}.
Node to_node(const TypeInfo& type, const void* value);

/// A config struct as a map of all its fields, defaults included.
Node to_node(const StructInfo& info, const void* object);

/// The options of a component as such a map, without its name. They must be bound.
Node options_of(const Component& component);

}  // namespace paceline::config
