// By libcurl, through the plug-in.
#include "paceline/data/remote/http_exchange.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/storage/storage.h"
#include "support/data/http_server.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// What a server was asked last.
struct Questions {
  std::mutex mutex;
  test::HttpQuestion last;

  void keep(const test::HttpQuestion& question) {
    const std::lock_guard lock(mutex);
    last = question;
  }
  std::string header(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto found = last.headers.find(name);
    return found == last.headers.end() ? "" : found->second;
  }
};

TEST(HttpExchange, AsksForRangesOfAVersion) {
  Questions questions;
  const test::HttpServer server([&](const test::HttpQuestion& question) -> test::HttpAnswer {
    questions.keep(question);
    return {206, {{"ETag", "\"1\""}}, "rest"};
  });
  const auto exchange = load_remote_plugin().open_http(5);
  std::string text;
  const HttpResponse response = exchange->get_text(
      {.url = server.url("/x"), .bearer = "secret", .range = "7-", .if_range = "\"1\""}, text);
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(response.header("etag"), "\"1\"");
  EXPECT_EQ(text, "rest");
  EXPECT_EQ(questions.header("range"), "bytes=7-");
  EXPECT_EQ(questions.header("if-range"), "\"1\"");
  EXPECT_EQ(questions.header("authorization"), "Bearer secret");
  exchange->get_text({.url = server.url("/x")}, text);  // over the same connection
  EXPECT_EQ(questions.header("if-range"), "");
  EXPECT_EQ(questions.header("range"), "");
  EXPECT_EQ(questions.header("authorization"), "");
}

TEST(HttpExchange, FollowsRedirectsIfItIsToldTo) {
  Questions elsewhere;
  const test::HttpServer other([&](const test::HttpQuestion& question) -> test::HttpAnswer {
    elsewhere.keep(question);
    return {200, {}, "there"};
  });
  const test::HttpServer server([&](const test::HttpQuestion&) -> test::HttpAnswer {
    return {302, {{"Location", other.url("/y")}, {"X-Linked-Etag", "\"ab\""}}};
  });
  const auto exchange = load_remote_plugin().open_http(5);
  const HttpResponse here =
      exchange->get_headers({.url = server.url("/x"), .follows_redirects = false});
  EXPECT_EQ(here.status, 302);
  EXPECT_EQ(here.header("location"), other.url("/y"));
  EXPECT_EQ(here.header("x-linked-etag"), "\"ab\"");
  std::string text;
  const HttpResponse there =
      exchange->get_text({.url = server.url("/x"), .bearer = "secret"}, text);
  EXPECT_EQ(text, "there");
  EXPECT_EQ(there.url, other.url("/y"));
  EXPECT_EQ(there.header("x-linked-etag"), "");
  EXPECT_EQ(elsewhere.header("authorization"), "") << "the token went to another host";
}

TEST(HttpExchange, StatusesSayWhatTheyMean) {
  const auto expect = [](int status, const std::string& said) {
    EXPECT_THAT(
        [&] {
          throw_unless_ok({status, {}, "", ""}, "the place");
        },
        ThrowsMessage<base::DataError>(HasSubstr(said)));
  };
  throw_unless_ok({206, {}, "", ""}, "the place");
  expect(401, "it needs a login");
  expect(403, "access is refused");
  expect(404, "there is no such file");
  expect(410, "there is no such file");
  expect(418, "the place: HTTP status 418: the server refuses");
  for (const int status : {408, 425, 429, 500, 503})
    EXPECT_THROW(throw_unless_ok({status, {}, "", ""}, "the place"), TransientError);
}

TEST(HttpExchange, WaitsAsTheServerAsks) {
  using Headers = std::map<std::string, std::string>;
  const auto wait_s = [](const Headers& headers) {
    try {
      throw_unless_ok({503, headers, "", "busy"}, "the place");
    } catch (const TransientError& error) {
      return error.wait_s;
    }
    return -1.0;
  };
  const std::string now = "Wed, 21 Oct 2015 07:28:00 GMT";
  EXPECT_EQ(wait_s({}), 0);
  EXPECT_EQ(wait_s({{"retry-after", "7"}}), 7);
  EXPECT_EQ(wait_s({{"retry-after", "Wed, 21 Oct 2015 07:29:30 GMT"}, {"date", now}}), 90);
  EXPECT_EQ(wait_s({{"retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"}, {"date", now}}), 0);
  EXPECT_EQ(wait_s({{"retry-after", now}}), 0) << "long ago by our own clock";
  EXPECT_GT(wait_s({{"retry-after", "Fri, 01 Jan 2100 00:00:00 GMT"}}), 1e6);
  EXPECT_EQ(wait_s({{"retry-after", "soon"}, {"date", now}}), 0);
}

TEST(HttpExchange, PartsOfUrls) {
  EXPECT_EQ(without_query("https://h/x?sig=1"), "https://h/x");
  EXPECT_EQ(origin_of("https://h:1/x/y"), "https://h:1");
  EXPECT_EQ(origin_of("https://h"), "https://h");
}

}  // namespace
}  // namespace paceline::data
