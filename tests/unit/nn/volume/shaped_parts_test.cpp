#include "paceline/nn/volume/shaped_parts.h"

#include "paceline/nn/volume/depth_lift.h"
#include "paceline/nn/volume/projection_loss.h"
#include "paceline/nn/volume/view_lookup.h"
#include "paceline/tensor/autocast.h"
#include "support/measured_pass.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

constexpr std::int64_t kSamples = 2;
constexpr std::int64_t kSide = 32;

PassOptions part_options(bool is_half) {
  return {.samples = kSamples, .autocast = is_half ? std::optional<std::int64_t>(2) : std::nullopt};
}

/// Of an encoder's tokens, and of its features' lifts at the voxels.
double measured_parts(const XrayEncoderConfig& config, const volume::ProjectionGeometry& geometry,
                      bool is_half) {
  XrayEncoder encoder(config);
  DepthLift first(config.dim, kSide);
  DepthLift second(config.dim, kSide);
  for (const torch::nn::Module* module :
       std::initializer_list<const torch::nn::Module*>{&encoder, &first, &second}) {
    for (const at::Tensor& parameter : module->parameters()) parameter.detach().fill_(0.01);
    test::take_gradients(*module);
  }
  const ViewLookup lookup(geometry, geometry.angles_degrees[0], kSide);
  const at::Tensor xrays = at::ones({kSamples, 2, config.xray_size, config.xray_size});
  return test::measured_peak([&] {
    at::Tensor loss;
    {
      const tensor::AutocastGuard autocast(at::kCPU,
                                           is_half ? std::optional(at::kBFloat16) : std::nullopt);
      const std::vector<at::Tensor> features = encoder.forward(xrays);
      const at::Tensor tokens = encoder.tokens(features);
      const std::vector<at::Tensor> lifts{first.forward(features[0]), second.forward(features[1])};
      const std::vector<at::Tensor> voxels{lookup.voxels(lifts[0]), lookup.voxels(lifts[1])};
      const at::Tensor all = at::stack(voxels, 1);
      loss = tokens.sum() + all.sum() + XrayEncoder::pooled(features).sum();
    }
    loss.backward();
  });
}

double told_parts(const XrayEncoderConfig& config, const volume::ProjectionGeometry& geometry,
                  bool is_half) {
  ShapedPass pass(part_options(is_half));
  const ShapedSight sight{config, &geometry, kSide};
  Shaped loss;
  {
    const std::vector<Shaped> features = shaped_features(config, pass);
    const Shaped tokens = shaped_tokens(config, features, pass);
    const std::vector<Shaped> lifts = shaped_lifts(sight, features, pass);
    std::vector<Shaped> voxels = shaped_lookups(sight, lifts, pass);
    voxels.erase(voxels.begin(), voxels.begin() + 2);  // without pixels
    const Shaped all = pass.stacked(voxels, 2 * kSamples * kSide * kSide * kSide);
    const auto total = [&](const Shaped& x) {
      return pass.tape().record(pass.take(1, 4), {x}, [x](Shaped grad) {
        grad.values = x.values;
        return ShapeTape::Gradients{grad};
      });
    };
    loss =
        pass.sum(pass.sum(total(tokens), total(all)), total(shaped_means(config, features, pass)));
  }
  pass.end_forward();
  return static_cast<double>(pass.backward(loss));
}

TEST(ShapedParts, TellWhatEncoderLiftAndLookupTake) {
  const volume::ProjectionGeometry straight{.angles_degrees = {0, 90}};
  const volume::ProjectionGeometry oblique{.angles_degrees = {30, 120}};
  for (const auto& geometry : {straight, oblique}) {
    for (const bool is_half : {false, true}) {
      const XrayEncoderConfig config{.num_views = 2, .xray_size = 128, .dim = 128};
      EXPECT_NEAR(told_parts(config, geometry, is_half) / measured_parts(config, geometry, is_half),
                  1.0, 0.1)
          << is_half << " at " << geometry.angles_degrees[0];
    }
  }
}

TEST(ShapedParts, TellWhatAProjectionLossTakes) {
  for (const double angle : {0.0, 30.0}) {
    const volume::ProjectionGeometry geometry{.angles_degrees = {angle, angle + 90}};
    const ProjectionLoss loss(geometry, {}, kSide, 64);
    const at::Tensor volumes = at::zeros({kSamples, kSide, kSide, kSide}).set_requires_grad(true);
    const at::Tensor xrays = at::zeros({kSamples, 2, 64, 64});
    const double found = test::measured_peak(
        [&] { torch::autograd::grad({loss.forward(volumes, xrays).sum()}, {volumes}); });
    ShapedPass pass({.samples = kSamples});
    const Shaped made = pass.tape().leaf(pass.given(volumes.numel()));
    const Shaped told = shaped_projection_loss(geometry, kSide, 64, made, pass);
    EXPECT_NEAR(static_cast<double>(pass.backward(told)) / found, 1.0, 0.1) << angle;
  }
}

TEST(ShapedParts, OnAGpuTheLossKeepsThePlacesOfItsRays) {
  const auto peak = [&](double angle) {
    const volume::ProjectionGeometry geometry{.angles_degrees = {angle}};
    ShapedPass pass({.samples = 1, .is_on_gpu = true});
    const Shaped made = pass.tape().leaf(pass.given(kSide * kSide * kSide));
    return pass.backward(shaped_projection_loss(geometry, kSide, 64, made, pass));
  };
  constexpr std::int64_t kLeast = kSide * kSide * (2 * kSide) * 3 * 4;
  EXPECT_GT(peak(30), kLeast) << "side^2 rays, two places a voxel, three float32 each";
  EXPECT_LT(peak(0), kLeast) << "along an axis voxels are added up";
}

}  // namespace
}  // namespace paceline::nn
