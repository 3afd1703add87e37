// Runs of a cascade: a stage behind a stage, under every strategy and on ranks without samples.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/session.h"
#include "paceline/app/train_run.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/nn/volume/cascade_network.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "support/data/ct_files.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

// Of 5 patients in batches of 4, and of 2 in validation: some ranks have none now and then.
constexpr const char* kTwoStages = R"(
run:        {seed: 3}
task:       {name: ct_diffusion, sampling_steps: 3, condition_noise: 0.2}
model:      {name: ct_cascade, xray_size: 16, xray_dim: 64, num_stages: 1,
             stages: [{volume_size: 12, patch: 4, dim: 16, depth: 2, heads: 2},
                      {volume_size: 24, patch: 8, dim: 24, depth: 2, heads: 2}]}
data:       {name: ct, xray_size: 16, full_scale: 1, side: 12, global_batch_size: 4, num_threads: 1}
train:      {duration: 90ep, eval_every: 2ba, grad_clip_norm: 1, precision: fp64}
optimizer:  {name: adamw, lr: 1e-3}
checkpoint: {every: 90ep, keep_best: 0}
loggers:    {jsonl: }
)";

using Values = std::map<std::string, double>;

class CascadeRun : public ::testing::Test {
 protected:
  CascadeRun() {
    const test::CtFiles files{.sides = {24, 12}, .train = 5, .val = 2, .test = 0};
    files.write(folder_, "data");
    // Those of files are the same for each stage.
    files.write_xrays(folder_, "train", files.train, 16, {0, 90}, "data");
    files.write_xrays(folder_, "val", files.val, 16, {0, 90}, "data");
  }

  LoadedRecipe load(std::vector<std::string> overrides) const {
    overrides.push_back("data.path=" + (folder_.path() / "data").string());
    return load_recipe(folder_.write("recipe.yaml", kTwoStages), overrides, *registries_, 1);
  }

  static std::vector<std::string> second_stage(const std::string& first) {
    return {"model.num_stages=2", "data.side=24", "model.pretrained=" + first};
  }

  std::string path_of(const std::string& run) const { return (folder_.path() / run).string(); }

