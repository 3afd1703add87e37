#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

struct HttpRequest {
  std::string url;
  std::string bearer = {};  ///< a token for the url's own host; redirects elsewhere do not get it
  std::string range = {};   ///< as "0-99"; empty: the whole
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< of the last answer; names in lower case
  std::string url;                             ///< where redirects led
  std::string refusal;                         ///< start of the body unless the status is 2xx

  /// Empty if there is none. `name` in lower case.
  std::string header(const std::string& name) const;
};

/// GET over http and https, by libcurl. Follows redirects, never from https to http. Keeps
/// connections open; as many as there are calls at once. Thread-safe.
class HttpClient {
 public:
  /// Takes a piece of a 2xx answer's body, whose status and headers are known by then; false ends
  /// the transfer, which is no error.
  using Sink = std::function<bool(const HttpResponse& response, std::string_view bytes)>;

  /// `timeout_s`: seconds without a byte after which a call fails.
  explicit HttpClient(double timeout_s);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Throws TransientError if the connection fails, breaks or stays silent, and DataError if the
  /// request makes no sense. A status is no error here: see throw_unless_ok().
  HttpResponse get(const HttpRequest& request, const Sink& sink) const;

  /// The body as text; at most `max_bytes`, or it throws DataError.
  HttpResponse get_text(const HttpRequest& request, std::string& text,
                        std::size_t max_bytes = std::size_t{64} << 20) const;

 private:
  struct Connection;
  std::unique_ptr<Connection> take() const;
  void give_back(std::unique_ptr<Connection> connection) const;

  double timeout_s_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Connection>> idle_;
};

/// Throws TransientError for statuses that may pass (408, 425, 429, 5xx), with the pause that the
/// server asks for, and DataError for all others but 2xx, with `path`, what it means and the cure.
void throw_unless_ok(const HttpResponse& response, const std::string& path);

}  // namespace paceline::data
