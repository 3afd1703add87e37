#include "paceline/nn/volume/cascade_network.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// Tells by its output what it was given.
class ToldCascade : public CascadeNetwork {
 public:
  std::int64_t num_stages() const override { return 2; }
  CascadeStage stage(std::int64_t number) const override {
    return {2 << number, number == 0 ? 0 : 2};
  }
  const volume::ProjectionGeometry& geometry() const override { return geometry_; }
  XrayContext encode(std::int64_t stage, const at::Tensor& xrays) const override {
    return {xrays * (stage + 1), xrays, {}};
  }
  at::Tensor denoise(std::int64_t stage, const NoisyVolumes& volumes,
                     const XrayContext& context) const override {
    const at::Tensor before =
        volumes.previous.defined() ? volumes.previous + volumes.levels : at::zeros({1});
    return volumes.noisy + 10 * volumes.steps + 100 * context.at_voxels + 10000 * before + stage;
  }
  void initialize_parameter(const NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const SampleSizes&) const override { return 0; }

 private:
  volume::ProjectionGeometry geometry_;
};

TEST(CascadeNetwork, ForwardIsOfTheCurrentStage) {
  ToldCascade cascade;
  const tensor::Fields first{{"xrays", at::full({1}, 3.0)},
                             {"noisy", at::full({1}, 1.0)},
                             {"steps", at::full({1}, 2, at::kLong)}};
  EXPECT_EQ(cascade.forward(first, {}).item<double>(), 1 + 20 + 300);
  cascade.set_current_stage(1);
  EXPECT_THROW(cascade.forward(first, {}), base::InternalError) << "it needs the stage before";
  tensor::Fields next = first;
  next.set("previous", at::full({1}, 4.0));
  next.set("levels", at::full({1}, 5.0));
  EXPECT_EQ(cascade.forward(next, {}).item<double>(), 1 + 20 + 600 + 90000 + 1);
  EXPECT_THROW(cascade.set_current_stage(2), base::InternalError);
  EXPECT_EQ(cascade.current_stage(), 1);
}

TEST(CascadeNetwork, EncodersStartFromTheStageBefore) {
  const auto from = [](const char* name) { return CascadeNetwork::starts_from(name); };
  EXPECT_EQ(from("stages.1.encoder.towers.0.conv1.weight"),
            "stages.0.encoder.towers.0.conv1.weight");
  EXPECT_EQ(from("stages.12.encoder.view_embed"), "stages.11.encoder.view_embed");
  EXPECT_EQ(from("stages.0.encoder.view_embed"), std::nullopt);
  EXPECT_EQ(from("stages.1.lift.0.hidden.weight"), std::nullopt);
  EXPECT_EQ(from("stages.1.encoders.x"), std::nullopt);
  EXPECT_EQ(from("head.weight"), std::nullopt);
  EXPECT_EQ(CascadeNetwork::stage_name(2), "stages.2");
}

TEST(CascadeNetwork, GrowsByItsLastStage) {
  const ToldCascade cascade;
  EXPECT_EQ(cascade.grown_from("stages.1.encoder.x"), "stages.0.encoder.x");
  EXPECT_EQ(cascade.grown_from("stages.1.blocks.0.x"), "") << "it is drawn";
  EXPECT_EQ(cascade.grown_from("stages.0.encoder.x"), std::nullopt) << "it has to be there";
  EXPECT_EQ(cascade.parts_trained_before(), std::vector<std::string>{"stages.0"});
}

}  // namespace
}  // namespace paceline::nn
