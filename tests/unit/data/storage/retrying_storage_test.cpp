#include "paceline/data/storage/retrying_storage.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/data/fake_storage.h"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::FakeStorage;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

class RetryingStorageTest : public ::testing::Test {
 protected:
  RetryingStorageTest() { inner_->files["s3://b/x"] = "0123456789"; }

  std::shared_ptr<const Storage> with_retries(int retries) {
    return retry_transient_errors(inner_,
                                  {.retries = retries,
                                   .first_pause_s = 1,
                                   .longest_pause_s = 5,
                                   .sleep = [this](double seconds) { pauses_.push_back(seconds); }},
                                  counts_);
  }

  std::shared_ptr<FakeStorage> inner_ = std::make_shared<FakeStorage>();
  std::shared_ptr<RetryCounts> counts_ = std::make_shared<RetryCounts>();
  std::vector<double> pauses_;
  std::vector<std::string> lines_;
  base::LogRedirection log_{
      [this](base::LogLevel, std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(RetryingStorageTest, ReadsOnAfterErrorsThatPass) {
  const auto storage = with_retries(6);
  inner_->fail_next(TransientError("busy"));
  const auto file = storage->open("s3://b/x");
  inner_->fail_next(TransientError("reset"));
  inner_->fail_next(TransientError("late"));
  EXPECT_EQ(test::read_text(*file), "0123456789");
  inner_->fail_next(TransientError("busy"));
  EXPECT_EQ(storage->facts("s3://b/x")->size, 10u);
  inner_->fail_next(TransientError("busy"));
  EXPECT_THAT(storage->list("s3://b"), SizeIs(1));
  EXPECT_EQ(counts_->retries, 5);
  EXPECT_EQ(counts_->given_up, 0);
  // One line for the file, whatever was done with it, and one for the folder.
  EXPECT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[0], AllOf(HasSubstr("busy"), HasSubstr("up to 6 times")));
}

TEST_F(RetryingStorageTest, PausesDoubleWithJitterUpToTheLongest) {
  const auto storage = with_retries(5);
  for (int i = 0; i < 5; ++i) inner_->fail_next(TransientError("busy"));
  storage->facts("s3://b/x");
  ASSERT_THAT(pauses_, SizeIs(5));
  const double wholes[] = {1, 2, 4, 5, 5};
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(pauses_[static_cast<std::size_t>(i)], wholes[i] / 2) << i;
    EXPECT_LE(pauses_[static_cast<std::size_t>(i)], wholes[i]) << i;
  }
  EXPECT_NE(2 * pauses_[0], pauses_[1]);  // drawn anew
}

TEST_F(RetryingStorageTest, WaitsAsLongAsItIsAskedToWithinReason) {
  const auto storage = with_retries(2);
  inner_->fail_next(TransientError("busy", 3));
  inner_->fail_next(TransientError("busy", 3600));
  storage->facts("s3://b/x");
  EXPECT_THAT(pauses_, ::testing::ElementsAre(3, 5));
}

TEST_F(RetryingStorageTest, GivesUpWithPathTriesCauseAndCure) {
  const auto storage = with_retries(2);
  for (int i = 1; i <= 3; ++i) inner_->fail_next(TransientError("cause " + std::to_string(i)));
  EXPECT_THAT([&] { storage->open("s3://b/x"); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("s3://b/x"), HasSubstr("3 tries"),
                                                   HasSubstr("cause 3"),
                                                   HasSubstr("data.remote.retries"))));
  EXPECT_EQ(counts_->retries, 2);
  EXPECT_EQ(counts_->given_up, 1);
  EXPECT_THAT(pauses_, SizeIs(2));
}

TEST_F(RetryingStorageTest, LetsOtherErrorsPassAtOnce) {
  const auto storage = with_retries(6);
  inner_->fail_next(base::DataError("refused"));
  EXPECT_THAT([&] { storage->facts("s3://b/x"); },
              ThrowsMessage<base::DataError>(::testing::StrEq("refused")));
  EXPECT_THAT(pauses_, SizeIs(0));
  EXPECT_EQ(counts_->retries, 0);
}

TEST_F(RetryingStorageTest, ReadsNeighboursInOneRequest) {
  const auto file = with_retries(1)->open("s3://b/x");
  std::string first(2, ' ');
  std::string second(3, ' ');
  std::string within(1, ' ');
  const auto bytes = [](std::string& text) {
    return std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size());
  };
  inner_->fail_next(TransientError("reset"));
  file->read_parts(
      std::vector<FilePart>{{1, bytes(first)}, {4, bytes(second)}, {5, bytes(within)}});
  EXPECT_EQ(first, "12");
  EXPECT_EQ(second, "456");
  EXPECT_EQ(within, "5");
  EXPECT_EQ(inner_->num_reads, 2);  // the first one failed
  EXPECT_EQ(inner_->bytes_read, 6);
}

TEST(RetryingStorage, AStopEndsAPauseAtOnce) {
  const auto far = std::make_shared<FakeStorage>();
  far->files["s3://b/x"] = "content";
  for (int i = 0; i < 3; ++i) far->fail_next(TransientError("busy"));
  base::Interruption interruption;
  const auto storage = retry_transient_errors(
      far, {.first_pause_s = 600, .longest_pause_s = 600, .interruption = &interruption},
      std::make_shared<RetryCounts>());
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interruption.request(SIGTERM);
  });
  EXPECT_THROW(storage->open("s3://b/x"), base::Interrupted);
  EXPECT_THROW(storage->open("s3://b/x"), base::Interrupted) << "and every later pause";
  stopper.join();
}

}  // namespace
}  // namespace paceline::data
