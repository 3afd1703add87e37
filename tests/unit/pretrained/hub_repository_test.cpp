#include "paceline/pretrained/hub_repository.h"

#include "paceline/base/error.h"
#include "paceline/data/storage/storage.h"
#include "support/pretrained/fake_hub.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

using test::FakeAnswer;
using test::FakeExchange;
using test::FakeHub;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class HubRepositoryTest : public testing::Test {
 protected:
  HubCommit find_commit(const FakeExchange& exchange) const {
    return HubRepository(exchange, access, source).find_commit();
  }
  HubFile find_file(const FakeExchange& exchange, const std::string& file) const {
    return HubRepository(exchange, access, source).find_file(hub.commit, file);
  }
  void expect_refusal(const FakeAnswer& answer, const std::string& said) const {
    const FakeExchange exchange([&](const auto&) { return answer; });
    EXPECT_THAT([&] { find_commit(exchange); }, ThrowsMessage<base::DataError>(HasSubstr(said)));
  }

  FakeHub hub{.files = {{"config.json", "{}"}}, .large = {{"a b.bin", "weights"}}};
  data::HubAccess access{.endpoint = hub.endpoint, .token = "secret"};
  HubSource source{"some/net", "refs/pr/1", ""};
};

TEST_F(HubRepositoryTest, LooksARevisionUp) {
  const FakeExchange exchange(hub);
  const HubCommit commit = find_commit(exchange);
  EXPECT_EQ(commit.commit, hub.commit);
  EXPECT_THAT(commit.files, ElementsAre("a b.bin", "config.json"));
  EXPECT_EQ(exchange.asked()[0].url, "https://hub/api/models/some/net/revision/refs%2Fpr%2F1");
  EXPECT_EQ(exchange.asked()[0].bearer, "secret");
}

TEST_F(HubRepositoryTest, LeavesFilesOutThatWouldLieElsewhere) {
  hub.files = {{"../../x", ""}, {"/etc/passwd", ""}, {"a/../b", ""}, {"good/x", ""}};
  const FakeExchange exchange(hub);
  EXPECT_THAT(find_commit(exchange).files, ElementsAre("a b.bin", "good/x"));
}

TEST_F(HubRepositoryTest, TellsLargeAndSmallFiles) {
  const FakeExchange exchange(hub);
  const HubFile large = find_file(exchange, "a b.bin");
  EXPECT_EQ(large.url, "https://hub/some/net/resolve/" + hub.commit + "/a%20b.bin");
  EXPECT_EQ(large.sha256, FakeHub::sha256_of("weights"));
  EXPECT_EQ(large.etag, large.sha256);
  EXPECT_EQ(large.size, 7u);
  const HubFile small = find_file(exchange, "config.json");
  EXPECT_EQ(small.etag, FakeHub::sha256_of("{}").substr(0, 40));
  EXPECT_EQ(small.sha256, "");
  EXPECT_EQ(small.size, 2u);
  for (const auto& request : exchange.asked()) EXPECT_TRUE(request.only_headers);
}

TEST_F(HubRepositoryTest, FollowsARepositoryToItsNewName) {
  const FakeExchange exchange([&](const data::HttpRequest& request) -> FakeAnswer {
    if (request.url.starts_with("https://hub/some/old"))
      return {307, {{"location", "/some/net/resolve/" + hub.commit + "/config.json"}}};
    return hub(request);
  });
  source.repository = "some/old";
  EXPECT_EQ(find_file(exchange, "config.json").size, 2u);
}

TEST_F(HubRepositoryTest, RefusalsSayWhatToDo) {
  expect_refusal({403, {{"x-error-code", "GatedRepo"}}},
                 "the model is gated. Accept its terms at https://hub/some/net");
  expect_refusal({401, {{"x-error-code", "RepoNotFound"}}}, "the hub knows no such model");
  expect_refusal({401, {{"x-error-message", "Invalid credentials in Authorization header"}}},
                 "does not know the token that is set");
  expect_refusal({404, {{"x-error-code", "RevisionNotFound"}}}, "has no revision 'refs/pr/1'");
  expect_refusal({404, {{"x-error-code", "RepoNotFound"}}}, "the hub knows no such model");
  expect_refusal({200, {}, "<html>"}, "is no JSON");
  expect_refusal({200, {}, "{}"}, "is not understood");
  expect_refusal({200, {}, R"({"sha": "../x", "siblings": []})"}, "does not tell the commit");
}

TEST_F(HubRepositoryTest, BusyIsForAMoment) {
  const FakeExchange exchange([](const auto&) { return FakeAnswer{429, {{"retry-after", "3"}}}; });
  try {
    find_commit(exchange);
    FAIL();
  } catch (const data::TransientError& error) {
    EXPECT_EQ(error.wait_s, 3);
  }
}

TEST_F(HubRepositoryTest, AnEtagThatIsNoChecksumIsRefused) {
  const FakeExchange exchange([](const auto&) {
    return FakeAnswer{200, {{"etag", "\"../../x\""}}};
  });
  EXPECT_THAT([&] { find_file(exchange, "config.json"); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("does not tell the checksum"), HasSubstr("HF_ENDPOINT"))));
}

}  // namespace
}  // namespace paceline::pretrained
