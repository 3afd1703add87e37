#include "paceline/app/evaluation/eval_run.h"

#include "paceline/app/evaluation/eval_page.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr const char* kEvaluatedRecipe = R"(
run:        {seed: 3}
model:      {name: resnet20, num_classes: 5}
data:       {name: synthetic, num_samples: 8, num_val_samples: 7, num_classes: 5, size: 40,
             global_batch_size: 4, num_threads: 1,
             eval_transforms: [{name: resize, size: 36}, {name: center_crop, size: 32}]}
train:      {duration: 3ba, precision: fp64}
optimizer:  {name: sgd, lr: 0.1}
checkpoint: {every: 3ba, keep_best: 0}
)";

class EvalRun : public ::testing::Test {
 protected:
  EvalRun() {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kEvaluatedRecipe);
    request.run_directory = run_;
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      run_training(request, {*registries_, communicator, files_, interruption_, 1});
    });
  }
  /// Of rank 0.
  EvalReport evaluate(const EvalViews& views, int ranks = 1,
                      const std::vector<std::string>& overrides = {}) {
    std::optional<EvalReport> report;
    paceline::test::run_ranks(ranks, [&](comm::Communicator& communicator) {
      auto own = run_evaluation({run_, overrides, {}},
                                {*registries_, communicator, files_, interruption_, 1}, views);
      if (communicator.rank() == 0) report = std::move(own);
    });
    return *std::move(report);
  }
  static double loss(const EvalReport& report) { return report.result.values.at("val/loss"); }

  paceline::test::TempFolder folder_;
  fs::path run_ = folder_.path() / "run";
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  std::unique_ptr<Registries> registries_ = make_registries();
  std::vector<std::string> lines_;
  base::LogRedirection quiet_{
      [this](base::LogLevel, std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(EvalRun, ViewsGiveTheSameOnAnyRanksUnderAnyStrategy) {
  const double usual = loss(evaluate({}));
  const EvalViews cases[] = {{.flip = true},     {.ten_crop = true}, {.shift = 2},
                             {.temperature = 2}, {.size = 24},       {.crop_pct = 1.0}};
  for (const EvalViews& views : cases) {
    const EvalReport one = evaluate(views);
    EXPECT_NE(loss(one), usual) << describe(views).front();
    EXPECT_THAT(lines_, Contains(HasSubstr(describe(views).front())));
    for (const char* strategy : {"ddp", "fsdp"}) {
      const EvalReport two = evaluate(views, 3, {fmt::format("parallel.strategy={}", strategy)});
      EXPECT_NEAR(loss(two), loss(one), 1e-12) << describe(views).front();
      EXPECT_TRUE(two.samples->losses.allclose(one.samples->losses));
      EXPECT_TRUE(two.samples->classes.equal(one.samples->classes));
    }
  }
}

TEST_F(EvalRun, TheSamplesMakeUpTheLoss) {
  const EvalReport report = evaluate({});
  EXPECT_EQ(report.samples->indices.numel(), 7);
  EXPECT_NEAR(report.samples->losses.mean().item<double>(), loss(report), 1e-12);
  const at::Tensor right = report.samples->classes.select(1, 0).eq(report.samples->labels);
  EXPECT_NEAR(right.to(at::kDouble).mean().item<double>(), report.result.values.at("val/top1"),
              1e-12);
}

TEST_F(EvalRun, ATemperatureDividesTheLogits) {
  const EvalReport usual = evaluate({});
  const EvalReport cool = evaluate({.temperature = 2});
  const at::Tensor& probabilities = usual.samples->probabilities;  // of all five classes
  const at::Tensor expected = probabilities.sqrt() / probabilities.sqrt().sum(1, true);
  EXPECT_TRUE(cool.samples->probabilities.allclose(expected, 1e-9, 1e-9));
}

TEST_F(EvalRun, AClassMapLeavesOutTheOthers) {
  const EvalReport usual = evaluate({});
  const fs::path map = folder_.write("map.yaml", "{0: 3, 1: 0, 2: 1, 3: 4, 4: 2}");
  const EvalReport moved = evaluate({.class_map = map}, 2);
  EXPECT_EQ(moved.class_names.size(), 5u);
  // Class 0 of the data is class 3 of the model, and so on.
  const at::Tensor data_class_of = at::tensor({1, 2, 4, 0, 3}, at::kLong);
  const at::Tensor told = usual.samples->classes.select(1, 0);
  EXPECT_TRUE(moved.samples->classes.select(1, 0).equal(data_class_of.index_select(0, told)));
  const fs::path wrong = folder_.write("wrong.yaml", "[0, 1, 2, 3, 7]");
  EXPECT_THAT([&] { evaluate({.class_map = wrong}); }, ThrowsMessage<base::Error>(HasSubstr("7")));
}

TEST_F(EvalRun, APageTellsWhatWasMeasured) {
  const EvalReport report = evaluate({.flip = true}, 2);
  const std::vector<std::string> facts{"a <fact>"};
  const std::string page = eval_page(report, facts);
  EXPECT_THAT(page, HasSubstr(fmt::format("<b>{:.4f}</b><span>loss</span>", loss(report))));
  EXPECT_THAT(page, HasSubstr("a &lt;fact&gt;"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("resnet20"));
  EXPECT_THAT(page, HasSubstr("src='data:image/jpeg;base64,"));
}

}  // namespace
}  // namespace paceline::app
