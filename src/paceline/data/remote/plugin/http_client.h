#pragma once

#include "paceline/data/remote/http_exchange.h"

#include <memory>
#include <mutex>
#include <vector>

namespace paceline::data {

/// By libcurl. Keeps connections open; as many as there are calls at once.
class HttpClient final : public HttpExchange {
 public:
  /// `timeout_s`: seconds without a byte after which a call fails.
  explicit HttpClient(double timeout_s);
  ~HttpClient() override;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpResponse get(const HttpRequest& request, const Sink& sink) const override;

 private:
  struct Connection;
  std::unique_ptr<Connection> take() const;
  void give_back(std::unique_ptr<Connection> connection) const;

  double timeout_s_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace paceline::data
