#include "paceline/models/ct_cascade/ct_cascade.h"

#include "golden/models/reference_expectations.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;

// The numbers of make_ct_cascade.py's inputs.
enum CascadeNumber : std::uint32_t {
  kCascadeXrays = 1'000'011,
  kCascadeNoisy,
  kCascadePrevious,
  kCascadeCondition,
  kCascadeTokens,
  kCascadeKeysValues,
  kCascadeLoss,
};

json read_cascade_golden() {
  return json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/ct_cascade.json"));
}

at::Tensor cascade_values(std::uint32_t number, std::vector<std::int64_t> sizes,
                          at::ScalarType dtype = at::kDouble) {
  const at::Tensor values = at::empty(sizes, dtype);
  fill_reference(values, number, 2.0, 0.0);
  return values.set_requires_grad(true);
}

/// Backward of the sum of what is put out, each number times its weight.
void cascade_backward(const at::Tensor& output) {
  const at::Tensor weights =
      cascade_values(kCascadeLoss, output.sizes().vec(), output.scalar_type()).detach();
  (output * weights).sum().backward();
}

void expect_told(const std::string& component, const std::string& quantity, const at::Tensor& got,
                 std::uint32_t number, const json& wanted, double tolerance) {
  SCOPED_TRACE(quantity);
  expect_summary({component, quantity}, got, number, wanted, tolerance, 0.0);
}

void expect_cascade_gradients(const std::string& component, const torch::nn::Module& module,
                              const json& golden, double tolerance) {
  const auto names = golden.at("names").get<std::vector<std::string>>();
  const auto parameters = nn::named_parameters(module);
  ASSERT_EQ(parameters.size(), names.size());
  double largest = 0;
  for (const auto& [name, told] : golden.at("gradients").items())
    largest = std::max(largest, told.at(0).get<double>());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SCOPED_TRACE(names[i]);
    ASSERT_EQ(parameters[i].name, names[i]);
    expect_summary({component, "gradients' norms"}, parameters[i].tensor.grad(),
                   static_cast<std::uint32_t>(i), golden.at("gradients").at(names[i]), tolerance,
                   tolerance * 1e-2 * largest);
  }
}

template <class Module, class Forward>
void expect_part(const std::string& name, Module& module, const std::vector<at::Tensor>& inputs,
                 const Forward& forward) {
  const json golden = read_cascade_golden().at(name);
  const std::string component = "ct_cascade's " + name + ", float64";
  nn::set_dtype(module, at::kDouble);
  fill_reference_weights(module, 0.0);
  const at::Tensor output = forward();
  expect_values({component, "output"}, output, golden.at("output"), 1e-10);
  cascade_backward(output);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_values({component, "inputs' gradients"}, inputs[i].grad(), golden.at("input_grads")[i],
                  1e-10);
  expect_cascade_gradients(component, module, golden, 1e-10);
}

TEST(GoldenCtCascade, Tower) {
  nn::XrayTower tower(64);
  const at::Tensor images = cascade_values(kCascadeXrays, {2, 1, 16, 16});
  expect_part("tower", tower, {images}, [&] { return tower.forward(images); });
}

TEST(GoldenCtCascade, Lift) {
  nn::DepthLift lift(64, 5);
  const at::Tensor features = cascade_values(kCascadeXrays, {2, 64, 2, 3});
  expect_part("lift", lift, {features}, [&] { return lift.forward(features); });
}

TEST(GoldenCtCascade, Block) {
  for (const FusedMode fused : {FusedMode::kOff, FusedMode::kOn}) {
    DenoiserBlock block({8, 2, fused});
    const std::vector<at::Tensor> inputs{cascade_values(kCascadeTokens, {3, 5, 8}),
                                         cascade_values(kCascadeCondition, {3, 8}),
                                         cascade_values(kCascadeKeysValues, {3, 4, 16})};
    expect_part("block", block, inputs, [&] {
      return block.forward(inputs[0].view({15, 8}), inputs[1], inputs[2].view({12, 16}), {3, 5, 4})
          .view({3, 5, 8});
    });
  }
}

VolumeDenoiserConfig golden_stage(const json& options, FusedMode fused) {
  const auto angles = options.at("views").get<std::vector<double>>();
  VolumeDenoiserConfig config{.encoder = {.num_views = std::ssize(angles),
                                          .xray_size = options.at("xray_size"),
                                          .dim = 64,
                                          .share_view_weights = options.value("shared", false),
                                          .token_pool = options.value("pool", 1)},
                              .geometry = {.fov_mm = 400, .angles_degrees = angles},
                              .side = options.at("side"),
                              .previous_side = options.value("previous", 0),
                              .patch = options.at("patch"),
                              .dim = options.at("dim"),
                              .depth = options.at("depth"),
                              .num_heads = options.at("heads"),
                              .fused = fused};
  if (options.contains("cone")) config.geometry.cone = {options.at("cone"), 1500};
  return config;
}

void expect_stage(const std::string& name, const json& golden, FusedMode fused,
                  at::ScalarType dtype) {
  const VolumeDenoiserConfig config = golden_stage(golden.at("options"), fused);
  VolumeDenoiser stage(config);
  nn::set_dtype(stage, dtype);
  fill_reference_weights(stage, 0.0);
  const std::int64_t size = config.encoder.xray_size;
  const std::int64_t side = config.side;
  const std::int64_t before = config.previous_side;
  const at::Tensor xrays =
      cascade_values(kCascadeXrays, {2, config.encoder.num_views, size, size}, dtype);
  nn::NoisyVolumes volumes{cascade_values(kCascadeNoisy, {2, side, side, side}, dtype),
                           at::tensor({3, 871}, at::kLong)};
  if (before > 0) {
    volumes.previous = cascade_values(kCascadePrevious, {2, before, before, before}, dtype);
    volumes.levels = at::tensor({0.05, 0.3}, at::kDouble);
  }
  const at::Tensor output = stage.denoise(volumes, stage.encode(xrays));
  cascade_backward(output);

  const std::string component = compared_model("ct_cascade's stage " + name, dtype);
  const double tolerance = reference_tolerance(dtype);
  const auto told = [&](const std::string& quantity, const at::Tensor& got, std::uint32_t number,
                        const char* key) {
    expect_told(component, quantity, got, kFirstSample + number, golden.at(key), tolerance);
  };
  told("output", output, 5, "output");
  told("tokens", stage.encoder().tokens(stage.encoder().forward(xrays)), 1, "tokens");
  told("X-rays' gradient", xrays.grad(), 2, "xrays_grad");
  told("noisy volumes' gradient", volumes.noisy.grad(), 3, "noisy_grad");
  if (before > 0) told("previous volumes' gradient", volumes.previous.grad(), 4, "previous_grad");
  expect_cascade_gradients(component, stage, golden, tolerance);
  nn::LayerCosts costs;
  stage.count(costs);
  EXPECT_EQ(costs.flops(), golden.at("flops").get<double>());
}

TEST(GoldenCtCascade, Stages) {
  const json golden = read_cascade_golden();
  ASSERT_EQ(golden.at("stages").size(), 5U);
  for (const auto& [name, stage] : golden.at("stages").items()) {
    for (const FusedMode fused : {FusedMode::kOff, FusedMode::kOn}) {
      SCOPED_TRACE(name + (fused == FusedMode::kOn ? ", fused" : ", plain"));
      expect_stage(name, stage, fused, at::kDouble);
    }
    SCOPED_TRACE(name + ", float32");
    expect_stage(name, stage, FusedMode::kAuto, at::kFloat);
  }
}

}  // namespace
}  // namespace paceline::models
