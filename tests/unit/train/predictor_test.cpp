#include "paceline/train/predictor.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"
#include "unit/train/scripted_run.h"

#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::OneWeight;
using paceline::test::OwnedLoader;
using paceline::test::RecordingStrategy;
using paceline::test::run_ranks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// Gives out which samples it saw, in several types.
class TellingTask final : public Task {
 public:
  TellingTask() : Task(std::make_shared<OneWeight>()) {}
  void check_samples(const SampleFacts&) const override {}
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext&) override {
    EXPECT_FALSE(is_training);
    EXPECT_FALSE(at::GradMode::is_enabled());
    const at::Tensor numbers = at::tensor(batch.indices, at::kLong);
    const at::Tensor pairs = at::stack({numbers, -numbers}, 1).to(at::kBFloat16);
    if (changes_type && batch.first_position > 0)
      return {{"numbers", numbers.to(at::kInt)}, {"pairs", pairs}, {"odd", numbers % 2 == 1}};
    return {{"numbers", numbers}, {"pairs", pairs}, {"odd", numbers % 2 == 1}};
  }
  at::Tensor loss(const tensor::Fields&, const Batch&) override { return {}; }
  std::span<const Metric> metrics() const override { return {}; }
  std::int64_t num_sums() const override { return 0; }
  at::Tensor sums(const tensor::Fields&, const Batch&) override { return {}; }
  void set_training(bool training) override { is_training = training; }

  bool is_training = true;
  bool changes_type = false;
};

/// Predicts 7 samples in batches of 4.
struct Prediction {
  explicit Prediction(comm::Communicator& communicator, std::set<std::int64_t> damaged = {})
      : loader(7, 4, false, communicator, std::move(damaged)),
        run{communicator, {}, 1, {}, signal} {}

  bool predict(std::optional<std::int64_t> max_batches = std::nullopt,
               std::int64_t max_skipped = SkipLimit::kNone, std::vector<std::string> inputs = {}) {
    Predictor predictor(*loader, max_batches, max_skipped);
    predictor.add_inputs(std::move(inputs));
    return predictor.run(task, strategy, Precision::kFloat32, /*step=*/0, run, take);
  }

  std::atomic<int> signal{0};
  TellingTask task;
  Calls calls;
  RecordingStrategy strategy{calls};
  OwnedLoader loader;
  RunContext run;
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> numbers;
  std::vector<double> seconds_of_pairs;
  std::vector<std::int64_t> skipped;  ///< of each batch
  Predictor::Take take = [this](const Predictions& predictions) {
    const auto append = [](auto& to, const at::Tensor& values) {
      for (std::int64_t i = 0; i < values.size(0); ++i)
        to.push_back(values[i].item<typename std::decay_t<decltype(to)>::value_type>());
    };
    skipped.push_back(static_cast<std::int64_t>(predictions.skipped.size()));
    if (predictions.fields.empty()) return;
    indices.insert(indices.end(), predictions.indices.begin(), predictions.indices.end());
    append(numbers, predictions.fields.at("numbers"));
    const at::Tensor& pairs = predictions.fields.at("pairs");
    EXPECT_EQ(pairs.scalar_type(), at::kFloat) << "of which NumPy knows";
    append(seconds_of_pairs, pairs.select(1, 1));
    EXPECT_TRUE(predictions.fields.at("odd").equal(predictions.fields.at("numbers") % 2 == 1));
    EXPECT_EQ(predictions.fields.size(), 3u);
  };
};

TEST(Predictor, GivesEachSampleOnceAndInOrderOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {  // with 5 some ranks have nothing at all
    run_ranks(ranks, [](comm::Communicator& communicator) {
      Prediction prediction(communicator);
      EXPECT_TRUE(prediction.predict());
      EXPECT_TRUE(prediction.task.is_training);
      if (communicator.rank() != 0) {
        EXPECT_THAT(prediction.indices, IsEmpty());
        return;
      }
      EXPECT_THAT(prediction.indices, ElementsAre(0, 1, 2, 3, 4, 5, 6));
      EXPECT_EQ(prediction.numbers, prediction.indices);
      EXPECT_THAT(prediction.seconds_of_pairs, ElementsAre(0, -1, -2, -3, -4, -5, -6));
    });
  }
}

TEST(Predictor, LeavesOutWhatCouldNotBeRead) {
  run_ranks(3, [](comm::Communicator& communicator) {
    Prediction prediction(communicator, {0, 1, 2, 3, 5});  // nothing of the first batch
    EXPECT_TRUE(prediction.predict());
    if (communicator.rank() == 0) {
      EXPECT_THAT(prediction.numbers, ElementsAre(4, 6));
      EXPECT_THAT(prediction.skipped, ElementsAre(4, 1)) << "all of the first batch are told";
    }
    EXPECT_THAT([&] { prediction.predict(std::nullopt, 4); },
                ThrowsMessage<base::DataError>(HasSubstr("5 samples of the data to predict")));
  });
}

TEST(Predictor, GivesInputsThatAreAskedForAndThere) {
  at::Tensor of_one_rank;
  for (const int ranks : {1, 3}) {
    run_ranks(ranks, [&](comm::Communicator& communicator) {
      Prediction prediction(communicator);
      std::vector<at::Tensor> images;
      prediction.take = [&](const Predictions& predictions) {
        EXPECT_EQ(predictions.fields.size(), 4u);
        images.push_back(predictions.fields.at(kImages));
      };
      EXPECT_TRUE(prediction.predict(std::nullopt, SkipLimit::kNone, {"volume", "images"}));
      if (communicator.rank() != 0) return;
      const at::Tensor all = at::cat(images);
      EXPECT_THAT(all.sizes(), ElementsAre(7, 3, 2, 2));
      if (ranks == 1) of_one_rank = all;
      EXPECT_TRUE(all.equal(of_one_rank));
    });
  }
}

TEST(Predictor, EndsAfterSoManyBatches) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Prediction prediction(communicator);
    EXPECT_TRUE(prediction.predict(1));
    if (communicator.rank() == 0) {
      EXPECT_THAT(prediction.indices, ElementsAre(0, 1, 2, 3));
    }
  });
}

TEST(Predictor, WhatIsThrownOnTheFirstRankAllThrow) {
  for (const std::int64_t at : {0, 4}) {  // in the first batch, in the last
    run_ranks(2, [&](comm::Communicator& communicator) {
      Prediction prediction(communicator);
      prediction.take = [&](const Predictions& predictions) {
        if (predictions.indices.front() == at) throw base::DataError("the disk is full");
      };
      EXPECT_THAT([&] { prediction.predict(); },
                  ThrowsMessage<base::Error>(HasSubstr("the disk is full")));
    });
  }
}

TEST(Predictor, ASignalOnAnyRankEndsAll) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Prediction prediction(communicator);
    if (communicator.rank() == 1) prediction.signal = SIGTERM;
    EXPECT_FALSE(prediction.predict());
    EXPECT_THAT(prediction.indices, IsEmpty());
  });
}

TEST(Predictor, FieldsThatChangeAreAnErrorOfAllRanks) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Prediction prediction(communicator);
    prediction.task.changes_type = true;
    EXPECT_THROW(prediction.predict(), base::InternalError);
  });
}

}  // namespace
}  // namespace paceline::train
