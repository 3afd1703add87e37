#pragma once

#include "paceline/config/node.h"
#include "paceline/config/struct_info.h"

namespace paceline::config {

/// Lays `over` on `base`: maps merge key by key, scalars and lists replace. Where `over` names
/// another component than `base` (or than the default, if `base` names none), the section keeps
/// nothing of the old component's keys. `info` is the schema of both.
Node merge(const Node& base, const Node& over, const StructInfo& info);

/// The field that holds the component which a value of `field` picks: itself, or the inline one of
/// its struct; nullptr if its value picks none.
const FieldInfo* choice_of(const FieldInfo& field);

/// A section that picks a component by its bare name, `adamw`, as {name: adamw}; others as they
/// are.
Node as_section(const Node& section);

}  // namespace paceline::config
