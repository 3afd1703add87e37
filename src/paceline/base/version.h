#pragma once

#include <string_view>

namespace paceline::base {

/// The version in CMakeLists.txt; a test compares the two.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace paceline::base
