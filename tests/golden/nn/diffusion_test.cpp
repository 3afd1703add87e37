// Noise, its weights and sampling against diffusers; see make_diffusion.py.

#include "paceline/nn/diffusion/ddim.h"
#include "support/parity.h"
#include "support/small_net.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::nn {
namespace {

using nlohmann::json;
using paceline::test::wave;

const std::vector<std::int64_t> kSampleSizes{5, 2, 3};

const json& diffusion_golden() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/diffusion.json"));
  return numbers;
}

void expect_diffusers(const char* quantity, const at::Tensor& got, const json& wanted,
                      double tolerance = 1e-11) {
  const auto values = wanted.get<std::vector<double>>();
  ASSERT_EQ(static_cast<std::size_t>(got.numel()), values.size());
  const at::Tensor flat = got.flatten();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = flat[static_cast<std::int64_t>(i)].item<double>();
    EXPECT_NEAR(value, values[i], tolerance) << quantity << " " << i;
    paceline::test::note_difference("diffusion, float64", quantity, std::abs(value - values[i]));
  }
}

at::Tensor golden_steps() {
  return at::tensor(diffusion_golden()["steps"].get<std::vector<std::int64_t>>(), at::kLong);
}

StepSpacing spacing_of(const std::string& name) {
  return name == "trailing" ? StepSpacing::kTrailing : StepSpacing::kLinspace;
}

TEST(GoldenDiffusion, NoiseVelocityAndWeightsAreDiffusers) {
  const NoiseSchedule schedule;
  const json& golden = diffusion_golden();
  const at::Tensor samples = wave(kSampleSizes, 0, at::kDouble);
  const at::Tensor noise = 2 * wave(kSampleSizes, 1, at::kDouble);
  const at::Tensor steps = golden_steps();
  expect_diffusers("kept", schedule.kept_at(at::arange(1000), 1), golden["kept"]);
  const at::Tensor noisy = add_noise(schedule, samples, noise, steps);
  expect_diffusers("noisy samples", noisy, golden["noisy"]);
  expect_diffusers("velocity", velocity(schedule, samples, noise, steps), golden["velocity"]);
  expect_diffusers("velocity of samples", velocity_of_samples(schedule, noisy, samples, steps),
                   golden["velocity"]);
  expect_diffusers("weights", velocity_weights(schedule, steps, 5.0), golden["weights"],
                   1e-7);  // theirs are computed in float32
}

TEST(GoldenDiffusion, StopsWhereDiffusersDoes) {
  const NoiseSchedule schedule;
  for (const auto& [name, wanted] : diffusion_golden()["spacings"].items()) {
    const auto space = name.find(' ');
    EXPECT_EQ(
        sampling_steps(schedule, std::stoll(name.substr(space)), spacing_of(name.substr(0, space))),
        wanted.get<std::vector<std::int64_t>>())
        << name;
  }
}

TEST(GoldenDiffusion, SamplesAreDiffusers) {
  const NoiseSchedule schedule;
  const Denoise denoise = [](const at::Tensor& noisy, std::int64_t step) {
    return 0.8 * noisy.tanh() +
           0.6 * wave(kSampleSizes, 5 + static_cast<double>(step), at::kDouble);
  };
  for (const json& each : diffusion_golden()["sampled"]) {
    SCOPED_TRACE(each["spacing"].dump() + each["count"].dump());
    const auto steps = sampling_steps(schedule, each["count"], spacing_of(each["spacing"]));
    expect_diffusers("samples",
                     sample_ddim(schedule, 3 * wave(kSampleSizes, 2, at::kDouble), steps, denoise),
                     each["samples"]);
  }
}

}  // namespace
}  // namespace paceline::nn
