#include "paceline/pretrained/hub_repository.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/pretrained/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::pretrained {
namespace {

/// Without the mark of weak ones and the quotes.
std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  std::erase(etag, '"');
  return etag;
}

bool is_hexadecimal(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && behind == end ? std::optional(number) : std::nullopt;
}

/// Where a redirect leads, if that is on the same server: to the new name of a repository.
std::string moved_to(const data::HttpResponse& response, const std::string& endpoint) {
  const std::string target = response.header("location");
  if (response.status / 100 != 3) return {};
  if (target.starts_with('/')) return std::string(data::origin_of(endpoint)) + target;
  return {};
}

}  // namespace

HubRepository::HubRepository(const data::HttpExchange& exchange, const data::HubAccess& access,
                             const HubSource& source)
    : exchange_(exchange), access_(access), source_(source) {}

void HubRepository::check(const data::HttpResponse& response) const {
  data::check_hub_answer(access_, {"model", source_.repository, source_.revision, ""}, response);
}

HubCommit HubRepository::find_commit() const {
  const std::string name = "hf:" + source_.repository;
  std::string text;
  const data::HttpResponse response = exchange_.get_text(
      {.url = fmt::format("{}/api/models/{}/revision/{}", access_.endpoint, source_.repository,
                          data::escape_url(source_.revision, false)),
       .bearer = access_.token},
      text);
  check(response);
  try {
    const nlohmann::json answer = base::parse_json(text);
    HubCommit found{answer.at("sha").get<std::string>(), {}};
    if (!is_commit(found.commit))
      throw base::DataError(fmt::format("{}: the hub does not tell the commit of '{}', but '{}'",
                                        name, source_.revision, base::excerpt(found.commit)));
    for (const nlohmann::json& file : answer.at("siblings")) {
      std::string path = file.at("rfilename").get<std::string>();
      if (stays_inside(path)) found.files.push_back(std::move(path));
    }
    std::ranges::sort(found.files);
    return found;
  } catch (const base::JsonError& error) {
    throw base::DataError(fmt::format("{}: {} answers with what is no JSON: {}", name,
                                      access_.endpoint, error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw base::DataError(fmt::format("{}: the answer of {} is not understood: {}", name,
                                      access_.endpoint, error.what()));
  }
}

HubFile HubRepository::find_file(const std::string& commit, const std::string& file) const {
  HubFile found;
  found.url = fmt::format("{}/{}/resolve/{}/{}", access_.endpoint, source_.repository, commit,
                          data::escape_url(file, true));
  data::HttpResponse response;
  for (int num_moves = 0; num_moves < 5; ++num_moves) {
    response = exchange_.get_headers(
        {.url = found.url, .bearer = access_.token, .follows_redirects = false});
    const std::string target = moved_to(response, access_.endpoint);
    if (target.empty() || !response.header("x-linked-etag").empty()) break;
    found.url = target;
  }
  if (response.status / 100 != 3) check(response);  // large files lie on another server
  found.etag = plain_etag(response.header("x-linked-etag"));
  const bool is_linked = !found.etag.empty();
  if (!is_linked) found.etag = plain_etag(response.header("etag"));
  if (found.etag.empty() || !is_hexadecimal(found.etag))
    throw base::DataError(fmt::format(
        "hf:{}: {} does not tell the checksum of {} (ETag '{}'): see whether HF_ENDPOINT is a "
        "mirror of the hub",
        source_.repository, access_.endpoint, file, base::excerpt(found.etag)));
  if (found.etag.size() == 64) found.sha256 = base::to_lower(found.etag);
  found.size = number_of(response.header(is_linked ? "x-linked-size" : "content-length"));
  return found;
}

}  // namespace paceline::pretrained
