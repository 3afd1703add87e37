// Running statistics that each rank keeps are part of what a run resumes from.

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/train/run_state.h"
#include "paceline/train/trainer.h"
#include "rank/app/attached_session.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kKeptBuffersRecipe = R"(
run:        {seed: 3}
model:      {name: resnet18, stem: small}
data:       {name: synthetic, num_samples: 16, num_val_samples: 4, num_classes: 5, size: 16,
             image_size: 16, global_batch_size: 4, num_threads: 1}
train:      {duration: 90ep, eval_every: 1ba}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: 90ep, keep_best: 0}
parallel:   {ddp: {buffers: keep}, fsdp: {buffers: keep}}
)";

class KeptBuffers : public ::testing::TestWithParam<std::string> {
 protected:
  /// Each rank's state, by name, and what it evaluated to, at the end of a step.
  using State = std::vector<std::map<std::string, at::Tensor>>;

  State train(const std::string& run, int world_size, std::int64_t last_step,
              const std::string& buffers = "keep") {
    const LoadedRecipe loaded = load_recipe(
        folder_.write("recipe.yaml", kKeptBuffersRecipe),
        std::vector{"parallel.strategy=" + GetParam(), "parallel.ddp.buffers=" + buffers,
                    "parallel.fsdp.buffers=" + buffers},
        *registries_, world_size);
    const bool is_resuming = fs::exists(folder_.path() / run);
    State state(static_cast<std::size_t>(world_size));
    paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                      SessionChanges::at_most(last_step, loaded.recipe));
      const RunDirectory directory =
          attach(session, folder_.path() / run, is_resuming, loaded, files_, communicator);
      session.trainer().fit();
      auto& own = state.at(static_cast<std::size_t>(communicator.rank()));
      for (const tensor::StateShard& shard : train::state_shards(session.state()))
        own[shard.name] = shard.data.clone();
      own["val/loss"] = at::scalar_tensor(session.state().last_eval.at("val/loss"), at::kDouble);
    });
    return state;
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  paceline::test::TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  base::Interruption interruption_;
  std::vector<std::string> warnings_;
  base::LogRedirection redirection_{[this](base::LogLevel level, std::string_view text) {
    if (level == base::LogLevel::kWarning) warnings_.emplace_back(text);
  }};
};

TEST_P(KeptBuffers, OfEachRankResumeToTheSameBits) {
  const State whole = train("whole", 2, 4);
  EXPECT_FALSE(whole[0].at("bn1.running_mean").equal(whole[1].at("bn1.running_mean")));
  train("stopped", 2, 2);
  const State resumed = train("stopped", 2, 4);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const auto& [name, value] : whole[rank]) {
      EXPECT_TRUE(value.equal(resumed[rank].at(name))) << name << " of rank " << rank;
    }
  }
}

TEST_P(KeptBuffers, AreRankZerosOnAnotherNumberOfRanks) {
  const State saved = train("run", 2, 1);
  const State resumed = train("run", 4, 1);
  for (const auto& own : resumed) {
    EXPECT_TRUE(own.at("bn1.running_mean").equal(saved[0].at("bn1.running_mean")));
  }
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("rank 0's buffers")));
}

TEST_P(KeptBuffers, AreLeftOutWhereTheyAreNotWanted) {
  train("run", 2, 1);
  checkpoint::CheckpointReader reader(find_checkpoint(folder_.path() / "run"));
  for (const auto& tensor : checkpoint::model_tensors(reader)) {
    EXPECT_FALSE(tensor.name.starts_with(tensor::kRankBuffers)) << tensor.name;
  }
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const LoadedRecipe loaded =
        load_recipe(folder_.write("recipe.yaml", kKeptBuffersRecipe),
                    std::vector<std::string>{"parallel.strategy=none"}, *registries_, 1);
    Session session(loaded.recipe, {*registries_, communicator, files_, interruption_, 1},
                    SessionChanges::at_most(1, loaded.recipe));
    load_checkpoint(reader, train::state_shards(session.state()), checkpoint::ExtraTensors::kRefuse,
                    communicator);
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, KeptBuffers, ::testing::Values("ddp", "fsdp"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace paceline::app
