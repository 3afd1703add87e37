#pragma once

#include "paceline/config/bind.h"
#include "paceline/config/node.h"
#include "paceline/config/struct_info.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

/// One key of a bound configuration, such as "optimizer.lr".
struct KeyView {
  std::string path;
  const FieldInfo* field = nullptr;  ///< its declaration; of the section for a component's `name`
  bool is_component_name = false;    ///< the key says which component the section picks
  Node value;
  Node default_value;
  bool may_change_on_resume = false;  ///< by its own declaration or a section's above it
};

/// All keys of a bound configuration in the order of their declaration, those of chosen components
/// included. A section is not a key; a list, or a map of plain values, is one.
std::vector<KeyView> list_keys(const StructInfo& info, const void* object,
                               const Catalogs& catalogs);

}  // namespace paceline::config
