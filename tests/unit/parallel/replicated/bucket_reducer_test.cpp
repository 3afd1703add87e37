#include "paceline/parallel/replicated/bucket_reducer.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using testing::ElementsAre;

/// Notes which buckets are reduced, by their first element.
class RecordingCommunicator final : public comm::Communicator {
 public:
  explicit RecordingCommunicator(int world_size)
      : inner_(comm::make_fake_communicator(0, world_size)) {}
  std::vector<double> started;

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::string backend() const override { return inner_->backend(); }
  std::string describe() const override { return inner_->describe(); }
  std::unique_ptr<comm::Work> all_reduce(const at::Tensor& tensor, comm::ReduceOp op,
                                         std::string_view label) override {
    started.push_back(tensor[0].item<double>());
    return inner_->all_reduce(tensor, op, label);
  }
  std::unique_ptr<comm::Work> broadcast(const at::Tensor& tensor, int source_rank,
                                        std::string_view label) override {
    return inner_->broadcast(tensor, source_rank, label);
  }
  std::unique_ptr<comm::Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                         std::string_view label) override {
    return inner_->all_gather(output, input, label);
  }
  std::unique_ptr<comm::Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             std::string_view label) override {
    return inner_->reduce_scatter(output, input, label);
  }
  void barrier() override { inner_->barrier(); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return inner_->all_gather_text(text);
  }
  std::unique_ptr<comm::Communicator> split(int color) override { return inner_->split(color); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_->set_timeout(timeout); }
  void shutdown() override { inner_->shutdown(); }

 private:
  std::unique_ptr<comm::Communicator> inner_;
};

/// Three buckets: {f, e}, {d, c}, {b, a}, slots 0 to 5 in that order. Bucket i starts with the
/// value i.
class BucketReducerTest : public testing::Test {
 protected:
  static tensor::FlatLayout make_layout() {
    std::vector<tensor::TensorSpec> specs;
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
      specs.push_back({name, "float32", {16}, {1}, 0});
    }
    return tensor::FlatLayout::build(specs, {.first_bucket_bytes = 128, .bucket_bytes = 128});
  }
  BucketReducerTest() {
    for (std::size_t i = 0; i < 3; ++i) arena_.bucket(i).fill_(static_cast<double>(i));
  }

  void mark_ready(std::size_t slot) {
    reducer_.mark_ready(slot);
    reducer_.start_full();
  }

  tensor::Arena arena_{make_layout(), at::zeros({1})};
  RecordingCommunicator communicator_{2};
  BucketReducer reducer_{arena_, &communicator_};
};

TEST_F(BucketReducerTest, ABucketStartsWhenItsLastGradientIsThere) {
  mark_ready(1);
  EXPECT_TRUE(communicator_.started.empty());
  mark_ready(0);
  EXPECT_THAT(communicator_.started, ElementsAre(0));
}

TEST_F(BucketReducerTest, BucketsStartInOrderOfTheLayout) {
  for (const std::size_t slot : {4U, 5U, 2U, 0U, 3U}) mark_ready(slot);
  EXPECT_TRUE(communicator_.started.empty());
  mark_ready(1);
  EXPECT_THAT(communicator_.started, ElementsAre(0, 1, 2));
}

TEST_F(BucketReducerTest, FinishStartsTheRestAndBeginForgets) {
  mark_ready(0);
  reducer_.start_rest();
  reducer_.finish();
  EXPECT_THAT(communicator_.started, ElementsAre(0, 1, 2));
  EXPECT_GE(reducer_.exposed_s(), 0.0);
  reducer_.begin();
  EXPECT_FALSE(reducer_.is_ready(0));
  mark_ready(0);
}

