// Through the plug-in, of which it is part.
#include "paceline/data/remote/plugin/http_storage.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/remote_plugin.h"
#include "support/data/fake_storage.h"
#include "support/data/http_server.h"

#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::HttpAnswer;
using paceline::test::HttpQuestion;
using paceline::test::HttpServer;
using paceline::test::serve_range;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<const Storage> open_storage(double timeout = 5) {
  return load_remote_plugin().open_storage("http", {.timeout = timeout});
}

/// How a read fails: "" not at all, else "transient" or "data" and the message.
std::string failure_of(const Storage& storage, const std::string& path) {
  try {
    test::read_text(*storage.open(path));
    return "";
  } catch (const TransientError& error) {
    return fmt::format("transient {} {}", error.wait_s, error.what());
  } catch (const base::DataError& error) {
    return fmt::format("data {}", error.what());
  }
}

TEST(HttpStorage, ReadsRangesOverOneConnection) {
  const std::string content = "0123456789";
  HttpServer server([&](const HttpQuestion& question) {
    if (question.target == "/absent") return HttpAnswer{404};
    return serve_range(question, question.target == "/empty" ? "" : content, "\"v1\"");
  });
  const auto storage = open_storage();
  const auto file = storage->open(server.url("/x"));
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(file->path(), server.url("/x"));
  std::uint8_t bytes[3];
  file->read(4, bytes);
  EXPECT_EQ(bytes[0], '4');
  EXPECT_EQ(bytes[2], '6');
  EXPECT_EQ(test::read_text(*file), content);
  EXPECT_EQ(storage->facts(server.url("/x"))->size, 10u);
  EXPECT_LT(storage->facts(server.url("/x"))->changed, 0);
  EXPECT_EQ(storage->facts(server.url("/absent")), std::nullopt);
  EXPECT_EQ(storage->open(server.url("/empty"))->size(), 0u);
  EXPECT_EQ(server.num_connections(), 1);
  EXPECT_THAT([&] { file->read(8, bytes); },
              ThrowsMessage<base::DataError>(HasSubstr("ends at byte 10")));
  EXPECT_THAT([&] { storage->list(server.url("/")); },
              ThrowsMessage<base::DataError>(HasSubstr("do not list")));
}

TEST(HttpStorage, NoticesAServerThatIgnoresRanges) {
  HttpServer server([](const HttpQuestion&) {
    return HttpAnswer{200, {}, std::string(1 << 20, 'x')};
  });
  EXPECT_THAT(failure_of(*open_storage(), server.url("/x")), HasSubstr("does not serve ranges"));
}

TEST(HttpStorage, NeverMixesTwoVersions) {
  std::atomic<int> version = 1;
  HttpServer server([&](const HttpQuestion& question) {
    return serve_range(question, "0123456789", fmt::format("\"v{}\"", version.load()));
  });
  const auto file = open_storage()->open(server.url("/x"));
  EXPECT_EQ(test::read_text(*file), "0123456789");
  version = 2;
  EXPECT_THAT([&] { test::read_text(*file); },
              ThrowsMessage<base::DataError>(HasSubstr("changed on the server")));
}

TEST(HttpStorage, TellsErrorsThatPassFromOthers) {
  std::atomic<int> status = 503;
  HttpServer server([&](const HttpQuestion&) {
    return HttpAnswer{status, {{"Retry-After", "7"}}, "because"};
  });
  const auto storage = open_storage();
  for (const int passing : {408, 429, 500, 503, 504}) {
    status = passing;
    EXPECT_THAT(
        failure_of(*storage, server.url("/x")),
        AllOf(HasSubstr("transient 7"), HasSubstr(std::to_string(passing)), HasSubstr("because")));
  }
  for (const int lasting : {400, 401, 403, 404, 410}) {
    status = lasting;
    EXPECT_THAT(failure_of(*storage, server.url("/x")),
                AllOf(HasSubstr("data " + server.url("/x"))));
  }
}

TEST(HttpStorage, TakesBrokenConnectionsForErrorsThatPass) {
  std::size_t num_sent = 0;
  HttpServer server([&](const HttpQuestion& question) {
    HttpAnswer answer = serve_range(question, std::string(100, 'x'), "");
    if (question.headers.at("range") != "bytes=0-0") answer.num_sent = num_sent;
    return answer;
  });
  const auto storage = open_storage();
  for (const std::size_t sent : {0, 1, 99}) {
    num_sent = sent;
    EXPECT_THAT(failure_of(*storage, server.url("/x")), HasSubstr("transient")) << sent;
  }
  EXPECT_THAT(failure_of(*storage, "http://127.0.0.1:1/x"), HasSubstr("transient"));
}

TEST(HttpStorage, GivesUpOnASilentServer) {
  std::atomic<bool> is_over = false;
  HttpServer server([&](const HttpQuestion& question) {
    while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return serve_range(question, "x", "");
  });
  EXPECT_THAT(failure_of(*open_storage(0.5), server.url("/x")), HasSubstr("transient"));
  is_over = true;
}

TEST(HttpStorage, RemembersRedirectsUntilTheyExpire) {
  std::atomic<int> num_asked = 0;
  std::atomic<bool> has_expired = false;
  HttpServer other([&](const HttpQuestion& question) {
    if (has_expired.exchange(false)) return HttpAnswer{403};
    return serve_range(question, "0123456789", "\"v1\"");
  });
  HttpServer first([&](const HttpQuestion&) {
    ++num_asked;
    return HttpAnswer{302, {{"Location", other.url("/signed")}, {"ETag", "\"redirect\""}}};
  });
  const auto file = open_storage()->open(first.url("/x"));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(test::read_text(*file), "0123456789");
  EXPECT_EQ(num_asked, 2);  // to open, and for the first read
  has_expired = true;
  EXPECT_EQ(test::read_text(*file), "0123456789");
  EXPECT_EQ(num_asked, 3);
}

}  // namespace
}  // namespace paceline::data
