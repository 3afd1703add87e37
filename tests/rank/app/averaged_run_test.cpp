// Runs whose averages stand for the trained weights: evaluations measure them, and whoever opens a
// checkpoint gets them, but the run that goes on.

#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/export/export_run.h"
#include "paceline/app/prediction/predict_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/app/train_run.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "support/data/ct_files.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The third step copies the weights, so the evaluation before it has the trained ones alone.
constexpr const char* kAveraged = R"(
run:        {seed: 3}
model:      {name: resnet18, layers: [1, 1], width: 4}
data:       {name: synthetic, num_samples: 14, num_val_samples: 3, num_classes: 5, size: 24,
             image_size: 24, global_batch_size: 4, num_threads: 1}
train:      {duration: 6ba, eval_every: 2ba}
optimizer:  {name: sgd, lr: 0.1}
schedule:   {name: constant}
algorithms: {ema: {half_life: 2ba, start: 3ba}}
checkpoint: {every: 2ba, keep_last: 9, keep_best: 0, async: false}
loggers:    {jsonl: }
)";
const std::string kAverage = "algorithms.ema.evaluate=average";

// Of which the second phase learns nothing, so that its weights are those that it started from.
constexpr const char* kTwoPhases = R"(
phases:
  first:  {}
  second: {optimizer: {lr: 0}, train: {duration: 1ba}}
)";

constexpr const char* kCascade = R"(
run:        {seed: 3}
task:       {name: ct_diffusion, sampling_steps: 3, condition_noise: 0.2}
model:      {name: ct_cascade, xray_size: 16, xray_dim: 64, num_stages: 1,
             stages: [{volume_size: 12, patch: 4, dim: 16, depth: 1, heads: 2},
                      {volume_size: 24, patch: 8, dim: 24, depth: 1, heads: 2}]}
data:       {name: ct, xray_size: 16, full_scale: 1, side: 12, global_batch_size: 4, num_threads: 1}
train:      {duration: 4ba, eval_every: 2ba}
optimizer:  {name: adamw, lr: 1e-2}
algorithms: {ema: {smoothing: 0.9999, warmup_power: 0.6667, evaluate: average}}
checkpoint: {every: 2ba, keep_best: 0}
loggers:    {jsonl: }
)";

using Overrides = std::vector<std::string>;
using Values = std::map<std::string, double>;
using Tensors = std::map<std::string, at::Tensor>;

/// Values of an evaluation by other names.
Values renamed(const Values& values, const std::string& from, const std::string& to) {
  Values others;
  for (const auto& [name, value] : values) {
    if (name.starts_with(from + "/")) others[to + name.substr(from.size())] = value;
  }
  EXPECT_FALSE(others.empty()) << from;
  return others;
}

void expect_same_bits(const Tensors& got, const Tensors& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) EXPECT_TRUE(at::equal(got.at(name), tensor)) << name;
}

const std::string kNoStrategy = "none";
const std::vector<std::string> kStrategies{kNoStrategy, "fsdp"};

int ranks_of(const std::string& strategy) { return strategy == kNoStrategy ? 1 : 2; }

class AveragedRun : public ::testing::Test {
 protected:
  /// On one rank without a strategy, else on two.
  void train(const std::string& run, const Overrides& overrides = {},
             const std::string& strategy = kNoStrategy, const std::string& recipe = kAveraged) {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", recipe);
    request.overrides = overrides;
    request.run_directory = path_of(run);
    if (fs::exists(path_of(run))) request.resume = "auto";
    request.overrides.push_back("parallel.strategy=" + strategy);
    on_ranks(ranks_of(strategy),
             [&](const SessionContext& context) { EXPECT_EQ(run_training(request, context), 0); });
  }

  EvalReport evaluate(const std::string& run, const std::string& weights,
                      const std::string& strategy = kNoStrategy) {
    std::optional<EvalReport> report;
    on_ranks(ranks_of(strategy), [&](const SessionContext& context) {
      auto result = run_evaluation({path_of(run), {}, weights}, context);
      if (context.communicator.rank() == 0) report = std::move(result);
    });
    return *std::move(report);
  }

