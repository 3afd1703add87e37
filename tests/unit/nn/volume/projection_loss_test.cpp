#include "paceline/nn/volume/projection_loss.h"

#include "paceline/tensor/torch.h"
#include "paceline/volume/phantom.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

constexpr int kVoxels = 32;
constexpr int kXrayPixels = 64;
constexpr double kFovMm = 400;
const VolumeUnits kWideWindow;

/// Phantoms in [-1, 1] and their exact X-rays.
struct PhantomSet {
  at::Tensor volumes = at::empty({0});
  at::Tensor xrays = at::empty({0});

  explicit PhantomSet(std::uint64_t count) {
    std::vector<at::Tensor> cubes;
    std::vector<at::Tensor> views;
    for (std::uint64_t i = 0; i < count; ++i) {
      const volume::Phantom phantom = volume::draw_phantom(1, i, kFovMm);
      const auto voxels = volume::voxels_of(phantom, {kVoxels, kFovMm});
      cubes.push_back(at::tensor(voxels).view({kVoxels, kVoxels, kVoxels}));
      for (const double angle : {0.0, 90.0}) {
        const volume::ViewRays rays({}, angle, {kXrayPixels, kXrayPixels});
        views.push_back(
            at::tensor(volume::exact_view(phantom, rays, kFovMm)).view({kXrayPixels, kXrayPixels}));
      }
    }
    volumes = (at::stack(cubes) - kWideWindow.hu_window[0]) / kWideWindow.hu_per_unit() - 1;
    xrays =
        at::stack(views).view({-1, 2, kXrayPixels, kXrayPixels}) * (2 / kWideWindow.full_scale) - 1;
  }
};

TEST(ProjectionLoss, TellsTrueVolumesFromTheMeanOne) {
  const PhantomSet phantoms(6);
  const ProjectionLoss loss({}, kWideWindow, kVoxels, kXrayPixels);
  const at::Tensor mean = phantoms.volumes.mean(0, /*keepdim=*/true).expand_as(phantoms.volumes);
  const double truth = loss.forward(phantoms.volumes, phantoms.xrays).mean().item<double>();
  const double others = loss.forward(mean, phantoms.xrays).mean().item<double>();
  EXPECT_LE(truth, 0.005 * others);
  EXPECT_LT(loss.relative_error(phantoms.volumes, phantoms.xrays).max().item<double>(), 0.05);
}

TEST(ProjectionLoss, ComparesEachViewWithItsOwn) {
  const PhantomSet phantoms(2);
  const ProjectionLoss loss({}, kWideWindow, kVoxels, kXrayPixels);
  const double own = loss.forward(phantoms.volumes, phantoms.xrays).max().item<double>();
  const double swapped =
      loss.forward(phantoms.volumes, phantoms.xrays.flip(1)).min().item<double>();
  EXPECT_GT(swapped, 20 * own);
}

TEST(ProjectionLoss, ASampleDoesNotDependOnTheOthersOfItsBatch) {
  const PhantomSet phantoms(3);
  const ProjectionLoss loss({}, kWideWindow, kVoxels, kXrayPixels);
  const at::Tensor all = loss.forward(phantoms.volumes * 0.9, phantoms.xrays);
  const at::Tensor last =
      loss.forward(phantoms.volumes.slice(0, 2) * 0.9, phantoms.xrays.slice(0, 2));
  EXPECT_TRUE(at::equal(all.slice(0, 2), last));
}

TEST(ProjectionLoss, HasTheDerivativeOfItsValue) {
  const ProjectionLoss loss({}, kWideWindow, 6, 12);
  const auto numbers = [](std::int64_t count, double shift) {
    return (at::arange(count, at::kDouble) * 0.7 + shift).sin() * 0.5;
  };
  at::Tensor volumes = numbers(2 * 216, 0).view({2, 6, 6, 6}).requires_grad_(true);
  const at::Tensor xrays = numbers(2 * 2 * 144, 1).view({2, 2, 12, 12});
  loss.forward(volumes, xrays).sum().backward();
  const at::NoGradGuard no_grad;
  const at::Tensor direction = numbers(2 * 216, 2).view({2, 6, 6, 6});
  constexpr double kStep = 1e-5;
  const double ahead = loss.forward(volumes + direction * kStep, xrays).sum().item<double>();
  const double behind = loss.forward(volumes - direction * kStep, xrays).sum().item<double>();
  const double slope = (ahead - behind) / (2 * kStep);
  EXPECT_NEAR((volumes.grad() * direction).sum().item<double>(), slope, 1e-6 * std::abs(slope));
}

}  // namespace
}  // namespace paceline::nn
