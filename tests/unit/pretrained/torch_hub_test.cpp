#include "paceline/pretrained/torch_hub.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/pretrained/fake_hub.h"
#include "support/temp_folder.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;
using test::FakeAnswer;
using test::FakeExchange;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kNet = "the network's weights";

class TorchHub : public testing::Test {
 protected:
  FetchedWeights fetch(const std::string& from) {
    const FetchContext context{{files, interruption, 1, [](double) {}},
                               [this] {
                                 ++num_connections;
                                 return std::make_unique<FakeExchange>(answer);
                               },
                               {}};
    return fetch_to_torch_hub({from}, folder.path(), context);
  }

  test::TempFolder folder;
  base::RealFileSystem files;
  base::Interruption interruption;
  base::LogRedirection quiet{[](base::LogLevel, std::string_view) {}};
  FakeExchange::Answer answer = [](const data::HttpRequest& request) {
    return test::serve_file(request, kNet, "\"v1\"");
  };
  std::string hash = test::FakeHub::sha256_of(kNet).substr(0, 8);
  std::string url = "https://host/models/net-" + hash + ".pth";
  int num_connections = 0;
};

TEST_F(TorchHub, FilesLieWhereTorchHubHasThem) {
  const FetchedWeights fetched = fetch(url);
  EXPECT_EQ(fetched.path, folder.path() / ("net-" + hash + ".pth"));
  EXPECT_EQ(base::read_file(fetched.path), kNet);
  num_connections = 0;
  fetch(url);
  EXPECT_EQ(num_connections, 0) << "the hash in the name tells that it is whole";
}

TEST_F(TorchHub, TheHashInTheNameCounts) {
  EXPECT_THAT([&] { fetch("https://host/net-00000000.pth"); },
              ThrowsMessage<base::DataError>(HasSubstr("should begin with 00000000")));
  EXPECT_FALSE(fs::exists(folder.path() / "net-00000000.pth"));
  const auto present = folder.write("net-" + hash + ".pth", "damaged");
  EXPECT_THAT([&] { fetch(url); }, ThrowsMessage<base::DataError>(AllOf(
                                       HasSubstr(present.string()), HasSubstr("move it away"))));
  EXPECT_EQ(base::read_file(present), "damaged") << "it is not ours to overwrite";
}

TEST_F(TorchHub, WithoutAHashTheSizeCounts) {
  EXPECT_EQ(base::read_file(fetch("https://host/a/net.pth?sig=1").path), kNet);
  fetch("https://host/a/net.pth");
  answer = [](const data::HttpRequest& request) { return test::serve_file(request, "another"); };
  EXPECT_THAT([&] { fetch("https://host/b/net.pth"); },
              ThrowsMessage<base::DataError>(HasSubstr("another file of that name")));
  EXPECT_EQ(base::read_file(folder.path() / "net.pth"), kNet);
  answer = [](const data::HttpRequest&) { return FakeAnswer{503}; };
  EXPECT_EQ(base::read_file(fetch("https://host/a/net.pth").path), kNet);
}

TEST_F(TorchHub, ServersThatRefuseQuestionsAreAskedForTheFile) {
  answer = [](const data::HttpRequest& request) {
    return request.only_headers ? FakeAnswer{403} : FakeAnswer{200, {}, kNet};
  };
  EXPECT_EQ(base::read_file(fetch("https://host/net.pth?signature=1").path), kNet);
}

TEST_F(TorchHub, WhatIsNotThereIsTold) {
  answer = [](const data::HttpRequest&) { return FakeAnswer{404}; };
  EXPECT_THAT(
      [&] { fetch("https://host/net.pth?secret=1"); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("https://host/net.pth: HTTP status 404"),
                                           testing::Not(HasSubstr("secret")))));
  EXPECT_THROW(fetch("https://host/model.safetensors.index.json"), base::ConfigError);
}

TEST_F(TorchHub, HashesInNames) {
  EXPECT_EQ(hash_in_name("resnet50-11ad3fa6.pth"), "11ad3fa6");
  EXPECT_EQ(hash_in_name("mnasnet0.5_top1_67.823-3ffadce67e.pth"), "3ffadce67e");
  EXPECT_EQ(hash_in_name("alexnet-owt-7be5be79.pth"), "7be5be79");
  for (const char* none : {"net.pth", "net-2023.pth", "net-epoch100x.pth", "net-.pth"})
    EXPECT_EQ(hash_in_name(none), "") << none;
}

TEST_F(TorchHub, TheFolderIsTorchs) {
  setenv("TORCH_HOME", "/t", 1);
  EXPECT_EQ(torch_hub_folder(), "/t/hub/checkpoints");
  unsetenv("TORCH_HOME");
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(torch_hub_folder(), "/x/torch/hub/checkpoints");
  kept.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace paceline::pretrained
