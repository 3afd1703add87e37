#include "paceline/nn/volume/projection.h"

#include "paceline/base/error.h"
#include "paceline/base/philox.h"
#include "paceline/tensor/torch.h"
#include "support/queued_device.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using volume::RayMethod;

constexpr int kProjectedSide = 6;

at::Tensor numbers(std::vector<std::int64_t> sizes, at::ScalarType dtype = at::kDouble) {
  const auto count = c10::multiply_integers(sizes);
  return at::arange(count, at::kDouble).mul(12.9898).sin().add(1).view(sizes).to(dtype);
}

volume::ProjectionGeometry cone_geometry() {
  return {.fov_mm = 90, .angles_degrees = {0, 90, 25}, .cone = volume::ConeBeam{100, 150}};
}

TEST(Projection, IsTheDatasOwn) {
  const at::Tensor cubes = numbers({2, kProjectedSide, kProjectedSide, kProjectedSide}, at::kFloat);
  for (const RayMethod method : {RayMethod::kTrilinear, RayMethod::kSiddon}) {
    const volume::ProjectionGeometry geometry = cone_geometry();
    const Projection projection(geometry, kProjectedSide, {5, 4}, method);
    EXPECT_EQ(projection.num_views(), 3);
    const at::Tensor images = projection.forward(cubes);
    ASSERT_EQ(images.sizes(), (std::vector<std::int64_t>{2, 3, 5, 4}));
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::size_t view = 0; view < 3; ++view) {
        std::vector<float> wanted(20);
        const at::Tensor cube = cubes[i].contiguous();
        volume::project<float>({cube.data_ptr<float>(), static_cast<std::size_t>(cube.numel())},
                               {kProjectedSide, geometry.fov_mm},
                               {geometry, geometry.angles_degrees[view], {5, 4}}, method, 0, 5,
                               wanted);
        EXPECT_TRUE(
            at::equal(images[i][static_cast<std::int64_t>(view)].flatten(), at::tensor(wanted)));
      }
    }
  }
}

TEST(Projection, OperationsGiveTheSameWithTheSameGradients) {
  const Projection projection(cone_geometry(), kProjectedSide, {5, 4});
  const at::Tensor start = numbers({2, kProjectedSide, kProjectedSide, kProjectedSide});
  const at::Tensor weights = numbers({2, 3, 5, 4});
  const at::Tensor one = start.clone().set_requires_grad(true);
  const at::Tensor other = start.clone().set_requires_grad(true);
  const at::Tensor own = projection.forward(one);
  const at::Tensor by_operations = projection.by_operations(other);
  EXPECT_TRUE(own.allclose(by_operations, 1e-12, 1e-12));
  EXPECT_GT(own.min().item<double>(), 0);
  (own * weights).sum().backward();
  (by_operations * weights).sum().backward();
  EXPECT_TRUE(one.grad().allclose(other.grad(), 1e-11, 1e-12));
  EXPECT_GT(one.grad().abs().max().item<double>(), 0);
}

TEST(Projection, SiddonIsRefusedBesideTheCpu) {
  test::QueuedDevice device;
  const Projection projection(cone_geometry(), kProjectedSide, {5, 4}, RayMethod::kSiddon);
  const at::Tensor cubes = numbers({2, kProjectedSide, kProjectedSide, kProjectedSide});
  EXPECT_NO_THROW(projection.forward(cubes));
  EXPECT_THAT([&] { projection.forward(cubes.to(device.place())); },
              ThrowsMessage<base::ConfigError>(HasSubstr("set data.projector=trilinear")));
}

TEST(Projection, PlacesAreBroughtToADeviceOnce) {
  test::QueuedDevice device;
  const Projection projection(cone_geometry(), kProjectedSide, {5, 4});
  const at::Tensor cubes = numbers({2, kProjectedSide, kProjectedSide, kProjectedSide});
  const at::Tensor there = cubes.to(device.place());
  projection.forward(there);
  device.gpu().reset_counts();
  const at::Tensor images = projection.forward(there);
  EXPECT_EQ(device.gpu().counts().waits, 0);
  EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
  EXPECT_TRUE(images.cpu().allclose(projection.forward(cubes), 1e-12, 1e-12));
}

