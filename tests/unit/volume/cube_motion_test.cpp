#include "paceline/volume/cube_motion.h"

#include "paceline/base/error.h"
#include "paceline/volume/phantom.h"
#include "paceline/volume/projector.h"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

constexpr double kMotionFov = 400;
constexpr float kMotionAir = -1000;

std::vector<std::int16_t> rounded(const std::vector<float>& values) {
  std::vector<std::int16_t> integers;
  for (const float value : values)
    integers.push_back(static_cast<std::int16_t>(std::lround(value)));
  return integers;
}

/// The same motion of what a phantom is made of.
Phantom moved(Phantom phantom, const CubeMotion& motion) {
  const double angle = motion.turn_degrees * std::numbers::pi / 180;
  for (Ellipsoid& part : phantom.parts) {
    Vector& center = part.center_mm;
    if (motion.is_mirrored) {
      center[0] = -center[0];
      part.turn_degrees = -part.turn_degrees;
    }
    for (double& place : center) place *= motion.scale;
    for (double& half_axis : part.half_axes_mm) half_axis *= motion.scale;
    const double x = center[0];
    center[0] = std::cos(angle) * x - std::sin(angle) * center[1];
    center[1] = std::sin(angle) * x + std::cos(angle) * center[1];
    part.turn_degrees += motion.turn_degrees;
    for (std::size_t axis = 0; axis < 3; ++axis) center.at(axis) += motion.shift_mm.at(axis);
  }
  return phantom;
}

double relative_distance(const std::vector<float>& one, const std::vector<float>& other) {
  double apart = 0;
  double size = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    apart += std::pow(static_cast<double>(one[i]) - other[i], 2);
    size += std::pow(static_cast<double>(other[i]), 2);
  }
  return std::sqrt(apart / size);
}

const std::vector<CubeMotion>& motions() {
  static const std::vector<CubeMotion> all{
      {.is_mirrored = true},
      {.turn_degrees = 20},
      {.shift_mm = {15, -22, 31}},
      {.scale = 0.8},
      {.scale = 1.1},
      {.is_mirrored = true, .scale = 0.9, .turn_degrees = -25, .shift_mm = {9, 14, -12}}};
  return all;
}

/// The phantom's attenuation, not its air, is what a share of is small.
std::vector<float> attenuations(std::vector<float> hu) {
  for (float& value : hu) value = static_cast<float>(attenuation_of_hu(value));
  return hu;
}

TEST(CubeMotion, AMirroredCubeHasTheSameValues) {
  const CubeGrid grid{5, kMotionFov};
  std::vector<std::int16_t> cube;
  for (int i = 0; i < 125; ++i) cube.push_back(static_cast<std::int16_t>(i * i % 97 - 50));
  const std::vector<float> same = move_cube(cube, grid, {}, kMotionAir);
  const std::vector<float> mirrored = move_cube(cube, grid, {.is_mirrored = true}, kMotionAir);
  for (std::size_t i = 0; i < 125; ++i) {
    EXPECT_EQ(same[i], cube[i]);
    EXPECT_EQ(mirrored[i], cube[i / 5 * 5 + 4 - i % 5]);
  }
}

TEST(CubeMotion, WhatComesFromOutsideIsWhatLiesThere) {
  const CubeGrid grid{4, 40};
  const std::vector<std::int16_t> cube(64, 100);
  const std::vector<float> moved_cube = move_cube(cube, grid, {.shift_mm = {20, 0, 0}}, kMotionAir);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(moved_cube[i], i % 4 < 2 ? kMotionAir : 100) << i;
  // By a quarter of a voxel: the first one of each row is a mean with what lies beyond.
  const std::vector<float> a_little = move_cube(cube, grid, {.shift_mm = {2.5, 0, 0}}, kMotionAir);
  EXPECT_NEAR(a_little[0], 0.75 * 100 - 0.25 * 1000, 1e-3);
  EXPECT_EQ(a_little[1], 100);
}

TEST(CubeMotion, APlaceComesFromWhereTheInverseMotionTakesIt) {
  const CubeMotion motion{
      .is_mirrored = true, .scale = 2, .turn_degrees = 90, .shift_mm = {1, 2, 3}};
  // (10, 20, 30) mirrored, doubled, turned from x towards y and shifted.
  const Vector from = source_of({-40 + 1, -20 + 2, 60 + 3}, motion);
  EXPECT_NEAR(from[0], 10, 1e-12);
  EXPECT_NEAR(from[1], 20, 1e-12);
  EXPECT_NEAR(from[2], 30, 1e-12);
}

TEST(CubeMotion, AMovedCubeIsThatOfTheMovedPatient) {
  const CubeGrid grid{40, kMotionFov};
  for (std::uint64_t index = 0; index < 2; ++index) {
    const Phantom phantom = draw_phantom(3, index, kMotionFov);
    const std::vector<std::int16_t> cube = rounded(voxels_of(phantom, grid));
    const std::vector<float> still = attenuations({cube.begin(), cube.end()});
    for (const CubeMotion& motion : motions()) {
      const auto wanted = attenuations(voxels_of(moved(phantom, motion), grid));
      const auto found = attenuations(move_cube(cube, grid, motion, kMotionAir));
      EXPECT_LT(relative_distance(found, wanted), 0.12)
          << index << ", turn " << motion.turn_degrees;
      EXPECT_LT(relative_distance(found, wanted), 0.6 * relative_distance(still, wanted))
          << index << ", turn " << motion.turn_degrees;
    }
  }
}

TEST(CubeMotion, AMovedCubeProjectsToTheMovedView) {
  constexpr int kSide = 48;
  const CubeGrid grid{kSide, kMotionFov};
  for (const CubeMotion& motion : motions()) {
    const Phantom phantom = draw_phantom(4, 1, kMotionFov);
    const auto cube =
        attenuations(move_cube(rounded(voxels_of(phantom, grid)), grid, motion, kMotionAir));
    for (const double angle : {0.0, 90.0}) {
      const ViewRays rays({.fov_mm = kMotionFov}, angle, {kSide, kSide});
      std::vector<float> view(kSide * kSide);
      project<float>(cube, grid, rays, RayMethod::kTrilinear, 0, kSide, view);
      const auto wanted = exact_view(moved(phantom, motion), rays, kMotionFov);
      EXPECT_LT(relative_distance(view, wanted), 0.07) << angle << ", turn " << motion.turn_degrees;
    }
  }
}

TEST(CubeMotion, RefusesACubeOfAnotherSize) {
  const std::vector<std::int16_t> cube(8);
  EXPECT_THROW(move_cube(cube, {3, 30}, {}, 0), base::InternalError);
}

}  // namespace
}  // namespace paceline::volume
