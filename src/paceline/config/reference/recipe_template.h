#pragma once

#include "paceline/config/component.h"
#include "paceline/config/reference/explain.h"
#include "paceline/config/struct_info.h"

#include <string>

namespace paceline::config {

/// A recipe with every key at the value it has in `object` (bound, usually from nothing), each
/// under a comment with its help, type and limits; a value that a run would take from elsewhere if
/// it is left out, as `derived` says, is left out. Loading it gives an equal object.
std::string recipe_template(const StructInfo& info, const void* object, const Catalogs& catalogs,
                            const DerivedValues& derived = {});

}  // namespace paceline::config