TEST(Projection, SumsAlongAxesAreTheDatasOwn) {
  const at::Tensor cubes = numbers({2, kProjectedSide, kProjectedSide, kProjectedSide});
  const volume::ProjectionGeometry geometry{.fov_mm = 90, .angles_degrees = {0, 90, 180, 270}};
  for (const RayMethod method : {RayMethod::kTrilinear, RayMethod::kSiddon}) {
    const at::Tensor images =
        Projection(geometry, kProjectedSide, {kProjectedSide, kProjectedSide}, method)
            .forward(cubes);
    ASSERT_EQ(images.sizes(), (std::vector<std::int64_t>{2, 4, kProjectedSide, kProjectedSide}));
    for (std::int64_t view = 0; view < 4; ++view) {
      std::vector<double> wanted(kProjectedSide * kProjectedSide);
      const at::Tensor cube = cubes[1].contiguous();
      volume::project<double>({cube.data_ptr<double>(), static_cast<std::size_t>(cube.numel())},
                              {kProjectedSide, geometry.fov_mm},
                              {geometry,
                               geometry.angles_degrees[static_cast<std::size_t>(view)],
                               {kProjectedSide, kProjectedSide}},
                              method, 0, kProjectedSide, wanted);
      EXPECT_TRUE(images[1][view].flatten().allclose(at::tensor(wanted, at::kDouble), 1e-12, 1e-12))
          << view;
    }
  }
}

TEST(Projection, GradientsAreWhatDifferencesSay) {
  const at::Tensor start = numbers({1, kProjectedSide, kProjectedSide, kProjectedSide});
  const at::Tensor way = numbers({1, kProjectedSide, kProjectedSide, kProjectedSide}).cos();
  for (const RayMethod method : {RayMethod::kTrilinear, RayMethod::kSiddon}) {
    const Projection projection(cone_geometry(), kProjectedSide, {3, 3}, method);
    const auto loss = [&](const at::Tensor& cubes) {
      return projection.forward(cubes).square().sum();
    };
    const at::Tensor cubes = start.clone().set_requires_grad(true);
    loss(cubes).backward();
    constexpr double kStep = 1e-5;
    const double slope =
        ((loss(start + kStep * way) - loss(start - kStep * way)) / (2 * kStep)).item<double>();
    const double along = (cubes.grad() * way).sum().item<double>();
    EXPECT_NEAR(along, slope, 1e-8 * std::abs(slope));
  }
}

TEST(Projection, HalfPrecisionIsProjectedInFloat32) {
  const Projection projection({.fov_mm = 90}, kProjectedSide, {3, 3});
  const at::Tensor cubes = numbers({1, kProjectedSide, kProjectedSide, kProjectedSide});
  const at::Tensor images = projection.forward(cubes.to(at::kBFloat16));
  EXPECT_EQ(images.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(images, projection.forward(cubes.to(at::kBFloat16).to(at::kFloat))));
}

TEST(Projection, RefusesOtherSizes) {
  const Projection projection({.fov_mm = 90}, kProjectedSide, {3, 3});
  EXPECT_THROW(projection.forward(at::zeros({1, 5, 6, 6})), base::InternalError);
  EXPECT_THROW(projection.forward(at::zeros({6, 6, 6})), base::InternalError);
}

TEST(Projection, HounsfieldUnitsBecomeAttenuations) {
  const at::Tensor hu = at::tensor({-3024.0, -1000.0, 0.0, 500.0}, at::kDouble);
  const at::Tensor attenuations = attenuations_of_hu(hu);
  for (std::int64_t i = 0; i < hu.numel(); ++i) {
    EXPECT_DOUBLE_EQ(attenuations[i].item<double>(),
                     volume::attenuation_of_hu(hu[i].item<double>()));
  }
}

}  // namespace
}  // namespace paceline::nn
