#pragma once

#include <string>
#include <string_view>

namespace paceline::app {

/// Throws ConfigError that names the line of a comma behind which a list or section of JSON ends:
/// the programs that such a document is shared with do not read it. Comments may stand anywhere.
void refuse_trailing_commas(std::string_view text, const std::string& source);

}  // namespace paceline::app
