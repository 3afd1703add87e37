#pragma once

#include "paceline/config/component.h"
#include "paceline/config/struct_info.h"

#include <string>

namespace paceline::config {

/// The JSON Schema (draft 2020-12) of a recipe, for editors that complete and check YAML and JSON:
/// names, types, limits, help, defaults, and for each section that picks a component one
/// alternative per component.
std::string json_schema(const StructInfo& info, const Catalogs& catalogs);

}  // namespace paceline::config
