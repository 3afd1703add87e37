#pragma once

#include "paceline/base/error.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace paceline::base {

/// What should be JSON is not, or is more than a reader takes. Says where, and quotes nothing of
/// the text, which may be any file's.
struct JsonError : DataError {
  explicit JsonError(const std::string& message) : DataError(message) {}
};

/// Containers in containers. Copying, comparing, writing and destroying a value are recursive, so
/// what is read may not be deeper than any stack bears.
constexpr std::size_t kDeepestJson = 64;
constexpr std::size_t kMostJsonBytes = std::size_t{256} << 20;

/// The only way by which paceline reads JSON (./dev lint looks). Throws JsonError for text that is
/// not JSON, is deeper than kDeepestJson or longer than `most_bytes`.
nlohmann::json parse_json(std::string_view text, std::size_t most_bytes = kMostJsonBytes);
/// The same with the keys of objects in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text,
                                          std::size_t most_bytes = kMostJsonBytes);

}  // namespace paceline::base