  template <typename Work>
  void on_ranks(int world_size, const Work& work) {
    test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      work(SessionContext{*registries_, communicator, files_, interruption_, 1, world_size, 1});
    });
  }

  /// What evaluations logged, by step.
  std::map<std::int64_t, Values> evaluations(const std::string& run) const {
    std::map<std::int64_t, Values> found;
    std::istringstream metrics(base::read_file(path_of(run) / "metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const nlohmann::json row = nlohmann::json::parse(line);
      if (!row.contains("val/loss")) continue;
      Values& values = found[row.at("step")];
      for (const auto& [name, value] : row.items()) {
        const bool is_count = name == "val/samples" || name == "val/skipped";
        if (name.starts_with("val") && !is_count) values[name] = value;
      }
    }
    return found;
  }

  fs::path path_of(const std::string& run) const { return folder_.path() / run; }
  std::string standing_at(const std::string& run, int step) const {
    const fs::path path = find_checkpoint(fmt::format("{}@step-{}", path_of(run).string(), step));
    return checkpoint::CheckpointReader(path).manifest().standing_weights;
  }
  Tensors saved(const std::string& run) const {
    checkpoint::CheckpointReader reader(find_checkpoint(path_of(run)));
    Tensors tensors;
    for (const auto& record : reader.manifest().tensors)
      tensors[record.name] = reader.tensor(record.name);
    return tensors;
  }
  /// The model's tensors as whoever opens the run gets them.
  Tensors opened(const std::string& run, const std::string& weights = {}) const {
    checkpoint::CheckpointReader reader(find_checkpoint(path_of(run)));
    Tensors tensors;
    for (const auto& source : checkpoint::model_tensors(reader, weights))
      tensors[source.name] = source.load();
    return tensors;
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  test::TempFolder folder_;
  test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  std::string log_;
  base::LogRedirection redirection_{[this](base::LogLevel, std::string_view line) {
    log_ += line;
    log_ += '\n';
  }};
};

TEST_F(AveragedRun, EvaluationsMeasureTheAverageUnderTheUsualNames) {
  for (const std::string& strategy : kStrategies) {
    const std::string both = "both-" + strategy;
    const std::string average = "average-" + strategy;
    train(both, {}, strategy);
    train(average, {kAverage}, strategy);
    expect_same_bits(saved(average), saved(both));
    const auto wanted = evaluations(both);
    const auto got = evaluations(average);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got.at(2), renamed(wanted.at(2), "val", "val")) << "there is no average yet";
    for (const int step : {4, 6}) {
      EXPECT_EQ(got.at(step), renamed(wanted.at(step), "val_ema", "val")) << step;
      EXPECT_NE(got.at(step), renamed(wanted.at(step), "val", "val")) << step;
    }
    EXPECT_EQ(standing_at(both, 6), "");
    EXPECT_EQ(standing_at(average, 2), "");
    EXPECT_EQ(standing_at(average, 6), "ema");

    const EvalReport usual = evaluate(average, "", strategy);
    const EvalReport asked = evaluate(both, "ema", strategy);
    EXPECT_EQ(usual.result.values, renamed(asked.result.values, "val_ema", "val"));
    EXPECT_EQ(usual.weights, "ema");
    EXPECT_EQ(evaluate(average, "ema", strategy).result.values, usual.result.values);
    const EvalReport trained = evaluate(average, "trained", strategy);
    const Values of_both = evaluate(both, "", strategy).result.values;
    EXPECT_EQ(trained.result.values, renamed(of_both, "val", "val_trained"));
    EXPECT_EQ(trained.weights, "trained");
    EXPECT_EQ(evaluate(both, "trained", strategy).result.values, of_both);
    EXPECT_NE(usual.result.values, of_both);
  }
}

