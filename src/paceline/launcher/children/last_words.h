#pragma once

#include <string>
#include <string_view>

namespace paceline::launcher {

/// Of what a program printed, what follows the last "error: ", which may be several lines; else the
/// last line. Empty if it printed nothing.
std::string last_words(std::string_view printed);

}  // namespace paceline::launcher
