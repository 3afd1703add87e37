#include "paceline/nn/volume/deterministic_sampling.h"

#include "support/queued_device.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// Deterministic algorithms for a scope.
class OneOrder {
 public:
  OneOrder() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false); }
  ~OneOrder() { at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false); }
};

TEST(DeterministicSampling, IsRefusedOnAGpuWhereGradientsAreWanted) {
  const test::QueuedDevice device;
  at::Tensor volumes = at::zeros({1, 2, 2, 2}, at::TensorOptions(test::FakeGpu::at(0).place()));
  volumes.set_requires_grad(true);
  EXPECT_NO_THROW(require_sampling_in_any_order(volumes));
  const OneOrder one_order;
  try {
    require_sampling_in_any_order(volumes);
    FAIL() << "nothing was refused";
  } catch (const base::ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("set run.deterministic=false"), std::string::npos);
  }
  EXPECT_NO_THROW(require_sampling_in_any_order(volumes.detach()));
  EXPECT_NO_THROW(require_sampling_in_any_order(at::zeros({1, 2, 2, 2}).set_requires_grad(true)));
  const at::NoGradGuard no_grad;
  EXPECT_NO_THROW(require_sampling_in_any_order(volumes));
}

}  // namespace
}  // namespace paceline::nn
