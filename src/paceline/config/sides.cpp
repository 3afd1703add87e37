#include "paceline/config/sides.h"

#include <fmt/ranges.h>

namespace paceline::config {

std::string Sides::to_string() const {
  return is_one() ? fmt::format("{}", lengths.front())
                  : fmt::format("[{}]", fmt::join(lengths, ", "));
}

}  // namespace paceline::config
