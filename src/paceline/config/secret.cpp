#include "paceline/config/secret.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace paceline::config {
namespace {

constexpr std::string_view kSecretWords[] = {"token",    "password",   "passwd",     "secret",
                                             "api_key",  "apikey",     "access_key", "private_key",
                                             "auth_key", "credential", "credentials"};
constexpr std::string_view kSecretPrefixes[] = {"hf_",  "ghp_", "github_pat_", "AKIA",
                                                "ASIA", "sk-",  "xoxb-",       "glpat-"};
constexpr std::size_t kShortestSecret = 16;

bool is_secret_name(std::string_view name) {
  std::string part = base::to_lower(name.substr(name.rfind('.') + 1));
  std::ranges::replace(part, '-', '_');
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords), [&](std::string_view word) {
    return part == word || part.ends_with(fmt::format("_{}", word));
  });
}

/// https://user:password@host
bool is_url_with_password(std::string_view value) {
  const std::size_t scheme = value.find("://");
  if (scheme == value.npos) return false;
  const std::string_view authority =
      value.substr(scheme + 3, value.find_first_of("/?#", scheme + 3) - scheme - 3);
  const std::size_t at = authority.rfind('@');
  return at != authority.npos && authority.substr(0, at).find(':') != authority.npos;
}

bool looks_like_secret(std::string_view value) {
  if (is_url_with_password(value)) return true;
  return value.size() >= kShortestSecret && value.find_first_of(" /.[{") == value.npos &&
         std::any_of(std::begin(kSecretPrefixes), std::end(kSecretPrefixes),
                     [&](std::string_view prefix) { return value.starts_with(prefix); });
}

constexpr std::string_view kSecretAdvice =
    "secrets come from the environment or the tool's own credential file, never from options or "
    "recipes";

}  // namespace

bool is_secret(std::string_view name, std::string_view value) {
  return is_secret_name(name) || looks_like_secret(value);
}

std::string_view secret_advice() { return kSecretAdvice; }

void refuse_secret(std::string_view name, std::string_view value) {
  if (!is_secret(name, value)) return;
  throw base::ConfigError(fmt::format(
      "'{}' seems to hold a secret, which other users of this machine can read in the list of "
      "processes: {}",
      name, kSecretAdvice));
}

}  // namespace paceline::config