TEST_F(AveragedRun, GoesOnFromTheTrainedWeightsToTheSameBits) {
  for (const std::string& strategy : kStrategies) {
    const std::string whole = "whole-" + strategy;
    const std::string stopped = "stopped-" + strategy;
    train(whole, {kAverage}, strategy);
    train(stopped, {kAverage, "train.duration=4ba"}, strategy);
    ASSERT_EQ(standing_at(stopped, 4), "ema");
    train(stopped, {kAverage}, strategy);
    expect_same_bits(saved(stopped), saved(whole));
    EXPECT_EQ(evaluations(stopped), evaluations(whole));
  }
}

TEST_F(AveragedRun, MayChangeWhichWeightsAreEvaluatedWhereItGoesOn) {
  train("whole");
  train("changed", {"train.duration=4ba"});
  train("changed", {kAverage});
  expect_same_bits(saved("changed"), saved("whole"));
  EXPECT_EQ(evaluations("changed").at(6), renamed(evaluations("whole").at(6), "val_ema", "val"));
}

TEST_F(AveragedRun, WhoeverOpensACheckpointGetsTheAverage) {
  train("run", {kAverage});
  const Tensors all = saved("run");
  const at::Tensor average = all.at("algorithms.ema/fc.weight");
  const at::Tensor trained = all.at("fc.weight");
  ASSERT_FALSE(at::equal(average, trained));

  const fs::path file = path_of("weights.safetensors");
  const auto exported = [&](const std::string& weights) {
    EXPECT_EQ(export_checkpoint(path_of("run"), weights, file, files_).weights,
              weights.empty() ? "ema" : "");
    const checkpoint::SafetensorsFile content(file);
    EXPECT_EQ(content.metadata().contains("weights"), weights.empty());
    return content.tensor(*content.find("fc.weight")).clone();
  };
  EXPECT_TRUE(at::equal(exported(""), average));
  EXPECT_TRUE(at::equal(exported("trained"), trained));

  const auto started = [&](const std::string& run, Overrides overrides) {
    overrides.insert(overrides.end(), {"model.pretrained=" + path_of("run").string() + "@last",
                                       "optimizer.lr=0", "train.duration=1ba"});
    train(run, overrides);
    return saved(run).at("fc.weight");
  };
  EXPECT_TRUE(at::equal(started("from-it", {}), average));
  EXPECT_THAT(log_, HasSubstr("of the algorithm ema"));
  EXPECT_TRUE(at::equal(started("from-trained", {"+model.pretrained_key=trained"}), trained));

  const auto told = [&](const std::string& weights) {
    const fs::path output = path_of("predicted-" + weights);
    on_ranks(1, [&](const SessionContext& context) {
      run_prediction({{path_of("run"), {}, weights}, output}, context);
    });
    const auto facts = nlohmann::json::parse(base::read_file(output / "predictions.json"));
    return std::pair(facts.at("weights").get<std::string>(),
                     base::read_file(output / "probabilities.npy"));
  };
  const auto usual = told("");
  EXPECT_EQ(usual.first, "ema");
  EXPECT_EQ(usual, told("ema"));
  const auto otherwise = told("trained");
  EXPECT_EQ(otherwise.first, "trained");
  EXPECT_NE(otherwise.second, usual.second);
}

TEST_F(AveragedRun, APhaseStartsFromTheAveragesOfTheOneBefore) {
  for (const std::string& strategy : kStrategies) {
    const std::string run = "phases-" + strategy;
    train(run, {kAverage}, strategy, std::string(kAveraged) + kTwoPhases);
    const Tensors first = saved(phase_folder(path_of(run), "1-first").string());
    const Tensors second = saved(phase_folder(path_of(run), "2-second").string());
    for (const char* name : {"conv1.weight", "layer2.0.bn2.bias", "fc.weight"}) {
      EXPECT_TRUE(at::equal(second.at(name), first.at(fmt::format("algorithms.ema/{}", name))))
          << name;
      EXPECT_FALSE(at::equal(second.at(name), first.at(name))) << name;
    }
  }
}

