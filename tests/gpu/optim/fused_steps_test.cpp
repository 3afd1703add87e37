// The optimizers' and the loss scaler's fused kernels, beside the same on the CPU.

#include "gpu/test_devices.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/grad_scaler.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/nadam.h"
#include "paceline/optim/radam.h"
#include "paceline/optim/rmsprop.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

constexpr std::int64_t kSize = 100'003;

struct Flat {
  explicit Flat(at::Device place)
      : param(at::linspace(-1, 1, kSize).to(place)), grad(at::linspace(2, -3, kSize).to(place)) {}
  std::vector<ParamGroup> groups() const {
    return {{.name = "decay", .weight_decay = 0.1, .slots = {{param, grad}}}};
  }
  at::Tensor param;
  at::Tensor grad;
};

/// Steps of which every third is to be skipped, as only the device knows.
template <typename Config>
void expect_equal_steps(const Config& config, double tolerance) {
  const auto device = test::open_device(0);
  Flat on_cpu(at::kCPU);
  Flat on_gpu(device->place());
  const auto cpu = make_optimizer(config, on_cpu.groups());
  const auto gpu = make_optimizer(config, on_gpu.groups());
  for (int step = 0; step < 10; ++step) {
    on_cpu.grad.mul_(0.9).add_(0.01);
    on_gpu.grad.copy_(on_cpu.grad);
    const float skip = step % 3 == 2 ? 1 : 0;
    cpu->step(0.05, at::full({}, skip));
    gpu->step(0.05, at::full({}, skip, at::TensorOptions(device->place())));
  }
  const double difference = (on_gpu.param.cpu() - on_cpu.param).abs().max().item<double>();
  ::testing::Test::RecordProperty("difference", fmt::format("{:.3g}", difference));
  EXPECT_LE(difference, tolerance);
  const auto cpu_state = cpu->state();
  const auto gpu_state = gpu->state();
  ASSERT_EQ(cpu_state.size(), gpu_state.size());
  for (std::size_t i = 0; i < cpu_state.size(); ++i) {
    EXPECT_TRUE(
        at::allclose(gpu_state[i].tensors[0].cpu(), cpu_state[i].tensors[0], 1e-5, tolerance))
        << cpu_state[i].name;
  }
}

TEST(FusedSteps, SgdEqualsTheCpu) { expect_equal_steps(SgdConfig{}, 2e-6); }
TEST(FusedSteps, NesterovSgdEqualsTheCpu) { expect_equal_steps(SgdConfig{.nesterov = true}, 2e-6); }
TEST(FusedSteps, AdamEqualsTheCpu) { expect_equal_steps(AdamConfig{}, 2e-6); }
TEST(FusedSteps, AdamWEqualsTheCpu) { expect_equal_steps(AdamWConfig{}, 2e-6); }
TEST(FusedSteps, NAdamEqualsTheCpu) { expect_equal_steps(NAdamConfig{}, 2e-6); }
TEST(FusedSteps, NAdamWEqualsTheCpu) { expect_equal_steps(NAdamWConfig{}, 2e-6); }
TEST(FusedSteps, RAdamEqualsTheCpu) { expect_equal_steps(RAdamConfig{}, 2e-6); }
TEST(FusedSteps, RmspropEqualsTheCpu) { expect_equal_steps(RmspropConfig{}, 2e-6); }
TEST(FusedSteps, RmspropTfEqualsTheCpu) {
  expect_equal_steps(RmspropTfConfig{.momentum = 0.9, .centered = true}, 1e-5);
}
TEST(FusedSteps, LionEqualsTheCpu) { expect_equal_steps(LionConfig{}, 2e-6); }

TEST(FusedSteps, UnscalingEqualsTheCpuAndFindsInfinities) {
  const auto device = test::open_device(0);
  const GradScaler scaler{GradScalerConfig{}};
  const Flat on_cpu(at::kCPU);
  const Flat on_gpu(device->place());
  EXPECT_FALSE(unscale(std::vector{on_cpu.grad}, scaler.inverse_scale()).is_nonzero());
  EXPECT_FALSE(unscale(std::vector{on_gpu.grad}, scaler.inverse_scale()).is_nonzero());
  EXPECT_TRUE(on_gpu.grad.cpu().equal(on_cpu.grad));
  on_gpu.grad.narrow(0, kSize - 1, 1).fill_(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(unscale(std::vector{on_gpu.grad}, scaler.inverse_scale()).is_nonzero());
}

}  // namespace
}  // namespace paceline::optim
