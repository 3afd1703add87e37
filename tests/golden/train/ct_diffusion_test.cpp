// The loss of task ct_diffusion and its gradient, against PyTorch; see make_ct_diffusion.py.

#include "paceline/train/tasks/volume/ct_diffusion.h"

#include "golden/models/reference_expectations.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/models/ct_cascade/ct_cascade.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

using nlohmann::json;

constexpr std::int64_t kPatients = 3;
constexpr std::int64_t kGoldenSide = 6;
constexpr std::int64_t kGoldenXrays = 24;

// The numbers of the script's inputs.
enum DiffusionNumber : std::uint32_t {
  kMadeNumber = 1'000'021,
  kVolumesNumber = 1'000'022,
  kXraysNumber = 1'000'024,
};

at::Tensor golden_input(std::uint32_t number, std::vector<std::int64_t> sizes) {
  const at::Tensor values = at::empty(sizes, at::kDouble);
  models::fill_reference(values, number, 2.0, 0.0);
  return values;
}

std::unique_ptr<CtDiffusion> golden_task(const json& golden, const json& wanted) {
  CtDiffusionConfig config{.physics_weight = wanted.at("physics_weight")};
  config.min_snr_gamma = std::nullopt;
  if (!wanted.at("gamma").is_null()) config.min_snr_gamma = wanted.at("gamma").get<double>();
  auto task =
      std::make_unique<CtDiffusion>(std::make_shared<models::CtCascade>(models::CtCascadeConfig{
                                        .stages = {{kGoldenSide, /*patch=*/3, 16, 1, 1}},
                                        .xray_size = kGoldenXrays,
                                        .xray_dim = 64}),
                                    config);
  data::CtConfig data;
  data.hu_window = golden.at("window");
  data.full_scale = golden.at("full_scale");
  task->take_constants(data::ct_constants(data, /*fov_mm=*/400));
  return task;
}

TEST(GoldenCtDiffusion, Loss) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/ct_diffusion.json"));
  const std::vector<std::int64_t> cubes{kPatients, kGoldenSide, kGoldenSide, kGoldenSide};
  Batch batch;
  batch.size = kPatients;
  batch.fields.set(kVolume, golden_input(kVolumesNumber, cubes));
  batch.fields.set(kXrays, golden_input(kXraysNumber, {kPatients, 2, kGoldenXrays, kGoldenXrays}));
  const std::string component = "task ct_diffusion, float64";
  ASSERT_EQ(golden.at("cases").size(), 4U);
  for (const auto& [name, wanted] : golden.at("cases").items()) {
    SCOPED_TRACE(name);
    const auto task = golden_task(golden, wanted);
    const at::Tensor made = golden_input(kMadeNumber, cubes).requires_grad_();
    const at::Tensor steps = at::tensor(golden.at("steps").get<std::vector<std::int64_t>>());
    const auto parts = task->loss_parts(made, steps, batch);
    const at::Tensor loss =
        task->loss({{"diffusion", parts.diffusion}, {"physics", parts.physics}}, batch);
    loss.backward();
    models::expect_values({component, "loss"}, loss, json::array({wanted.at("loss")}), 1e-10);
    models::expect_values({component, "gradient"}, made.grad(), wanted.at("gradient"), 1e-10);
    models::expect_values({component, "parts of the loss"},
                          at::stack({parts.diffusion.sum(), parts.physics.sum()}),
                          wanted.at("parts"), 1e-10);
  }
}

}  // namespace
}  // namespace paceline::train