TEST_F(AveragedRun, TheMeanOfSwaStandsUntilItIsLoaded) {
  const Overrides swa{"~algorithms.ema",
                      "++algorithms.swa={start: 2ba, end: 5ba, interval: 1ba, refresh: always}"};
  Overrides average = swa;
  average.emplace_back("++algorithms.swa.evaluate=average");
  train("both", swa);
  train("average", average);
  expect_same_bits(saved("average"), saved("both"));
  EXPECT_EQ(standing_at("average", 4), "swa");
  EXPECT_EQ(standing_at("average", 6), "") << "it is what is trained";
  EXPECT_EQ(evaluations("average").at(4), renamed(evaluations("both").at(4), "val_swa", "val"));
  EXPECT_EQ(evaluations("average").at(6), renamed(evaluations("both").at(6), "val", "val"));
}

TEST_F(AveragedRun, WeightsThatRestAreTheirOwnAverageToTheBit) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    for (const char* strategy : {"ddp", "zero1", "zero2", "fsdp"}) {
      const std::string run = fmt::format("{}-{}", optimizer, strategy);
      SCOPED_TRACE(run);
      train(run,
            {
                "~algorithms.ema.half_life",
                "++algorithms.ema.smoothing=0.9999",
                "++algorithms.ema.warmup_power=0.6667",
                kAverage,
                fmt::format("optimizer.name={}", optimizer),
                "model.freeze=[stem, layer1]",
                "optimizer.lr_scale={'layer2.*.conv1.*': 0}",
            },
            strategy);
      const Tensors trained = opened(run, "trained");
      for (const auto& [name, average] : opened(run, "ema")) {
        if (name.find("running_") != std::string::npos || name.ends_with("tracked")) continue;
        const bool rests = name.starts_with("conv1.") || name.starts_with("bn1.") ||
                           name.starts_with("layer1.") || name.starts_with("layer2.0.conv1.");
        EXPECT_EQ(at::equal(average, trained.at(name)), rests) << name;
      }
    }
  }
}

TEST_F(AveragedRun, AStageOfACascadeRestsAtItsAverage) {
  const test::CtFiles files{.sides = {24, 12}, .train = 5, .val = 2, .test = 0};
  files.write(folder_, "data");
  for (const auto& [split, count] : {std::pair{"train", files.train}, {"val", files.val}})
    files.write_xrays(folder_, split, count, 16, {0, 90}, "data");  // the same for each stage
  const std::string data = "data.path=" + path_of("data").string();
  train("one", {data}, kNoStrategy, kCascade);
  EXPECT_EQ(evaluate("one", "").result.values, evaluations("one").at(4));
  const Tensors first = saved("one");
  const Overrides second{data, "model.num_stages=2", "data.side=24",
                         "model.pretrained=" + path_of("one").string()};
  for (const std::string& strategy : kStrategies) {
    const std::string run = "two-" + strategy;
    train(run, second, strategy, kCascade);
    const Tensors trained = saved(run);
    const Tensors averages = opened(run);
    int num_resting = 0;
    for (const auto& [name, average] : averages) {
      if (!name.starts_with("stages.0.")) {
        EXPECT_FALSE(at::equal(average, trained.at(name))) << name;
        continue;
      }
      ++num_resting;
      EXPECT_TRUE(at::equal(average, first.at("algorithms.ema/" + name))) << name;
      EXPECT_TRUE(at::equal(average, trained.at(name))) << name;
      EXPECT_FALSE(trained.contains("algorithms.ema/" + name)) << name << " is nobody's average";
    }
    EXPECT_GT(num_resting, 10);
    // Against the means of a finer truth; that of the trained weights is 0.3 dB away.
    EXPECT_NEAR(evaluations(run).at(4).at("val/psnr_stage1"),
                evaluations("one").at(4).at("val/psnr"), 0.05);
  }
}

}  // namespace
}  // namespace paceline::app
