#include "paceline/data/remote/plugin/http_client.h"

#include "paceline/base/version.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr std::size_t kMaxRefusalBytes = 500;

/// Of the connection, not of what was asked.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

/// One transfer's state, for libcurl's callbacks.
struct Transfer {
  HttpResponse response;
  const HttpClient::Sink* sink = nullptr;
  std::exception_ptr error;  ///< of the sink; libcurl's frames must not see it
  bool is_ended_by_sink = false;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

std::size_t on_header(const char* bytes, std::size_t /*size*/, std::size_t count, void* target) {
  HttpResponse& response = static_cast<Transfer*>(target)->response;
  const std::string_view line(bytes, count);
  if (line.starts_with("HTTP/")) {  // a redirect's answer comes before the real one
    response = {};
    const std::size_t gap = line.find(' ');
    if (gap != std::string_view::npos)
      std::from_chars(line.data() + gap + 1, line.data() + line.size(), response.status);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    response.headers[name] = trimmed(line.substr(colon + 1));
  }
  return count;
}

std::size_t on_body(const char* bytes, std::size_t /*size*/, std::size_t count, void* target) {
  auto& transfer = *static_cast<Transfer*>(target);
  HttpResponse& response = transfer.response;
  if (response.status / 100 != 2) {
    const std::size_t room = kMaxRefusalBytes - std::min(kMaxRefusalBytes, response.refusal.size());
    response.refusal.append(bytes, std::min(count, room));
    return count;
  }
  try {
    if ((*transfer.sink)(response, {bytes, count})) return count;
    transfer.is_ended_by_sink = true;
  } catch (...) {
    transfer.error = std::current_exception();
  }
  return 0;
}

}  // namespace

struct HttpClient::Connection {
  CURL* easy = curl_easy_init();
  curl_slist* extra_headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> problem{};

  Connection() {
    if (easy == nullptr) throw base::DataError("libcurl gives no connection; is memory short?");
  }
  ~Connection() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(extra_headers);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy, option, value);
    if (code != CURLE_OK)
      throw base::InternalError(
          fmt::format("libcurl refuses option {}: {}", int{option}, curl_easy_strerror(code)));
  }

  void set_if_range(const std::string& etag) {
    curl_slist_free_all(extra_headers);
    extra_headers = etag.empty()
                        ? nullptr
                        : curl_slist_append(nullptr, fmt::format("If-Range: {}", etag).c_str());
    set(CURLOPT_HTTPHEADER, extra_headers);
  }

  void prepare(const HttpRequest& request, double timeout_s, Transfer& transfer) {
    const auto seconds = std::max(1L, std::lround(std::ceil(timeout_s)));
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_RANGE, request.range.empty() ? nullptr : request.range.c_str());
    set(CURLOPT_HTTPAUTH, request.bearer.empty() ? CURLAUTH_BASIC : CURLAUTH_BEARER);
    set(CURLOPT_XOAUTH2_BEARER, request.bearer.empty() ? nullptr : request.bearer.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, fmt::format("paceline/{}", base::kVersion).c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, request.follows_redirects ? 1L : 0L);
    if (request.only_headers) {
      set(CURLOPT_NOBODY, 1L);
    } else {
      set(CURLOPT_HTTPGET, 1L);  // which ends what CURLOPT_NOBODY began
    }
    set_if_range(request.if_range);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, std::lround(timeout_s * 1000)));
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, seconds);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_ERRORBUFFER, problem.data());
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, &transfer);
    problem[0] = '\0';
  }
};

HttpClient::HttpClient(double timeout_s) : timeout_s_(timeout_s) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw base::DataError("libcurl cannot start");
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Connection> HttpClient::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>();
}

void HttpClient::give_back(std::unique_ptr<Connection> connection) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

HttpResponse HttpClient::get(const HttpRequest& request, const Sink& sink) const {
  std::unique_ptr<Connection> connection = take();
  Transfer transfer;
  transfer.sink = &sink;
  connection->prepare(request, timeout_s_, transfer);
  const CURLcode code = curl_easy_perform(connection->easy);
  const char* url = nullptr;
  curl_easy_getinfo(connection->easy, CURLINFO_EFFECTIVE_URL, &url);
  if (url != nullptr) transfer.response.url = url;
  const std::string problem =
      connection->problem[0] != '\0' ? connection->problem.data() : curl_easy_strerror(code);
  if (code == CURLE_OK || transfer.is_ended_by_sink) give_back(std::move(connection));
  if (transfer.error) std::rethrow_exception(transfer.error);
  if (code == CURLE_OK || transfer.is_ended_by_sink) return std::move(transfer.response);
  const std::string message = fmt::format("{}: {}", without_query(request.url), problem);
  if (may_pass(code)) throw TransientError(message);
  throw base::DataError(message);
}

}  // namespace paceline::data
