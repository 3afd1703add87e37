#include "paceline/train/tasks/volume/ct_pass_memory.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

constexpr std::int64_t kSide = 16;
constexpr std::int64_t kVolumeBytes = kSide * kSide * kSide * 4;

/// A network that keeps nothing.
class EmptyCascade : public nn::CascadeNetwork {
 public:
  explicit EmptyCascade(bool tells = true) : tells_(tells) {}
  std::int64_t num_stages() const override { return 1; }
  nn::CascadeStage stage(std::int64_t) const override { return {kSide, 0}; }
  const volume::ProjectionGeometry& geometry() const override { return geometry_; }
  nn::XrayContext encode(std::int64_t, const at::Tensor&) const override { return {}; }
  at::Tensor denoise(std::int64_t, const nn::NoisyVolumes&, const nn::XrayContext&) const override {
    return {};
  }
  std::vector<std::int64_t> xray_sizes() const override { return {2, 64, 64}; }
  nn::Shaped shaped_forward(nn::ShapedPass& pass) const override {
    if (!tells_) return CascadeNetwork::shaped_forward(pass);
    return pass.linear(pass.given(1), 1, 1, pass.options().samples * kSide * kSide * kSide);
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }

 private:
  bool tells_;
  volume::ProjectionGeometry geometry_{.angles_degrees = {0, 90}};
};

TEST(CtPassMemory, TheLossTakesVolumesToo) {
  const EmptyCascade network;
  const auto volumes = [&](bool has_physics, std::int64_t samples) {
    return static_cast<double>(ct_pass_bytes(network, has_physics, {.samples = samples})) /
           static_cast<double>(samples * kVolumeBytes);
  };
  EXPECT_GT(volumes(true, 1), 7.9) << "noise, x_t, x_0, its error and four on the way to rays";
  EXPECT_LT(volumes(true, 1), 9);
  EXPECT_LE(volumes(false, 1), volumes(true, 1));
  EXPECT_NEAR(volumes(true, 4), volumes(true, 1), 0.2);
}

TEST(CtPassMemory, ANetworkMustTell) {
  EXPECT_THROW(ct_pass_bytes(EmptyCascade(/*tells=*/false), false, {}), base::InternalError);
}

TEST(CtPassMemory, TheGuidesTimesAreFewerSamplesThanItAimsAt) {
  EXPECT_NEAR(guide_of_volumes(64).value().samples_per_second_and_rank(), 2.08, 0.01);
  EXPECT_NEAR(guide_of_volumes(128).value().samples_per_second_and_rank(), 0.52, 0.01);
  EXPECT_NEAR(guide_of_volumes(256).value().samples_per_second_and_rank(), 0.17, 0.01);
  EXPECT_FALSE(guide_of_volumes(32).has_value());
}

}  // namespace
}  // namespace paceline::train
