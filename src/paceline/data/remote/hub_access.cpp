#include "paceline/data/remote/hub_access.h"

#include "paceline/base/text.h"
#include "paceline/data/storage/storage.h"

#include <array>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path hub_home() {
  if (const std::string home = environment_value("HF_HOME"); !home.empty()) return home;
  fs::path cache = environment_value("XDG_CACHE_HOME");
  if (cache.empty()) cache = fs::path(environment_value("HOME")) / ".cache";
  return cache / "huggingface";
}

std::string find_token() {
  std::string token = environment_value("HF_TOKEN");
  if (token.empty()) {
    fs::path file = environment_value("HF_TOKEN_PATH");
    if (file.empty()) file = hub_home() / "token";
    if (is_file(*local_storage(), file)) token = read_text(*local_storage(), file.string());
  }
  return std::string(base::trim(token));
}

/// As huggingface_hub reads its switches.
bool is_on(const char* name) {
  const std::string value = base::to_lower(environment_value(name));
  return value == "1" || value == "on" || value == "yes" || value == "true";
}

}  // namespace

HubAccess find_hub_access() {
  HubAccess access;
  access.endpoint = environment_value("HF_ENDPOINT");
  if (access.endpoint.empty()) access.endpoint = "https://huggingface.co";
  while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  access.token = find_token();
  access.cache = environment_value("HF_HUB_CACHE");
  if (access.cache.empty()) access.cache = environment_value("HUGGINGFACE_HUB_CACHE");
  if (access.cache.empty()) access.cache = hub_home() / "hub";
  access.is_offline = is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE");
  return access;
}

void check_hub_answer(const HubAccess& access, const HubPlace& place,
                      const HttpResponse& response) {
  const std::string name = "hf:" + place.repository;
  const std::string code = response.header("x-error-code");
  const bool is_refused = response.status == 401 || response.status == 403;
  if (response.status == 401 && response.header("x-error-message").starts_with("Invalid cred"))
    throw base::DataError(fmt::format(
        "{}: the hub does not know the token that is set (HF_TOKEN or the login's file), or it has "
        "expired: make a new one at {}/settings/tokens, or unset it for what is public",
        name, access.endpoint));
  const std::string login =
      access.token.empty()
          ? "Then set HF_TOKEN to a token of that account, or log in with `hf auth login`."
          : "The token that is set (HF_TOKEN or the login's file) must be of that account, and "
            "be allowed to read it.";
  if (is_refused && code != "RepoNotFound") {
    throw base::DataError(fmt::format(
        "{}: the hub refuses access (HTTP status {}): the {} is gated. Accept its terms at "
        "{}/{}{} with your account. {}",
        name, response.status, place.kind, access.endpoint, place.folder, place.repository, login));
  }
  if (is_refused || (response.status == 404 && code != "RevisionNotFound")) {
    throw base::DataError(fmt::format(
        "{}: the hub knows no such {} (HTTP status {}): see whether the name is right. If it is "
        "private, it needs an account that may read it. {}",
        name, place.kind, response.status, login));
  }
  if (response.status == 404)
    throw base::DataError(fmt::format("{}: it has no revision '{}'", name, place.revision));
  throw_unless_ok(response, name);
}

std::string escape_url(std::string_view text, bool with_slashes) {
  std::string escaped;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain = std::isalnum(byte) != 0 || (letter == '/' && with_slashes) ||
                          std::string_view("-._~").find(letter) != std::string_view::npos;
    if (is_plain) {
      escaped += letter;
    } else {
      escaped += fmt::format("%{:02X}", byte);
    }
  }
  return escaped;
}

}  // namespace paceline::data
