#include "paceline/pretrained/download.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/faulty_file_system.h"
#include "support/pretrained/fake_exchange.h"
#include "support/temp_folder.h"

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;
using test::FakeAnswer;
using test::FakeExchange;
using test::serve_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const std::string kContent = "0123456789abcdefghij";

std::string sum_of(const std::string& text) {
  base::Sha256Stream sum;
  sum.update(text);
  return sum.hex_digest();
}

/// One download of kContent, from wherever a test says.
class Download : public testing::Test {
 protected:
  void run(const FakeExchange& exchange, const std::string& etag = {}) {
    const DownloadOptions options{files, interruption, 3,
                                  [this](double seconds) { pauses.push_back(seconds); }};
    download(
        plan,
        fetch_by_http(exchange, {"the file", "https://host/x", "secret", etag, {}}, interruption),
        options);
  }
  std::string content() const { return base::read_file(plan.target); }
  bool is_clean() const { return !fs::exists(plan.target) && !fs::exists(plan.partial); }

  test::TempFolder folder;
  test::FaultyFileSystem files;
  base::Interruption interruption;
  base::LogRedirection quiet{[](base::LogLevel, std::string_view) {}};
  DownloadPlan plan{"the file", folder.path() / "blobs/x", folder.path() / "blobs/x.incomplete",
                    kContent.size(), sum_of(kContent)};
  std::vector<double> pauses;
};

TEST_F(Download, BringsAFile) {
  const FakeExchange exchange([](const auto& request) { return serve_file(request, kContent); });
  run(exchange);
  EXPECT_EQ(content(), kContent);
  EXPECT_FALSE(fs::exists(plan.partial));
  ASSERT_THAT(exchange.asked(), SizeIs(1));
  EXPECT_EQ(exchange.asked()[0].bearer, "secret");
  EXPECT_EQ(exchange.asked()[0].range, "");
}

TEST_F(Download, GoesOnAfterBreaks) {
  const FakeExchange exchange([](const auto& request) {
    FakeAnswer answer = serve_file(request, kContent);
    answer.num_sent = 4;
    return answer;
  });
  run(exchange);
  EXPECT_EQ(content(), kContent);
  std::vector<std::string> ranges;
  for (const auto& request : exchange.asked()) ranges.push_back(request.range);
  EXPECT_THAT(ranges, ElementsAre("", "4-", "8-", "12-", "16-"));
}

TEST_F(Download, GoesOnWithWhatAnEarlierProcessLeft) {
  folder.write("blobs/x.incomplete", kContent.substr(0, 7));
  const FakeExchange exchange([](const auto& request) { return serve_file(request, kContent); });
  run(exchange);
  EXPECT_EQ(content(), kContent);
  EXPECT_EQ(exchange.asked()[0].range, "7-");
}

TEST_F(Download, AsksForNothingThatIsThere) {
  folder.write("blobs/x.incomplete", kContent);
  const FakeExchange exchange([](const auto&) { return FakeAnswer{500}; });
  run(exchange);
  EXPECT_EQ(content(), kContent);
  EXPECT_THAT(exchange.asked(), SizeIs(0));
}

TEST_F(Download, StartsAgainWhereRangesAreIgnored) {
  folder.write("blobs/x.incomplete", kContent.substr(0, 7));
  const FakeExchange exchange([](const auto&) { return FakeAnswer{200, {}, kContent}; });
  run(exchange);
  EXPECT_EQ(content(), kContent);
}

TEST_F(Download, NeverJoinsTwoVersions) {
  folder.write("blobs/x.incomplete", "ABC");
  plan.sha256.clear();
  const FakeExchange exchange(
      [](const auto& request) { return serve_file(request, kContent, "\"new\""); });
  run(exchange, "\"old\"");
  EXPECT_EQ(content(), kContent);
}

TEST_F(Download, WhatWasLeftOfAnotherFileIsThrownAway) {
  for (const std::string& left :
       {std::string("???"), std::string(100, '?'), std::string(20, '?')}) {
    folder.write("blobs/x.incomplete", left);
    fs::remove(plan.target);
    const FakeExchange exchange([](const auto& request) { return serve_file(request, kContent); });
    run(exchange);
    EXPECT_EQ(content(), kContent) << left;
  }
}

