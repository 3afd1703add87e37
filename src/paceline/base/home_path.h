#pragma once

#include <string>
#include <string_view>

namespace paceline::base {

/// A path with the user's home ($HOME) in place of a ~ that stands alone or before a '/'. Throws
/// ConfigError if there is no HOME.
std::string with_home(std::string_view path);

}  // namespace paceline::base
