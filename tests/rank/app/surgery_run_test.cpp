#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/export/export_run.h"
#include "paceline/app/memory_estimate.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What an algorithm did to a network stays with its weights, whoever reads them.

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr const char* kSmallRecipe = R"(
run:        {seed: 3}
model:      {name: resnet18}
data:       {name: synthetic, num_samples: 8, num_val_samples: 6, num_classes: 3, size: 32,
             image_size: 32, global_batch_size: 4, num_threads: 1}
train:      {duration: 2ba, eval_every: 2ba}
optimizer:  {name: sgd, lr: 0.01}
checkpoint: {every: 2ba, keep_best: 0, async: false}
loggers:    {jsonl: }
)";

class SurgeryRun : public ::testing::Test {
 protected:
  void train(const fs::path& run, const std::vector<std::string>& overrides,
             const std::optional<std::string>& resume = std::nullopt) {
    TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kSmallRecipe);
    request.overrides = overrides;
    request.run_directory = run;
    request.resume = resume;
    paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
      run_training(request, {*registries_, communicator, files_, interruption_, 1, 2, 2});
    });
  }
  double evaluate(const fs::path& run, const std::vector<std::string>& overrides = {}) {
    double loss = -1;
    paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
      const auto report = run_evaluation({run, overrides, {}},
                                         {*registries_, communicator, files_, interruption_, 1});
      if (communicator.rank() == 0) loss = report->result.values.at("val/loss");
    });
    return loss;
  }
  static checkpoint::SurgeryRecord record_of(const fs::path& run) {
    return checkpoint::CheckpointReader(find_checkpoint(run)).manifest().surgery.value();
  }
  static double trained_loss(const fs::path& run) {
    const auto summary = nlohmann::json::parse(base::read_file(run / "summary.json"));
    return summary.at("metrics").at("val/loss");
  }

  paceline::test::TempFolder folder_;
  fs::path run_ = folder_.path() / "run";
  fs::path next_ = folder_.path() / "next";
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  std::unique_ptr<Registries> registries_ = make_registries();
  std::string log_;
  base::LogRedirection redirection_{
      [this](base::LogLevel, std::string_view line) { (log_ += line) += '\n'; }};
};

const std::vector<std::string> kBlur{"++algorithms.blurpool.min_channels=32"};

