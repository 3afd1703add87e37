#include "paceline/pretrained/hub_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/pretrained/fake_hub.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;
using test::FakeExchange;
using test::FakeHub;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class HubWeights : public testing::Test {
 protected:
  FetchedWeights fetch(const HubSource& source) {
    const FetchContext context{
        {files, interruption, 1, [](double) {}},
        [this] {
          ++num_connections;
          return std::make_unique<FakeExchange>([this](const data::HttpRequest& request) {
            num_bodies += request.only_headers ? 0 : 1;
            return hub(request);
          });
        },
        {}};
    return fetch_from_hub(source, access, context);
  }
  static std::string content(const fs::path& path) { return base::read_file(fs::canonical(path)); }
  fs::path repository() const { return folder.path() / "models--some--net"; }

  test::TempFolder folder;
  base::RealFileSystem files;
  base::Interruption interruption;
  std::string log;
  base::LogRedirection redirection{
      [this](base::LogLevel, std::string_view line) { log += std::string(line) + "\n"; }};
  FakeHub hub{.files = {{"config.json", "{}"}, {"README.md", "x"}},
              .large = {{"model.safetensors", "weights"}}};
  data::HubAccess access{.endpoint = hub.endpoint, .token = "secret", .cache = folder.path()};
  int num_connections = 0;
  int num_bodies = 0;
};

TEST_F(HubWeights, LieInTheCacheAsHuggingFaceHubHasThem) {
  const FetchedWeights fetched = fetch({"some/net"});
  const fs::path snapshot = repository() / "snapshots" / hub.commit;
  EXPECT_EQ(fetched.path, snapshot / "model.safetensors");
  EXPECT_EQ(fetched.config, snapshot / "config.json");
  EXPECT_EQ(fetched.origin, "hf:some/net at commit " + hub.commit + ", model.safetensors");
  EXPECT_EQ(content(fetched.path), "weights");
  EXPECT_EQ(fs::read_symlink(fetched.path), "../../blobs/" + FakeHub::sha256_of("weights"));
  EXPECT_EQ(base::read_file(repository() / "refs/main"), hub.commit);
  EXPECT_FALSE(fs::exists(snapshot / "README.md"));
}

TEST_F(HubWeights, AreFetchedOnce) {
  fetch({"some/net"});
  num_bodies = 0;
  fetch({"some/net"});
  EXPECT_EQ(num_bodies, 1) << "where the branch stands";
  num_connections = 0;
  EXPECT_EQ(content(fetch({"some/net", hub.commit, ""}).path), "weights");
  access.is_offline = true;
  EXPECT_EQ(content(fetch({"some/net"}).path), "weights");
  EXPECT_EQ(num_connections, 0);
}

TEST_F(HubWeights, FollowTheBranch) {
  fetch({"some/net"});
  hub.commit = std::string(40, 'd');
  hub.large["model.safetensors"] = "better weights";
  EXPECT_EQ(content(fetch({"some/net"}).path), "better weights");
  EXPECT_EQ(content(fetch({"some/net", std::string(40, 'c'), ""}).path), "weights");
  hub.commit = std::string(40, 'e');  // with the same content, which is not fetched again
  num_bodies = 0;
  EXPECT_EQ(content(fetch({"some/net"}).path), "better weights");
  EXPECT_EQ(num_bodies, 1);
}

TEST_F(HubWeights, AreTakenFromTheCacheWhereTheHubIsOutOfReach) {
  fetch({"some/net"});
  hub.refusal = 503;
  EXPECT_EQ(content(fetch({"some/net"}).path), "weights");
  EXPECT_THAT(log, AllOf(HasSubstr("HTTP status 503"), HasSubstr("taking what is in the cache")));
  EXPECT_THAT(
      [&] {
        fetch({"some/net", "v2", ""});
      },
      ThrowsMessage<base::DataError>(HasSubstr("given up after 2 tries")));
}

TEST_F(HubWeights, OfAHalfFilledCacheAreCompleted) {
  hub.large = {{"model-1.safetensors", "one"}, {"model-2.safetensors", "two"}};
  hub.files["model.safetensors.index.json"] =
      R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})";
  const FetchedWeights fetched = fetch({"some/net"});
  EXPECT_EQ(fetched.path.filename(), "model.safetensors.index.json");
  const fs::path shard = fetched.path.parent_path() / "model-2.safetensors";
  EXPECT_EQ(content(shard), "two");
  fs::remove(shard);
  EXPECT_EQ(find_in_cache({"some/net"}, HubCache(folder.path(), "some/net"), hub.commit),
            std::nullopt);
  fetch({"some/net", hub.commit, ""});
  EXPECT_EQ(content(shard), "two");
}

TEST_F(HubWeights, AFileCanBeNamed) {
  hub.large["part/other.pth"] = "other";
  EXPECT_EQ(content(fetch({"some/net", "main", "part/other.pth"}).path), "other");
  EXPECT_THAT(
      [&] {
        fetch({"some/net", "main", "part/ather.pth"});
      },
      ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("hf:some/net has no file 'part/ather.pth'"),
                                             HasSubstr("did you mean 'part/other.pth'?"))));
}

TEST_F(HubWeights, OfflineSaysHowToFetchThem) {
  access.is_offline = true;
  EXPECT_THAT([&] { fetch({"some/net"}); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("hf:some/net: not in the cache " + folder.path().string()),
                        HasSubstr("HF_HUB_OFFLINE"), HasSubstr("hf download some/net"))));
  EXPECT_EQ(num_connections, 0);
}

TEST_F(HubWeights, ThatFailLeaveNothingThatLooksWhole) {
  hub.large["model.safetensors"] = "weights";
  const auto broken = [this](const data::HttpRequest& request) {
    test::FakeAnswer answer = hub(request);
    if (!request.only_headers && answer.body == "weights") answer.num_sent = 3;
    if (!request.range.empty()) return test::FakeAnswer{500};
    return answer;
  };
  const FetchContext context{{files, interruption, 1, [](double) {}},
                             [&] { return std::make_unique<FakeExchange>(broken); },
                             {}};
  EXPECT_THROW(fetch_from_hub({"some/net"}, access, context), base::DataError);
  const std::string sum = FakeHub::sha256_of("weights");
  EXPECT_FALSE(fs::exists(repository() / "blobs" / sum));
  EXPECT_FALSE(fs::exists(repository() / "refs/main"));
  EXPECT_EQ(base::read_file(repository() / "blobs" / (sum + ".incomplete")), "wei");
  EXPECT_EQ(content(fetch({"some/net"}).path), "weights");
}

}  // namespace
}  // namespace paceline::pretrained
