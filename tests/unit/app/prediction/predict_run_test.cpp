#include "paceline/app/prediction/predict_run.h"

#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kPredictedRecipe = R"(
run:        {seed: 3}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 2, num_heads: 2}
data:       {name: synthetic, num_samples: 8, num_val_samples: 7, num_classes: 5, size: 16,
             global_batch_size: 4, num_threads: 1}
train:      {duration: 3ba, precision: fp64}
optimizer:  {name: sgd, lr: 0.5}
checkpoint: {every: 3ba, keep_best: 0}
algorithms: {ema: {half_life: 2ba}}
)";
constexpr std::size_t kNumPredicted = 7;
constexpr std::size_t kNumClasses = 5;

class PredictRun : public ::testing::Test {
 protected:
  PredictRun() {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kPredictedRecipe);
    request.run_directory = run_;
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      run_training(request, {*registries_, communicator, files_, interruption_, 1});
    });
  }
  /// Returns probabilities.npy without its header.
  std::vector<double> predict(const std::string& name, int ranks,
                              const std::vector<std::string>& overrides = {},
                              const std::string& weights = {}) {
    const fs::path out = folder_.path() / name;
    paceline::test::run_ranks(ranks, [&](comm::Communicator& communicator) {
      const auto report = run_prediction({{run_, overrides, weights}, out},
                                         {*registries_, communicator, files_, interruption_, 1});
      was_interrupted_ = !report;
    });
    if (was_interrupted_) return {};
    const std::string file = base::read_file(out / "probabilities.npy");
    std::vector<double> values((file.size() - file.find('\n') - 1) / sizeof(double));
    std::memcpy(values.data(), file.data() + file.find('\n') + 1, values.size() * sizeof(double));
    return values;
  }

  paceline::test::TempFolder folder_;
  fs::path run_ = folder_.path() / "run";
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  std::unique_ptr<Registries> registries_ = make_registries();
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
  bool was_interrupted_ = false;
};

TEST_F(PredictRun, AnyStrategyOnAnyRanksGivesTheSameRows) {
  const std::vector<double> one = predict("one", 1);
  ASSERT_EQ(one.size(), kNumPredicted * kNumClasses);
  for (std::size_t row = 0; row < kNumPredicted; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < kNumClasses; ++i) sum += one[row * kNumClasses + i];
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  for (const char* strategy : {"ddp", "zero2", "fsdp"}) {
    for (const int ranks : {2, 3}) {
      const auto other = predict(fmt::format("{}-{}", strategy, ranks), ranks,
                                 {fmt::format("parallel.strategy={}", strategy)});
      ASSERT_EQ(other.size(), one.size());
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_NEAR(other[i], one[i], 1e-12) << strategy << " " << ranks << " " << i;
    }
  }
}

TEST_F(PredictRun, TakesTheWeightsAndTheDataThatAreWanted) {
  EXPECT_NE(predict("ema", 1, {}, "ema"), predict("trained", 1));
  EXPECT_EQ(predict("few", 2, {"train.eval_batches=1"}).size(), 4 * kNumClasses);
  EXPECT_EQ(predict("more", 2, {"data.num_val_samples=9"}).size(), 9 * kNumClasses);
}

TEST_F(PredictRun, AFolderThatIsThereStays) {
  const std::vector<double> first = predict("out", 2);
  EXPECT_THAT([&] { predict("out", 2, {"data.num_val_samples=2"}); },
              ThrowsMessage<base::Error>(HasSubstr("it is there already")));
  EXPECT_EQ(base::read_file(folder_.path() / "out/samples.csv").substr(0, 24),
            "index,sample,label,class");
}

TEST_F(PredictRun, PicturesOfATaskThatShowsNoneAreRefusedBeforeAnythingIsOpened) {
  PredictRequest request{.source = {run_, {}, {}},
                         .output = folder_.path() / "out",
                         .pictures = folder_.path() / "pictures"};
  bool was_adapted = false;
  bool was_opened = false;
  request.source.adapt = [&](Recipe&) { was_adapted = true; };
  request.source.open_images = [&] {
    was_opened = true;
    return nullptr;
  };
  EXPECT_THAT(
      [&] {
        paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
          run_prediction(request, {*registries_, communicator, files_, interruption_, 1});
        });
      },
      ThrowsMessage<base::ConfigError>(
          HasSubstr("--pictures: task classification shows none of its predictions")));
  EXPECT_TRUE(was_adapted);
  EXPECT_FALSE(was_opened);
  EXPECT_FALSE(fs::exists(request.output));
  EXPECT_FALSE(fs::exists(request.pictures));
}

TEST_F(PredictRun, AnInterruptedOneLeavesNothing) {
  interruption_.request(SIGINT, std::chrono::hours(1));
  predict("out", 2);
  EXPECT_TRUE(was_interrupted_);
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

}  // namespace
}  // namespace paceline::app