TEST_F(SurgeryRun, AnEvaluationRebuildsTheNetwork) {
  train(run_, kBlur);
  const auto record = record_of(run_);
  ASSERT_EQ(record.size(), 1u);
  EXPECT_EQ(record[0].algorithm, "blurpool");
  EXPECT_THAT(record[0].options, HasSubstr("min_channels: 32"));
  EXPECT_EQ(record[0].layers.at("max-pools"), std::vector<std::string>{"maxpool"});
  EXPECT_NEAR(evaluate(run_), trained_loss(run_), 1e-6);
  EXPECT_NEAR(evaluate(run_, kBlur), trained_loss(run_), 1e-6) << "says the same once more";
  for (const char* other : {"algorithms.blurpool.min_channels=64", "~algorithms.blurpool"}) {
    EXPECT_THAT([&] { evaluate(run_, {other}); },
                ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.blurpool")))
        << other;
  }
  train(next_, {});
  EXPECT_EQ(record_of(next_), checkpoint::SurgeryRecord());
  EXPECT_THAT([&] { evaluate(next_, kBlur); },
              ThrowsMessage<base::ConfigError>(HasSubstr("it was not there")));
}

TEST_F(SurgeryRun, ANewRunFromItsWeightsHasItsNetwork) {
  train(run_, kBlur);
  const std::string from = "model.pretrained=" + run_.string() + "@last";
  const std::vector<std::string> tuned{from, "optimizer.lr=0"};
  train(next_, tuned);
  EXPECT_THAT(log_, HasSubstr("the network is changed as that of the weights was: blurpool"));
  EXPECT_EQ(record_of(next_), record_of(run_));
  EXPECT_NEAR(evaluate(next_), trained_loss(next_), 1e-6);
  fs::remove_all(run_);
  train(next_, {from, "optimizer.lr=0", "train.duration=4ba"}, "auto");
  EXPECT_EQ(record_of(next_).size(), 1u) << "its own checkpoint tells";
  EXPECT_NEAR(evaluate(next_), trained_loss(next_), 1e-6);
}

TEST_F(SurgeryRun, ExportedWeightsBringItAlong) {
  train(run_, kBlur);
  const fs::path file = folder_.path() / "weights.safetensors";
  const ExportReport report = export_checkpoint(run_, "", file, files_);
  EXPECT_EQ(report.surgery, record_of(run_));
  EXPECT_EQ(checkpoint::surgery_of_weights(file), report.surgery);
  train(next_, {"model.pretrained=" + file.string()});
  EXPECT_EQ(record_of(next_), report.surgery);
  EXPECT_THAT(
      [&] {
        train(folder_.path() / "other",
              {"model.pretrained=" + file.string(), "++algorithms.blurpool.min_channels=64"});
      },
      ThrowsMessage<base::ConfigError>(AllOf(HasSubstr(file.string()), HasSubstr("blurpool"))));
}

TEST_F(SurgeryRun, LayersThatWereAddedAreReadWithTheRest) {
  const std::vector<std::string> excite{
      "++algorithms.squeeze_excite={min_channels: 512, latent_channels: 4}"};
  const auto added = [](const fs::path& run) {
    checkpoint::CheckpointReader reader(find_checkpoint(run));
    return reader.tensor("layer4.1.conv1.se.fc1.weight");
  };
  train(run_, excite);
  EXPECT_EQ(record_of(run_).at(0).layers.at("convolutions").size(), 3u);
  EXPECT_NEAR(evaluate(run_), trained_loss(run_), 1e-6);
  train(next_, {"model.pretrained=" + run_.string() + "@last", "optimizer.lr=0"});
  EXPECT_EQ(record_of(next_), record_of(run_));
  EXPECT_TRUE(added(next_).equal(added(run_)));
  EXPECT_THAT(log_, Not(HasSubstr("kept as initialised")));

  const fs::path plain = folder_.path() / "plain";
  const fs::path widened = folder_.path() / "widened";
  train(plain, {"train.duration=1ba"});
  std::vector<std::string> from_plain = excite;
  from_plain.push_back("model.pretrained=" + plain.string() + "@last");
  train(widened, from_plain);
  EXPECT_THAT(log_, HasSubstr("6 tensors that were added since are not in the file"));
  EXPECT_FALSE(added(widened).equal(added(run_))) << "it learnt something else";
}

std::vector<std::string> factors_by(const std::string& init) {
  return {"++algorithms.factorize={min_channels: 256, min_features: 3, latent_features: 2, init: " +
          init + "}"};
}

TEST_F(SurgeryRun, FactorsStayWithTheirWeights) {
  const auto tensor_of = [](const fs::path& run, const char* name) {
    checkpoint::CheckpointReader reader(find_checkpoint(run));
    return reader.tensor(name);
  };
  train(run_, factors_by("svd"));
  const auto layers = record_of(run_).at(0).layers;
  EXPECT_EQ(layers.at("convolutions").size(), 8u);
  EXPECT_EQ(layers.at("linear layers"), std::vector<std::string>{"fc"});
  EXPECT_NEAR(evaluate(run_), trained_loss(run_), 1e-6);
  const std::string from = "model.pretrained=" + run_.string() + "@last";
  train(next_, {from, "optimizer.lr=0"});
  EXPECT_EQ(record_of(next_), record_of(run_));
  EXPECT_THAT(log_, Not(HasSubstr("kept as initialised")));
  for (const char* name : {"layer4.1.conv1.to_latent.weight", "layer4.1.conv1.weight", "fc.bias"})
    EXPECT_TRUE(tensor_of(next_, name).equal(tensor_of(run_, name))) << name;

  const fs::path exported = folder_.path() / "weights.safetensors";
  export_checkpoint(run_, "", exported, files_);
  const fs::path few = folder_.path() / "few";
  train(few, {"model.pretrained=" + exported.string(), "data.num_classes=2", "optimizer.lr=0"});
  EXPECT_EQ(record_of(few).at(0).layers.count("linear layers"), 0u) << "saves nothing now";
  EXPECT_TRUE(tensor_of(few, "layer4.1.conv1.to_latent.weight")
                  .equal(tensor_of(run_, "layer4.1.conv1.to_latent.weight")));
}

TEST_F(SurgeryRun, WeightsWithoutFactorsAreTakenApart) {
  train(run_, {});
  const auto from_plain = [&](const fs::path& run, const std::string& init) {
    std::vector<std::string> factorized = factors_by(init);
    factorized.push_back("model.pretrained=" + run_.string() + "@last");
    train(run, factorized);
  };
  from_plain(next_, "svd");
  EXPECT_THAT(log_, HasSubstr("factorize: 8 convolutions and 1 linear layers"));
  EXPECT_THAT([&] { from_plain(folder_.path() / "other", "fresh"); },
              ThrowsMessage<base::ConfigError>(AllOf(
                  HasSubstr("init: fresh"), HasSubstr("and 6 more"), HasSubstr("init: svd"))));
}

TEST_F(SurgeryRun, FactorsTakeLessMemory) {
  const auto parameters = [&](const std::vector<std::string>& overrides) {
    const Recipe recipe =
        load_recipe(folder_.write("recipe.yaml", kSmallRecipe), overrides, *registries_, 1).recipe;
    const MemoryQuestion question = ask_about(recipe, *registries_, 1, 1);
    return estimate_memory(recipe, *registries_, question).parameters;
  };
  EXPECT_EQ(parameters(factors_by("fresh")), parameters(factors_by("svd")));
  EXPECT_LT(parameters(factors_by("svd")), parameters({}) / 2);
}

TEST_F(SurgeryRun, TheMemoryOfANewRunIsThatOfItsNetwork) {
  train(run_, kBlur);
  const auto activations = [&](const std::vector<std::string>& overrides) {
    const Recipe recipe =
        load_recipe(folder_.path() / "recipe.yaml", overrides, *registries_, 1).recipe;
    const MemoryQuestion question = ask_about(recipe, *registries_, 1, 1);
    return static_cast<double>(estimate_memory(recipe, *registries_, question).activations);
  };
  const double plain = activations({});
  const double blurred = activations(kBlur);
  EXPECT_GT(blurred, 1.01 * plain);
  EXPECT_NEAR(activations({"model.pretrained=" + run_.string()}) / blurred, 1, 0.01);
}

TEST_F(SurgeryRun, AResumeWithAnotherNetworkIsRefused) {
  train(run_, kBlur);
  const std::string manifest = base::read_file(find_checkpoint(run_) / "manifest.json");
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{}, {"++algorithms.blurpool.min_channels=64"}}) {
    EXPECT_THAT([&] { train(run_, other, "auto"); },
                ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.blurpool")));
  }
  EXPECT_EQ(base::read_file(find_checkpoint(run_) / "manifest.json"), manifest);
  train(next_, {});
  EXPECT_THAT([&] { train(next_, kBlur, "auto"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.blurpool: was absent")));
}

TEST_F(SurgeryRun, AnAlgorithmThatMayComesAndGoes) {
  const std::vector<std::string> average{"++algorithms.ema.half_life=1ba", "train.duration=4ba",
                                         "++algorithms.mixup.alpha=1"};
  train(run_, {});
  train(run_, average, "auto");
  EXPECT_THAT(log_, AllOf(HasSubstr("note: algorithms.ema: was absent, is {"),
                          HasSubstr("note: algorithms.mixup: was absent, is {")));
  checkpoint::CheckpointReader with(find_checkpoint(run_));
  EXPECT_NE(with.find("algorithms.ema/fc.weight"), nullptr);
  train(run_, {"train.duration=6ba"}, "auto");
  EXPECT_THAT(log_, HasSubstr("note: algorithms.ema: was {"));
  checkpoint::CheckpointReader without(find_checkpoint(run_));
  EXPECT_EQ(without.manifest().step, 6);
  EXPECT_EQ(without.find("algorithms.ema/fc.weight"), nullptr);
}

}  // namespace
}  // namespace paceline::app