  /// Trains `steps` in a new run, or goes on with one; what its last evaluation measured.
  Values train(const std::string& run, const LoadedRecipe& loaded, int world_size,
               std::int64_t steps) {
    const bool is_resuming = std::filesystem::exists(folder_.path() / run);
    Values values;
    test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                      SessionChanges::at_most(steps, loaded.recipe));
      const RunDirectory directory =
          attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator);
      session.trainer().fit();
      if (communicator.rank() == 0) values = session.state().last_eval;
    });
    return values;
  }

  std::map<std::string, at::Tensor> weights_of(const std::string& run) const {
    checkpoint::CheckpointReader reader(find_checkpoint(folder_.path() / run));
    std::map<std::string, at::Tensor> weights;
    for (const auto& tensor : reader.manifest().tensors) {
      if (tensor.name.starts_with("stages.")) weights[tensor.name] = reader.tensor(tensor.name);
    }
    return weights;
  }

  /// Of each step.
  std::vector<double> losses_of(const std::string& run) const {
    std::vector<double> losses;
    std::istringstream metrics(base::read_file(folder_.path() / run / "metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const nlohmann::json logged = nlohmann::json::parse(line);
      if (logged.contains("train/loss")) losses.push_back(logged["train/loss"]);
    }
    return losses;
  }

  void expect_close(const std::string& run, const std::string& other) const {
    const auto expected = weights_of(other);
    for (const auto& [name, weight] : weights_of(run)) {
      const double apart = (weight - expected.at(name)).abs().max().item<double>();
      EXPECT_LE(apart, 1e-9) << name << " of " << run;
    }
  }

  static void expect_close(const Values& values, const Values& expected) {
    ASSERT_FALSE(expected.empty());
    for (const auto& [name, value] : expected)
      EXPECT_NEAR(values.at(name), value, 1e-7 * (1 + std::abs(value))) << name;
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  test::TempFolder folder_;
  test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

TEST_F(CascadeRun, AStageStandsOnTheOneBefore) {
  const Values first = train("one", load({}), 1, 4);
  EXPECT_TRUE(first.contains("val/psnr"));
  EXPECT_FALSE(first.contains("val/psnr_stage1")) << "the last stage's has no number";
  const LoadedRecipe both = load(second_stage(path_of("one")));
  test::run_ranks(1, [&](comm::Communicator& communicator) {
    Session session(both.recipe, {*registries_, communicator, files_, interruption_, 1});
    const auto parameters = session.state().task->network().named_parameters();
    std::int64_t copied = 0;
    for (const auto& item : parameters) {
      const auto source = nn::CascadeNetwork::starts_from(item.key());
      EXPECT_EQ(item.value().requires_grad(), item.key().starts_with("stages.1.")) << item.key();
      if (!source) continue;
      ++copied;
      EXPECT_TRUE(at::equal(item.value(), parameters[*source])) << item.key();
    }
    EXPECT_EQ(copied, 20);
  });
  const Values second = train("two", both, 1, 4);
  // Against the X-rays, which are the same for both: true volumes of 12 are no means of those
  // of 24.
  EXPECT_DOUBLE_EQ(second.at("val/projection_error_stage1"), first.at("val/projection_error"))
      << "what stage 1 draws does not change";
  const auto before = weights_of("one");
  for (const auto& [name, weight] : weights_of("two")) {
    if (name.starts_with("stages.0.")) {
      EXPECT_TRUE(at::equal(weight, before.at(name))) << name;
    } else if (const auto source = nn::CascadeNetwork::starts_from(name)) {
      EXPECT_FALSE(at::equal(weight, before.at(*source))) << name << " is trained";
    }
  }
}

TEST_F(CascadeRun, StagesAreTheSameUnderEveryStrategy) {
  const Values first = train("one", load({}), 1, 4);
  const Values second = train("two", load(second_stage(path_of("one"))), 1, 5);
  for (const std::string strategy : {"ddp", "zero1", "zero2", "fsdp", "hsdp"}) {
    for (const int world_size : {2, 4}) {
      const std::string name = strategy + std::to_string(world_size);
      SCOPED_TRACE(name);
      const std::string by = "parallel.strategy=" + strategy;
      expect_close(train("one-" + name, load({by}), world_size, 4), first);
      expect_close("one-" + name, "one");
      std::vector<std::string> overrides = second_stage(path_of("one"));
      overrides.push_back(by);
      expect_close(train("two-" + name, load(overrides), world_size, 5), second);
      expect_close("two-" + name, "two");
    }
  }
}

TEST_F(CascadeRun, AccumulatedAndCheckpointedStepsAreTheSame) {
  train("one", load({}), 1, 2);
  const auto second = second_stage(path_of("one"));
  train("two", load(second), 1, 3);
  std::vector<std::string> thrifty = second;
  thrifty.insert(thrifty.end(), {"train.grad_accum_steps=2", "train.activation_checkpointing={}",
                                 "parallel.strategy=fsdp"});
  train("thrifty", load(thrifty), 2, 3);
  expect_close("thrifty", "two");
}

TEST_F(CascadeRun, EachStageLearnsInHalfPrecisionAndPieces) {
  train("one", load({"train.precision=fp32"}), 1, 3);
  std::vector<std::string> second = second_stage(path_of("one"));
  second.emplace_back("train.precision=fp32");
  train("two", load(second), 1, 3);
  const auto in_pieces = [](std::vector<std::string> settings) {
    std::erase(settings, "train.precision=fp32");
    settings.insert(settings.end(), {"train.precision=bf16", "parallel.strategy=fsdp",
                                     "train.activation_checkpointing={every: 1}"});
    return settings;
  };
  const Values one = train("half-one", load(in_pieces({})), 2, 3);
  const Values two = train("half-two", load(in_pieces(second)), 2, 3);
  for (const Values& evaluated : {one, two})
    EXPECT_TRUE(std::isfinite(evaluated.at("val/psnr"))) << "volumes are drawn";
  for (const std::string run : {"one", "two"}) {
    const std::vector<double> wanted = losses_of(run);
    const std::vector<double> losses = losses_of("half-" + run);
    ASSERT_EQ(losses.size(), 3U);
    ASSERT_EQ(wanted.size(), 3U);
    double farthest = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double apart = std::abs(losses[i] / wanted[i] - 1);
      EXPECT_LE(apart, 0.02) << run << ", step " << i + 1;
      farthest = std::max(farthest, apart);
    }
    EXPECT_GT(farthest, 1e-6) << "it is float32";
  }
}

TEST_F(CascadeRun, GoesOnToTheSameBitsInEachStage) {
  train("one", load({}), 1, 5);
  train("stopped", load({}), 1, 3);
  train("stopped", load({}), 1, 5);
  const auto whole = weights_of("one");
  for (const auto& [name, weight] : weights_of("stopped"))
    EXPECT_TRUE(at::equal(weight, whole.at(name))) << name;
  const auto second = load(second_stage(path_of("one")));
  train("two", second, 1, 5);
  train("stopped-two", second, 1, 3);
  train("stopped-two", second, 1, 5);
  const auto both = weights_of("two");
  for (const auto& [name, weight] : weights_of("stopped-two"))
    EXPECT_TRUE(at::equal(weight, both.at(name))) << name;
}

}  // namespace
}  // namespace paceline::app