TEST_F(Download, DamageIsToldAndNothingStays) {
  const FakeExchange exchange(
      [](const auto& request) { return serve_file(request, "X" + kContent.substr(1)); });
  EXPECT_THAT([&] { run(exchange); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("the file: what came is damaged"), HasSubstr(sum_of(kContent)))));
  EXPECT_TRUE(is_clean());
  plan.sha256 = sum_of(kContent).substr(0, 8);
  EXPECT_THAT([&] { run(exchange); },
              ThrowsMessage<base::DataError>(HasSubstr("should begin with " + plan.sha256)));
}

TEST_F(Download, TruncationIsToldAfterAllTries) {
  const FakeExchange exchange(
      [](const auto& request) { return serve_file(request, kContent.substr(0, 9)); });
  EXPECT_THAT([&] { run(exchange); },
              ThrowsMessage<base::DataError>(HasSubstr("given up after 4 tries")));
  EXPECT_FALSE(fs::exists(plan.target));
}

TEST_F(Download, WaitsAsLongAsTheServerAsks) {
  int num_asked = 0;
  const FakeExchange exchange([&](const auto& request) {
    return ++num_asked == 1 ? FakeAnswer{429, {{"retry-after", "37"}}, "slow down"}
                            : serve_file(request, kContent);
  });
  run(exchange);
  EXPECT_THAT(pauses, ElementsAre(37));
}

TEST_F(Download, DoesNotWaitForHours) {
  const FakeExchange exchange([](const auto&) {
    return FakeAnswer{429, {{"retry-after", "7200"}}, ""};
  });
  EXPECT_THAT([&] { run(exchange); },
              ThrowsMessage<base::DataError>(HasSubstr("asks us to come back in 2 h")));
}

TEST_F(Download, ServerErrorsAreTriedAgainOtherStatusesNot) {
  const FakeExchange broken([](const auto&) { return FakeAnswer{503, {}, "down"}; });
  EXPECT_THAT([&] { run(broken); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("given up after 4 tries"), HasSubstr("HTTP status 503: down"))));
  EXPECT_THAT(pauses, ElementsAre(0.5, 1, 2));
  const FakeExchange missing([](const auto&) { return FakeAnswer{404}; });
  EXPECT_THAT([&] { run(missing); },
              ThrowsMessage<base::DataError>(HasSubstr("there is no such file")));
  EXPECT_THAT(missing.asked(), SizeIs(1));
}

TEST_F(Download, AFullDiskIsToldAndWhatCameStays) {
  files.fill_disk_after(10);
  const FakeExchange exchange([](const auto& request) {
    FakeAnswer answer = serve_file(request, kContent);
    answer.num_sent = 4;
    return answer;
  });
  EXPECT_THAT([&] { run(exchange); }, ThrowsMessage<base::FileError>(HasSubstr("No space left")));
  EXPECT_FALSE(fs::exists(plan.target));
  files.free_disk();
  run(exchange);
  EXPECT_EQ(content(), kContent);
}

TEST_F(Download, WhatCannotFitIsNotBegun) {
  plan.size = std::uint64_t{1} << 62;
  const FakeExchange exchange([](const auto&) { return FakeAnswer{500}; });
  EXPECT_THAT([&] { run(exchange); }, ThrowsMessage<base::DataError>(
                                          AllOf(HasSubstr("has room for"), HasSubstr("HF_HOME"))));
  EXPECT_THAT(exchange.asked(), SizeIs(0));
}

TEST_F(Download, StopsWhenAsked) {
  const FakeExchange exchange([&](const auto& request) {
    interruption.request(SIGINT);
    FakeAnswer answer = serve_file(request, kContent);
    answer.num_sent = 4;
    return answer;
  });
  EXPECT_THROW(run(exchange), base::Interrupted);
  EXPECT_FALSE(fs::exists(plan.target));
  EXPECT_EQ(fs::file_size(plan.partial), 4u);
}

}  // namespace
}  // namespace paceline::pretrained
