#include "paceline/train/microbatches.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"

#include <atomic>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Has a function change microbatches.
class Transforming final : public Algorithm {
 public:
  using Change = std::function<void(Batch&)>;
  using Kept = std::function<std::int64_t(std::int64_t)>;
  Transforming(
      std::string name, int order, Change change, Kept kept = [](auto size) { return size; })
      : name_(std::move(name)), order_(order), change_(std::move(change)), kept_(std::move(kept)) {}
  std::string_view name() const override { return name_; }
  AlgorithmTraits traits() const override {
    return {.events = {}, .order = order_, .transforms_batches = true};
  }
  void apply(Event, TrainState&, const RunContext&) override {}
  void transform(Batch& batch, TrainState&, const RunContext&) override { change_(batch); }
  void transform_nothing(const Batch& batch, TrainState&, const RunContext&) override {
    EXPECT_EQ(batch.size, 0);
    ++num_nothings;
  }
  std::int64_t num_kept(std::int64_t size, const Clock&) const override { return kept_(size); }

  static inline int num_nothings = 0;

 private:
  std::string name_;
  int order_;
  Change change_;
  Kept kept_;
};

void keep_first(Batch& batch, std::int64_t count) {
  keep_samples(batch, at::arange(count, at::kLong));
}

class MicrobatchesTest : public ::testing::Test {
 protected:
  /// Of rank 0 of `world_size`, which has `share` samples of `global_size`.
  std::vector<Batch> make(std::int64_t share, std::int64_t global_size, int num_microbatches,
                          int world_size = 1) {
    const auto communicator = comm::make_fake_communicator(0, world_size);
    const RunContext run{*communicator, {}, 1, {}, no_signal_};
    TrainState state;
    state.batch.size = share;
    state.batch.global_size = global_size;
    state.batch.fields = {{"images", at::arange(share, at::kFloat).view({share, 1})},
                          {"labels", at::arange(share)}};
    state.batch.indices.resize(static_cast<std::size_t>(share));
    std::iota(state.batch.indices.begin(), state.batch.indices.end(), 10);
    return make_microbatches(state, run, Engine(std::move(algorithms_), {}), num_microbatches);
  }
  void add(std::string name, int order, Transforming::Change change) {
    algorithms_.push_back(
        std::make_unique<Transforming>(std::move(name), order, std::move(change)));
  }
  /// An algorithm that keeps half of a microbatch, rounded up.
  void add_half() {
    const auto half = [](std::int64_t size) { return (size + 1) / 2; };
    algorithms_.push_back(std::make_unique<Transforming>(
        "half", 0, [half](Batch& batch) { keep_first(batch, half(batch.size)); }, half));
  }

  const std::atomic<int> no_signal_{0};
  std::vector<std::unique_ptr<Algorithm>> algorithms_;
};

TEST_F(MicrobatchesTest, EachIsTransformedOnceInTheOrderOfTheAlgorithms) {
  std::vector<std::string> calls;
  add("second", 2, [&](Batch& batch) {
    calls.push_back(fmt::format("second of {}", batch.first_position));
    batch.fields.set("images", batch.fields.at("images") * 10);
  });
  add("first", 1, [&](Batch& batch) {
    calls.push_back(fmt::format("first of {}", batch.first_position));
    batch.fields.set("images", batch.fields.at("images") + 1);
    batch.fields.set("targets", batch.fields.at("labels") + 5);
  });
  const auto microbatches = make(5, 5, 2);
  EXPECT_THAT(calls, ElementsAre("first of 0", "second of 0", "first of 3", "second of 3"));
  EXPECT_EQ(microbatches[1].fields.at("images")[0].item<float>(), (3 + 1) * 10);
  EXPECT_EQ(microbatches[1].fields.at("targets")[0].item<std::int64_t>(), 3 + 5);
  EXPECT_EQ(microbatches[1].global_size, 5);
}

TEST_F(MicrobatchesTest, OneWithoutSamplesIsNotTransformed) {
  add("counting", 0, [](Batch& batch) { EXPECT_GT(batch.size, 0); });
  Transforming::num_nothings = 0;
  EXPECT_THAT(make(2, 5, 3, 2).back().size, 0);
  EXPECT_EQ(Transforming::num_nothings, 1) << "and is told so, as others may wait for it";
}

TEST_F(MicrobatchesTest, SamplesThatAreKeptAreThoseOfTheDataSet) {
  algorithms_.push_back(std::make_unique<Transforming>(
      "two", 0,
      [](Batch& batch) {
        keep_samples(batch, at::tensor({3, 1}, at::kLong));
      },
      [](auto) { return 2; }));
  algorithms_.push_back(std::make_unique<Transforming>(
      "one", 1, [](Batch& batch) { keep_samples(batch, at::tensor({1}, at::kLong)); },
      [](auto) { return 1; }));
  const auto microbatches = make(4, 4, 1);
  EXPECT_THAT(sample_indices(microbatches[0]), ElementsAre(11));
  EXPECT_EQ(microbatches[0].fields.at("images").item<float>(), 1);
}

// Rank 0 of 3 has 5 of 13 samples and its peers 4: in microbatches of 3 and 2, and of 3 and 1, of
// which 2 and 1, and 2 and 1, are left.
TEST_F(MicrobatchesTest, WeighWhatAllRanksKeepWithoutAskingThem) {
  add_half();
  const auto microbatches = make(5, 13, 2, 3);
  ASSERT_EQ(microbatches.size(), 2U);
  EXPECT_EQ(microbatches[0].size, 2);
  EXPECT_EQ(microbatches[1].size, 1);
  EXPECT_THAT(sample_indices(microbatches[1]), ElementsAre(13));
  for (const Batch& microbatch : microbatches) EXPECT_EQ(microbatch.global_size, 3 * (2 + 1));
}

TEST_F(MicrobatchesTest, SamplesGetFewerByOneAlgorithmAfterTheOther) {
  add_half();
  algorithms_.push_back(std::make_unique<Transforming>(
      "one", 1, [](Batch& batch) { keep_first(batch, 1); }, [](auto) { return 1; }));
  const auto microbatches = make(8, 8, 1);
  EXPECT_EQ(microbatches[0].size, 1);
  EXPECT_EQ(microbatches[0].global_size, 1);
}

TEST_F(MicrobatchesTest, RefusesAnAlgorithmThatKeepsOtherThanItSaid) {
  add("greedy", 0, [](Batch& batch) { keep_first(batch, 2); });
  EXPECT_THAT([&] { make(4, 4, 1); }, ThrowsMessage<base::InternalError>(
                                          HasSubstr("'greedy' keeps 2 of 4 samples, and 4")));
}

TEST_F(MicrobatchesTest, RefusesOneThatLeavesNothing) {
  algorithms_.push_back(std::make_unique<Transforming>(
      "empty", 0, [](Batch& batch) { keep_first(batch, 0); }, [](auto) { return 0; }));
  EXPECT_THAT([&] { make(4, 4, 1); },
              ThrowsMessage<base::InternalError>(HasSubstr("'empty' keeps 0 of 4")));
}

TEST_F(MicrobatchesTest, RefusesOneThatChangesLabels) {
  for (const auto& change :
       {Transforming::Change(
            [](Batch& batch) { batch.fields.set("labels", batch.fields.at("labels") + 1); }),
        Transforming::Change([](Batch& batch) { batch.fields.at("labels").add_(1); })}) {
    add("wrong", 0, change);
    EXPECT_THAT([&] { make(4, 4, 1); },
                ThrowsMessage<base::InternalError>(HasSubstr("'wrong' changes labels")));
  }
}

}  // namespace
}  // namespace paceline::train
