// Runs that learn from a teacher, which fsdp and hsdp hold in pieces, as from a whole one.

#include "paceline/app/memory_estimate.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/app/session.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/parse.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using Lines = std::vector<std::string>;

const std::string kSizes =
    "num_classes: 5, img_size: 16, patch_size: 8, embed_dim: 32, depth: 3, num_heads: 2}";
constexpr int kRanks = 2;

class DistillationRun : public ::testing::Test {
 protected:
  DistillationRun() {
    const auto teacher = registries_->models.build(config::bind_component(
        *registries_->models.find("vit"), config::parse_value("{" + kSizes, "teacher"),
        registries_->context(/*world_size=*/1)));
    teacher->initialize(7);
    checkpoint::export_weights(files_, weights_, checkpoint::named_tensors(*teacher));
  }

  /// 11 images in batches of 5: the last of an epoch leaves a rank without samples.
  LoadedRecipe load(const std::string& strategy, Lines overrides = {}) const {
    overrides.insert(overrides.end(), {"data.num_samples=11", "parallel.strategy=" + strategy,
                                       "++algorithms.distillation.weights=" + weights_,
                                       "++algorithms.distillation.teacher={name: vit, " + kSizes});
    return load_recipe(folder_.write("recipe.yaml", kRaggedVit), overrides, *registries_, kRanks);
  }

  void train(const LoadedRecipe& loaded, const std::string& run, std::int64_t last_step) {
    const bool is_resuming = std::filesystem::exists(folder_.path() / run);
    test::run_ranks(kRanks, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, kRanks},
                      SessionChanges::at_most(last_step, loaded.recipe));
      const RunDirectory directory =
          attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator);
      session.trainer().fit();
    });
  }

  /// Of each step, in full.
  Lines losses(const std::string& run) const {
    Lines found;
    std::istringstream metrics(base::read_file(folder_.path() / run / "metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);) {
      const nlohmann::json logged = nlohmann::json::parse(line);
      if (logged.contains("train/loss")) found.push_back(logged["train/loss"].dump());
    }
    return found;
  }

  test::TempFolder folder_;
  std::string weights_ = (folder_.path() / "teacher.safetensors").string();
  std::unique_ptr<Registries> registries_ = make_registries();
  test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

TEST_F(DistillationRun, LosesAsMuchByATeacherInPiecesAsByAWholeOne) {
  train(load("zero2"), "whole", 6);  // whose own network is in pieces, as theirs
  const Lines wanted = losses("whole");
  ASSERT_EQ(wanted.size(), 6u);
  for (const std::string strategy : {"fsdp", "hsdp"}) {
    SCOPED_TRACE(strategy);
    train(load(strategy), strategy, 6);
    EXPECT_EQ(losses(strategy), wanted);
    train(load(strategy), strategy + "_stopped", 2);
    train(load(strategy), strategy + "_stopped", 6);
    EXPECT_EQ(losses(strategy + "_stopped"), wanted);
  }
}

TEST_F(DistillationRun, CheckpointsLeaveTheTeacherOut) {
  train(load("fsdp"), "with", 2);
  const auto loaded = load_recipe(folder_.write("recipe.yaml", kRaggedVit),
                                  Lines{"parallel.strategy=fsdp"}, *registries_, kRanks);
  train(loaded, "without", 2);
  const auto names = [&](const std::string& run) {
    Lines found;
    const checkpoint::CheckpointReader reader(find_checkpoint(folder_.path() / run));
    for (const auto& tensor : reader.manifest().tensors) found.push_back(tensor.name);
    return found;
  };
  EXPECT_EQ(names("with"), names("without"));
}

TEST_F(DistillationRun, MemoryCountsTheTeachersPart) {
  const auto bytes = [&](const std::string& strategy, int ranks) {
    const Recipe recipe =
        load(strategy, {"parallel.fsdp.prefetch=0", "data.global_batch_size=8"}).recipe;
    return estimate_memory(recipe, *registries_, ask_about(recipe, *registries_, ranks, ranks))
        .algorithms;
  };
  const std::uint64_t whole = bytes("ddp", 8);
  EXPECT_EQ(bytes("zero2", 8), whole);
  EXPECT_LT(bytes("fsdp", 8), 0.6 * static_cast<double>(whole));  // an eighth, and a block of three
  EXPECT_LT(bytes("fsdp", 8), bytes("fsdp", 2));
}

}  // namespace
}  // namespace paceline::app
