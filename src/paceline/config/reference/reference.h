#pragma once

#include "paceline/config/component.h"
#include "paceline/config/struct_info.h"

#include <string>

namespace paceline::config {

/// All keys of a recipe as Markdown: a table per section, then one per component of each catalog
/// that the recipe uses. The same schema gives the same text.
std::string reference_markdown(const StructInfo& info, const Catalogs& catalogs);

}  // namespace paceline::config
