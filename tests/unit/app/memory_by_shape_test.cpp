#include "paceline/app/memory_by_shape.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/memory_estimate.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/config/load.h"
#include "paceline/train/shaped_task.h"
#include "support/temp_folder.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr const char* kCascade = R"(
model:
  name: ct_cascade
  stages:
    - {volume_size: 16, patch: 4, dim: 64, depth: 2, heads: 2}
    - {volume_size: 32, patch: 4, dim: 96, depth: 2, heads: 3}
    - {volume_size: 64, patch: 8, dim: 128, depth: 3, heads: 2}
  num_stages: 1
  xray_size: 64
  xray_dim: 64
task:       {name: ct_diffusion}
data:       {name: ct, path: nowhere, batch_size_per_rank: 2}
optimizer:  {name: adamw, lr: 1.0e-4}
train:      {precision: fp32, duration: 1ep}
)";

class MemoryByShapeTest : public ::testing::Test {
 protected:
  void expect_as_measured(const std::vector<std::string>& overrides, double tolerance = 0.1) {
    const Recipe recipe = config::load<Recipe>(folder_.write("recipe.yaml", kCascade), overrides,
                                               {registries_->catalogs(), 1})
                              .value;
    const auto task = make_task(recipe, *registries_);
    const auto& shaped = dynamic_cast<const train::ShapedTask&>(*task);
    const ActivationBytes measured =
        measure_activations(recipe, *registries_, shaped.sample_fields());
    for (const std::int64_t samples : {2, 4}) {
      const double found = static_cast<double>(measured.of(samples));
      const double told = static_cast<double>(
          shaped.pass_bytes(pass_options(recipe, samples, /*is_on_gpu=*/false)));
      EXPECT_NEAR(told / found, 1.0, tolerance)
          << fmt::format("{} bytes of {} samples by shape, {} measured: {}", told, samples, found,
                         fmt::join(overrides, " "));
    }
  }

  test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(MemoryByShapeTest, IsAsMeasured) {
  const std::vector<std::vector<std::string>> recipes{
      {},
      {"train.precision=bf16"},
      {"model.num_stages=2"},
      {"model.num_stages=2", "train.precision=bf16"},
      {"model.num_stages=3"},
      {"model.num_stages=2", "train.precision=fp64"},
      {"model.num_stages=3", "train.activation_checkpointing={every: 1}"},
      {"model.num_stages=3", "train.activation_checkpointing={every: 1, keep: matmuls}"},
      {"model.num_stages=2", "model.fused=off"},
      {"model.num_stages=2", "model.fused=off", "train.precision=bf16"},
      {"model.num_stages=2", "model.xray_size=128", "model.xray_dim=128"},
      {"model.num_stages=2", "model.xray_size=128", "model.xray_dim=128", "train.precision=bf16"},
      {"model.num_stages=2", "model.share_view_weights=true", "model.xray_pool=2"},
      {"model.num_stages=2", "model.view_angles=[0, 45]", "data.geometry.angles=[0, 45]"},
      {"model.num_stages=3", "task.physics_weight=0"},
  };
  for (const auto& overrides : recipes) expect_as_measured(overrides);
}

// On the way back oneDNN adds up what bfloat16 convolutions of volumes give in float32, in memory
// of its own, which is none of a pass's tensors; in the largest stage that is up to a quarter.
TEST_F(MemoryByShapeTest, LeavesOutWhatLibrariesTake) {
  for (const char* const every : {"null", "{every: 1}", "{every: 2}"}) {
    expect_as_measured({"model.num_stages=3", "train.precision=bf16",
                        fmt::format("train.activation_checkpointing={}", every)},
                       0.3);
  }
}

}  // namespace
}  // namespace paceline::app
