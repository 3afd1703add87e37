#pragma once

#include "paceline/data/remote/http_exchange.h"
#include "paceline/data/storage/storage.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::test {

/// What a server sends back.
struct FakeAnswer {
  int status = 200;
  std::map<std::string, std::string> headers = {};  ///< names in lower case
  std::string body = {};
  std::size_t num_sent = std::string::npos;  ///< bytes of the body, after which it hangs up
};

/// A network without sockets: answers by URL, and keeps what was asked. For one thread.
class FakeExchange final : public data::HttpExchange {
 public:
  using Answer = std::function<FakeAnswer(const data::HttpRequest&)>;

  explicit FakeExchange(Answer answer) : answer_(std::move(answer)) {}

  data::HttpResponse get(const data::HttpRequest& request, const Sink& sink) const override {
    asked_.push_back(request);
    const FakeAnswer answer = answer_(request);
    data::HttpResponse response{answer.status, answer.headers, request.url, {}};
    if (request.only_headers) return response;
    if (answer.status / 100 != 2) {
      response.refusal = answer.body;
      return response;
    }
    sink(response, std::string_view(answer.body).substr(0, answer.num_sent));
    if (answer.num_sent < answer.body.size())
      throw data::TransientError(request.url + ": the connection broke");
    return response;
  }

  const std::vector<data::HttpRequest>& asked() const { return asked_; }

 private:
  Answer answer_;
  mutable std::vector<data::HttpRequest> asked_;
};

/// A file as servers give it: whole, its headers alone, or from a byte on.
inline FakeAnswer serve_file(const data::HttpRequest& request, const std::string& content,
                             const std::string& etag = {}) {
  FakeAnswer answer{200, {{"content-length", std::to_string(content.size())}}, content};
  if (!etag.empty()) answer.headers["etag"] = etag;
  if (request.only_headers || request.range.empty()) return answer;
  if (!request.if_range.empty() && request.if_range != etag) return answer;
  const std::size_t first = std::stoul(request.range);
  const std::string size = std::to_string(content.size());
  if (first >= content.size()) return {416, {{"content-range", "bytes */" + size}}, {}};
  answer.status = 206;
  answer.body = content.substr(first);
  answer.headers["content-range"] =
      "bytes " + std::to_string(first) + "-" + std::to_string(content.size() - 1) + "/" + size;
  return answer;
}

}  // namespace paceline::test
