#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace paceline::data {

struct HttpRequest {
  std::string url;
  std::string bearer = {};    ///< a token for the url's own host; redirects elsewhere do not get it
  std::string range = {};     ///< as "0-99" or "7-"; empty: the whole
  std::string if_range = {};  ///< an etag: of another version the whole comes, not the range
  bool only_headers = false;  ///< HEAD instead of GET
  bool follows_redirects = true;
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< of the last answer; names in lower case
  std::string url;                             ///< where redirects led
  std::string refusal;                         ///< start of the body unless the status is 2xx

  /// Empty if there is none. `name` in lower case.
  std::string header(const std::string& name) const;
};

/// Asks servers by http and https. Follows redirects, never from https to http. Thread-safe.
class HttpExchange {
 public:
  /// Takes a piece of a 2xx answer's body, whose status and headers are known by then; false ends
  /// the transfer, which is no error.
  using Sink = std::function<bool(const HttpResponse& response, std::string_view bytes)>;

  virtual ~HttpExchange() = default;
  /// Throws TransientError if the connection fails, breaks or stays silent, and DataError if the
  /// request makes no sense. A status is no error here: see throw_unless_ok().
  virtual HttpResponse get(const HttpRequest& request, const Sink& sink) const = 0;

  /// The body as text; at most `max_bytes`, or it throws DataError.
  HttpResponse get_text(const HttpRequest& request, std::string& text,
                        std::size_t max_bytes = std::size_t{64} << 20) const;
  /// HEAD.
  HttpResponse get_headers(HttpRequest request) const;
};

/// Throws TransientError for statuses that may pass (408, 425, 429, 5xx), with the pause that the
/// server asks for, and DataError for all others but 2xx, with `path`, what it means and the cure.
void throw_unless_ok(const HttpResponse& response, const std::string& path);

/// For messages: behind the question mark of a redirect's target may stand a signature.
std::string_view without_query(std::string_view url);

/// Scheme, host and port of a URL.
std::string_view origin_of(std::string_view url);

}  // namespace paceline::data
