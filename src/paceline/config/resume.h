#pragma once

#include "paceline/config/component.h"
#include "paceline/config/node.h"
#include "paceline/config/struct_info.h"

#include <string>
#include <vector>

namespace paceline::config {

/// A key that differs between a run and its resumption.
struct ResumeDifference {
  std::string key;
  std::string before;  ///< as YAML; "absent" if the key did not exist
  std::string after;
  bool is_allowed = false;  ///< by MayChangeOnResume
};

/// Compares two resolved configurations (as to_node writes them). Keys that their schema declares
/// MayChangeOnResume are allowed to differ. A key that the older one lacks counts as its default.
std::vector<ResumeDifference> resume_differences(const Node& before, const Node& after,
                                                 const StructInfo& info, const Catalogs& catalogs);

/// Throws ConfigError that lists every difference that is not allowed with both values, unless
/// there are none. Returns a line for each one that is: "train.duration: was 2ep, is 3ep".
std::vector<std::string> check_resume(const Node& before, const Node& after, const StructInfo& info,
                                      const Catalogs& catalogs);

}  // namespace paceline::config