TEST_F(BucketReducerTest, ReportsWhatFilledEachBucketAndWhenItsSumStarted) {
  reducer_.begin_backward();
  for (const std::size_t slot : {1U, 0U, 3U, 2U}) mark_ready(slot);
  reducer_.start_rest();
  reducer_.finish();
  const CommunicationReport report = reducer_.report();
  ASSERT_EQ(report.buckets.size(), 3U);
  EXPECT_EQ(report.buckets[0].filled_by, "f");
  EXPECT_EQ(report.buckets[1].filled_by, "d");
  EXPECT_EQ(report.buckets[2].filled_by, "");
  double exposed_s = 0;
  double last_start_s = 0;
  for (const BucketReport& bucket : report.buckets) {
    EXPECT_EQ(bucket.bytes, 128);
    EXPECT_GE(bucket.start_s, last_start_s);
    EXPECT_LE(bucket.start_s, report.backward_s);
    last_start_s = bucket.start_s;
    exposed_s += bucket.exposed_s;
  }
  EXPECT_NEAR(exposed_s, reducer_.exposed_s(), 1e-6);
}

TEST_F(BucketReducerTest, ASecondGradientIsAnErrorThatNamesTheParameter) {
  reducer_.mark_ready(0);
  EXPECT_THAT([&] { reducer_.mark_ready(0); },
              testing::ThrowsMessage<base::InternalError>(testing::HasSubstr("'f'")));
}

// Of the second bucket slot 2 is frozen, and all of the third.
TEST_F(BucketReducerTest, WaitsForNothingFrozenAndSendsNoneOfIt) {
  arena_.bucket(1).narrow(0, 16, 16).fill_(7);
  reducer_.reduce_only(std::vector<char>{1, 1, 0, 1, 0, 0});
  reducer_.begin();
  mark_ready(3);
  EXPECT_TRUE(communicator_.started.empty());
  mark_ready(1);
  mark_ready(0);
  EXPECT_THAT(communicator_.started, ElementsAre(0, 7));
  reducer_.start_rest();
  reducer_.finish();
  EXPECT_EQ(communicator_.started.size(), 2U);
  const CommunicationReport report = reducer_.report();
  EXPECT_EQ(report.buckets[0].bytes, 128);
  EXPECT_EQ(report.buckets[1].bytes, 64);
  EXPECT_EQ(report.buckets[2].bytes, 0);
  EXPECT_THAT(report.late_parameters, ElementsAre("f", "e"));
  reducer_.reduce_only(std::vector<char>(6, 1));
  reducer_.begin();
  for (const std::size_t slot : {0U, 1U, 2U, 3U, 4U, 5U}) mark_ready(slot);
  EXPECT_THAT(communicator_.started, ElementsAre(0, 7, 0, 1, 2)) << "all again";
}

TEST_F(BucketReducerTest, AWorldOfOneReducesNothing) {
  RecordingCommunicator alone{1};
  BucketReducer reducer(arena_, &alone);
  reducer.start_rest();
  reducer.finish();
  EXPECT_TRUE(alone.started.empty());
}

TEST(LateParameters, AreThoseThatHoldABucketBackBehindAFullOne) {
  std::vector<tensor::TensorSpec> specs;
  for (const char* name : {"a", "b", "c", "d"}) specs.push_back({name, "float32", {16}, {1}, 0});
  const auto layout =
      tensor::FlatLayout::build(specs, {.first_bucket_bytes = 128, .bucket_bytes = 128});
  const std::vector<char> all(4, 1);
  // Buckets {d, c} and {b, a}: slots 0, 1 and 2, 3.
  EXPECT_TRUE(late_parameters(layout, std::vector<std::size_t>{0, 1, 2, 3}, all).empty());
  EXPECT_TRUE(late_parameters(layout, std::vector<std::size_t>{2, 1, 0, 3}, all).empty());
  EXPECT_THAT(late_parameters(layout, std::vector<std::size_t>{0, 2, 3, 1}, all), ElementsAre("c"));
  EXPECT_THAT(late_parameters(layout, std::vector<std::size_t>{2, 3}, all), ElementsAre("d", "c"));
  EXPECT_TRUE(late_parameters(layout, std::vector<std::size_t>{2, 3}, std::vector<char>{0, 0, 1, 1})
                  .empty())
      << "what is frozen holds nothing up";
}

}  // namespace
}  // namespace paceline::parallel
