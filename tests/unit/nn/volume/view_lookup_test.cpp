#include "paceline/nn/volume/view_lookup.h"

#include "paceline/base/error.h"
#include "paceline/tensor/autocast.h"
#include "paceline/tensor/torch.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

constexpr std::int64_t kLookupSide = 6;

at::Tensor looked_up_numbers(std::vector<std::int64_t> sizes) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble).mul(7.31).sin().view(sizes);
}

volume::ProjectionGeometry lookup_cone() {
  return {.fov_mm = 90, .cone = volume::ConeBeam{200, 300}};
}

/// A place on one axis of a cube of that many voxels, in half sides.
double lookup_middle(std::int64_t voxel) {
  return (2.0 * static_cast<double>(voxel) + 1) / kLookupSide - 1;
}

TEST(ViewLookup, PlacesAreThoseOfTheGeometry) {
  for (const volume::ProjectionGeometry& geometry :
       {volume::ProjectionGeometry{.fov_mm = 90}, lookup_cone()}) {
    for (const double angle : {0.0, 90.0, 200.0}) {
      const volume::ViewFrame frame = volume::view_frame(geometry, angle);
      const at::Tensor places = ViewLookup(geometry, angle, kLookupSide).places(at::kDouble);
      ASSERT_EQ(places.sizes(), (std::vector<std::int64_t>{6, 6, 6, 3}));
      auto place = places.accessor<double, 4>();
      for (std::int64_t z = 0; z < kLookupSide; ++z) {
        for (std::int64_t y = 0; y < kLookupSide; ++y) {
          for (std::int64_t x = 0; x < kLookupSide; ++x) {
            const volume::Vector seen =
                volume::seen_at(frame, {lookup_middle(x), lookup_middle(y), lookup_middle(z)});
            for (std::int64_t i = 0; i < 3; ++i)
              EXPECT_NEAR(place[z][y][x][i], seen[static_cast<std::size_t>(i)], 1e-14);
          }
        }
      }
    }
  }
}

// An image that is as bright as its pixels are far from the detector's middle shows where a voxel
// is looked up.
TEST(ViewLookup, PixelsAreThoseThatRaysMeet) {
  constexpr std::int64_t kPixels = 8;
  const at::Tensor places = (at::arange(kPixels, at::kDouble) * 2 + 1) / kPixels - 1;
  const at::Tensor images = at::stack(
      {places.expand({kPixels, kPixels}), places.unsqueeze(1).expand({kPixels, kPixels})});
  for (const volume::ProjectionGeometry& geometry :
       {volume::ProjectionGeometry{.fov_mm = 90}, lookup_cone()}) {
    for (const double angle : {0.0, 90.0, 180.0, 270.0, 33.0}) {
      const ViewLookup lookup(geometry, angle, kLookupSide);
      // Beyond the outermost pixels' middles these count.
      const double outermost = 1 - 1.0 / kPixels;
      const at::Tensor wanted = lookup.places(at::kDouble).clamp(-outermost, outermost);
      const at::Tensor seen = lookup.pixels(images);
      EXPECT_TRUE(seen[0].allclose(wanted.select(-1, 0), 1e-12, 1e-12)) << angle;
      EXPECT_TRUE(seen[1].allclose(wanted.select(-1, 1), 1e-12, 1e-12)) << angle;
    }
  }
}

TEST(ViewLookup, LayersLieAcrossTheRays) {
  const at::Tensor depths = (at::arange(kLookupSide, at::kDouble) * 2 + 1) / kLookupSide - 1;
  const at::Tensor layers = depths.view({1, -1, 1, 1}).expand({1, -1, 3, 4});
  for (const double angle : {0.0, 90.0, 180.0, 270.0, 61.0}) {
    const ViewLookup lookup({.fov_mm = 90}, angle, kLookupSide);
    const double outermost = 1 - 1.0 / kLookupSide;
    const at::Tensor wanted = lookup.places(at::kDouble).select(-1, 2).clamp(-outermost, outermost);
    EXPECT_TRUE(lookup.voxels(layers)[0].allclose(wanted, 1e-12, 1e-12)) << angle;
  }
}

// Turned by as good as nothing, the general way gives what the one along axes gives.
TEST(ViewLookup, AlongAxesIsTheGeneralWay) {
  const at::Tensor images = looked_up_numbers({2, 5, 7});
  const at::Tensor layers = looked_up_numbers({2, kLookupSide, 4, 3});
  const at::Tensor weights = looked_up_numbers({2, kLookupSide, kLookupSide, kLookupSide}).cos();
  const auto gradient = [&](const ViewLookup& lookup) {
    const at::Tensor leaf = layers.clone().set_requires_grad(true);
    (lookup.voxels(leaf) * weights).sum().backward();
    return leaf.grad();
  };
  for (const double angle : {0.0, 90.0, 180.0, 270.0}) {
    const ViewLookup along({.fov_mm = 90}, angle, kLookupSide);
    const ViewLookup turned({.fov_mm = 90}, angle + 1e-9, kLookupSide);
    EXPECT_TRUE(along.pixels(images).allclose(turned.pixels(images), 0, 1e-8)) << angle;
    EXPECT_TRUE(along.voxels(layers).allclose(turned.voxels(layers), 0, 1e-8)) << angle;
    EXPECT_TRUE(gradient(along).allclose(gradient(turned), 0, 1e-7)) << angle;
    EXPECT_GT(gradient(along).abs().max().item<double>(), 0.1);
  }
}

TEST(ViewLookup, EveryPixelOfAFineImageCounts) {
  const ViewLookup lookup({.fov_mm = 90}, 0, kLookupSide);
  const at::Tensor images = looked_up_numbers({1, 24, 24});
  const at::Tensor means = images.view({6, 4, 6, 4}).mean({1, 3});
  EXPECT_TRUE(lookup.pixels(images)[0].select(1, 0).allclose(means.flip({0, 1}), 1e-12, 1e-12));
  // 25 pixels have no smaller squares but of five.
  EXPECT_EQ(lookup.pixels(looked_up_numbers({1, 25, 25})).size(1), kLookupSide);
}

TEST(ViewLookup, HalfPrecisionIsComputedInFloat32) {
  const ViewLookup lookup({.fov_mm = 90}, 90, kLookupSide);
  const at::Tensor layers = looked_up_numbers({1, kLookupSide, 4, 4}).to(at::kBFloat16);
  const at::Tensor wanted = lookup.voxels(layers.to(at::kFloat));
  const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
  EXPECT_EQ(lookup.voxels(layers).scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(lookup.voxels(layers), wanted));
}

TEST(ViewLookup, RefusesAnotherNumberOfLayers) {
  const ViewLookup lookup({.fov_mm = 90}, 0, kLookupSide);
  EXPECT_THROW(lookup.voxels(at::zeros({1, 5, 4, 4})), base::InternalError);
}

}  // namespace
}  // namespace paceline::nn
