#include "paceline/data/remote/http_exchange.h"

#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

std::optional<std::time_t> time_of(const std::string& http_date) {
  std::tm time{};
  if (::strptime(http_date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time) == nullptr)
    return std::nullopt;
  return ::timegm(&time);
}

/// How long the server wants to be left alone: seconds, or a date by its own clock (RFC 9110,
/// 10.2.3). 0 if it does not say.
double wanted_wait_s(const HttpResponse& response) {
  const std::string wanted = response.header("retry-after");
  double wait_s = 0;
  std::from_chars(wanted.data(), wanted.data() + wanted.size(), wait_s);
  const auto until = time_of(wanted);
  if (!until) return wait_s;
  const std::time_t now = time_of(response.header("date")).value_or(std::time(nullptr));
  return std::max(0.0, std::difftime(*until, now));
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpResponse HttpExchange::get_text(const HttpRequest& request, std::string& text,
                                    std::size_t max_bytes) const {
  text.clear();
  return get(request, [&](const HttpResponse&, std::string_view bytes) {
    if (bytes.size() > max_bytes - text.size())
      throw base::DataError(fmt::format("{}: the answer is longer than {} bytes",
                                        without_query(request.url), max_bytes));
    text += bytes;
    return true;
  });
}

HttpResponse HttpExchange::get_headers(HttpRequest request) const {
  request.only_headers = true;
  return get(request, [](const HttpResponse&, std::string_view) { return false; });
}

void throw_unless_ok(const HttpResponse& response, const std::string& path) {
  const int status = response.status;
  if (status / 100 == 2) return;
  const auto fail = [&](std::string_view meaning) {
    throw base::DataError(fmt::format("{}: HTTP status {}: {}", path, status, meaning));
  };
  const std::string said = response.refusal.empty() ? "" : ": " + response.refusal;
  if (status == 408 || status == 425 || status == 429 || status / 100 == 5) {
    throw TransientError(fmt::format("{}: HTTP status {}{}", path, status, said),
                         wanted_wait_s(response));
  }
  if (status == 401) fail("it needs a login; set the token or credentials for this place");
  if (status == 403)
    fail("access is refused; see whether the token or signed URL has expired and covers this file");
  if (status == 404 || status == 410) fail("there is no such file");
  fail("the server refuses" + said);
}

std::string_view without_query(std::string_view url) { return url.substr(0, url.find('?')); }

std::string_view origin_of(std::string_view url) {
  const std::size_t host = url.find("://");
  return host == std::string_view::npos ? url : url.substr(0, url.find('/', host + 3));
}

}  // namespace paceline::data
