// Tries of a batch on real recipes: what they measure, and what the search makes of it.

#include "paceline/app/step_probe.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/local/local_group.h"
#include "paceline/config/load.h"
#include "paceline/tensor/memory_count.h"
#include "support/temp_folder.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 34;
constexpr std::int64_t kMostTried = 192;

constexpr const char* kTriedVit = R"(
model:     {name: vit, img_size: 16, patch_size: 4, embed_dim: 32, depth: 2, num_heads: 2}
data:      {name: synthetic, num_samples: 1024, num_val_samples: 256, num_classes: 5, size: 16,
            num_threads: 1}
optimizer: {name: adamw, lr: 0.01}
)";

class StepProbeTest : public ::testing::Test {
 protected:
  Recipe recipe(const std::vector<std::string>& overrides = {}) {
    return config::load<Recipe>(folder_.write("recipe.yaml", kTriedVit), overrides,
                                {registries_->catalogs(), 1})
        .value;
  }
  ProbeOutcome run(std::int64_t samples, std::uint64_t limit,
                   const std::vector<std::string>& overrides = {}) {
    return StepProbe(recipe(overrides), context_, limit).run(samples);
  }

  test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
  base::RealFileSystem files_;
  base::Interruption interruption_;
  const comm::LocalGroup group_{1};
  std::unique_ptr<comm::Communicator> communicator_ = group_.join(0);
  const SessionContext context_{*registries_, *communicator_, files_, interruption_};
};

TEST_F(StepProbeTest, MeasuresTheSameEachTimeAndLeavesNothing) {
  const ProbeOutcome first = run(16, kPlenty);
  const std::int64_t held = tensor::tensor_memory().current;
  const ProbeOutcome again = run(16, kPlenty);
  EXPECT_TRUE(first.fits);
  EXPECT_NEAR(again.bytes, first.bytes, 0.002 * first.bytes);
  EXPECT_EQ(tensor::tensor_memory().current, held);
}

TEST_F(StepProbeTest, RefusesWhatIsMoreThanTheLimit) {
  const auto needed = static_cast<std::uint64_t>(run(64, kPlenty).bytes);
  const std::int64_t held = tensor::tensor_memory().current;
  EXPECT_TRUE(run(64, needed + needed / 100).fits);
  const ProbeOutcome refused = run(64, needed - needed / 10);
  EXPECT_FALSE(refused.fits);
  EXPECT_GT(refused.bytes, static_cast<double>(needed - needed / 10));
  EXPECT_FALSE(run(64, 1024).fits) << "not even the state";
  EXPECT_EQ(tensor::tensor_memory().current, held);
}

TEST_F(StepProbeTest, KnowsWhatIsStateWhateverTheBatch) {
  StepProbe probe(recipe(), context_, kPlenty);
  probe.run(8);
  const std::uint64_t few = probe.state_bytes();
  probe.run(64);
  EXPECT_EQ(probe.state_bytes(), few);
  EXPECT_GT(probe.input_bytes_per_sample(), 3.0 * 16 * 16 * sizeof(float));
}

TEST_F(StepProbeTest, CountsWhatACheckpointIsWrittenFromAndWhatRecomputingSaves) {
  const double all = run(8, kPlenty).bytes;
  EXPECT_LT(run(8, kPlenty, {"checkpoint.every=null"}).bytes, all);
  const double large = run(64, kPlenty).bytes;
  EXPECT_LT(run(64, kPlenty, {"train.activation_checkpointing={every: 1}"}).bytes, large);
}

TEST_F(StepProbeTest, TakesTheLargestImagesOfTheRun) {
  const double whole = run(32, kPlenty).bytes;
  const std::vector<std::string> growing{"model={name: resnet18, num_classes: 5}",
                                         "data.progressive_resizing={start_size: 8, increment: 8}"};
  const std::vector<std::string> large{"model={name: resnet18, num_classes: 5}"};
  EXPECT_NEAR(run(32, kPlenty, growing).bytes, run(32, kPlenty, large).bytes, 0.01 * whole);
}

/// Beside trying every size.
TEST_F(StepProbeTest, TheSearchFindsWhatTryingEverythingFinds) {
  std::map<std::int64_t, double> bytes;
  for (std::int64_t samples = 8; samples <= kMostTried; samples += 8)
    bytes[samples] = run(samples, kPlenty).bytes;
  for (const std::int64_t target : {8, 24, 56, 120, 184}) {
    SCOPED_TRACE(target);
    const auto limit = static_cast<std::uint64_t>(0.5 * (bytes[target] + bytes[target + 8]));
    StepProbe probe(recipe(), context_, limit);
    const BatchSearch search = search_batch(
        *communicator_, static_cast<double>(limit), kMostTried,
        [&](std::int64_t samples) { return probe.run(samples); },
        [](const BatchTry&, const std::string&) {});
    EXPECT_LE(search.found(), target);
    EXPECT_GE(search.found(), target - 8);
    EXPECT_GE(static_cast<double>(search.found()) / static_cast<double>(target),
              target >= 56 ? 0.97 : 0.5);
    EXPECT_LE(search.tries().size(), 8U);
  }
}

}  // namespace
}  // namespace paceline::app
