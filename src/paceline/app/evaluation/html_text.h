#pragma once

#include <string>
#include <string_view>

namespace paceline::app {

/// Text as an HTML page has it, in elements and in quoted attributes: nothing in it is markup, and
/// bytes that are no UTF-8 become replacement characters.
std::string escape_html(std::string_view text);

}  // namespace paceline::app
