#pragma once

#include <atomic>
#include <cctype>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paceline::test {

struct HttpQuestion {
  std::string target;
  std::map<std::string, std::string> headers;  ///< names in lower case
};

struct HttpAnswer {
  int status = 200;
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  std::size_t num_sent = std::string::npos;  ///< bytes of the body, after which it hangs up
};

/// What a file server answers: the range that was asked for, of `content`.
inline HttpAnswer serve_range(const HttpQuestion& question, const std::string& content,
                              const std::string& version) {
  HttpAnswer answer{206, {{"ETag", version}}, {}};
  const std::string range = question.headers.at("range");  // bytes=FIRST-LAST
  const std::size_t dash = range.find('-');
  const std::size_t first = std::stoul(range.substr(6, dash - 6));
  if (first >= content.size())
    return {416, {{"Content-Range", fmt::format("bytes */{}", content.size())}}, {}};
  answer.body = content.substr(first, std::stoul(range.substr(dash + 1)) - first + 1);
  answer.headers["Content-Range"] =
      fmt::format("bytes {}-{}/{}", first, first + answer.body.size() - 1, content.size());
  return answer;
}

/// A small HTTP/1.1 server on the loopback address, for one test. `answer` may be called from
/// several threads.
class HttpServer {
 public:
  explicit HttpServer(std::function<HttpAnswer(const HttpQuestion&)> answer)
      : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const pointer = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, pointer, length) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, pointer, &length) != 0)
      throw std::runtime_error("no server on the loopback address");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }

  ~HttpServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int connection : open_) shutdown(connection, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& target) const {
    return fmt::format("http://127.0.0.1:{}{}", port_, target);
  }
  int num_connections() const { return num_connections_; }

 private:
  void accept_all() {
    while (true) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      ++num_connections_;
      const std::lock_guard lock(mutex_);
      open_.insert(connection);
      threads_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string text;
    char bytes[4096];
    while (true) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end != std::string::npos) {
        const HttpQuestion question = parse(text.substr(0, end + 2));
        text.erase(0, end + 4);
        if (!send_answer(connection, answer_(question))) break;
        continue;
      }
      const ssize_t count = recv(connection, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    const std::lock_guard lock(mutex_);
    open_.erase(connection);
    close(connection);
  }

  static HttpQuestion parse(const std::string& head) {
    HttpQuestion question;
    const std::size_t line_end = head.find("\r\n");
    const std::size_t gap = head.find(' ');
    question.target = head.substr(gap + 1, head.find(' ', gap + 1) - gap - 1);
    for (std::size_t at = line_end + 2; at < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& letter : name)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
      question.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return question;
  }

  /// False if the connection is to be closed.
  static bool send_answer(int connection, const HttpAnswer& answer) {
    std::string text = fmt::format("HTTP/1.1 {} Answer\r\nContent-Length: {}\r\n", answer.status,
                                   answer.body.size());
    for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
    text += "\r\n" + answer.body.substr(0, answer.num_sent);
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return answer.num_sent == std::string::npos;
  }

  std::function<HttpAnswer(const HttpQuestion&)> answer_;
  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> num_connections_ = 0;
  std::mutex mutex_;
  std::set<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace paceline::test
