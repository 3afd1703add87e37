#include "paceline/volume/view_alignment.h"

#include "paceline/base/error.h"
#include "paceline/volume/phantom.h"
#include "paceline/volume/projector.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kAlignedFov = 400;
constexpr int kAlignedSide = 32;
constexpr DetectorGrid kAlignedDetector{kAlignedSide, kAlignedSide};
constexpr std::size_t kAlignedPixels = std::size_t{kAlignedSide} * kAlignedSide;

using Image = std::vector<float>;

/// A patient's exact views, and what a projector makes of its voxels.
struct Patient {
  explicit Patient(std::uint64_t index) {
    const Phantom phantom = draw_phantom(7, index, kAlignedFov);
    const CubeGrid grid{kAlignedSide, kAlignedFov};
    std::vector<float> cube = voxels_of(phantom, grid);
    for (float& value : cube) value = static_cast<float>(attenuation_of_hu(value));
    for (const double angle : {0.0, 90.0}) {
      const ViewRays rays({.fov_mm = kAlignedFov}, angle, kAlignedDetector);
      views.push_back(exact_view(phantom, rays, kAlignedFov));
      Image projection(kAlignedPixels);
      project<float>(cube, grid, rays, RayMethod::kTrilinear, 0, kAlignedSide, projection);
      projections.insert(projections.end(), projection.begin(), projection.end());
    }
  }
  std::vector<ViewAlignment> compare(const Image& frontal, const Image& lateral) const {
    Image both = frontal;
    both.insert(both.end(), lateral.begin(), lateral.end());
    return compare_views(both, projections, 2, kAlignedDetector);
  }

  std::vector<Image> views;
  Image projections;
};

Image mirrored(Image image) {
  for (auto row = image.begin(); row != image.end(); row += kAlignedSide)
    std::reverse(row, row + kAlignedSide);
  return image;
}

Image half_turned(Image image) {
  std::ranges::reverse(image);
  return image;
}

TEST(ViewAlignment, ViewsThatLieAsTheyShouldHaveASmallError) {
  for (std::uint64_t index = 0; index < 8; ++index) {
    const Patient patient(index);
    for (const ViewAlignment& found : patient.compare(patient.views[0], patient.views[1])) {
      EXPECT_FALSE(found.is_misplaced()) << index;
      EXPECT_FALSE(found.is_inverted());
      EXPECT_LT(found.given.error, 0.06);
      EXPECT_GT(found.given.correlation, 0.99);
      EXPECT_THAT(describe_problem(found, 0.06), IsEmpty());
    }
  }
}

TEST(ViewAlignment, SwappedViewsAreNamed) {
  for (std::uint64_t index = 0; index < 8; ++index) {
    const Patient patient(index);
    const auto found = patient.compare(patient.views[1], patient.views[0]);
    EXPECT_EQ(found[0].best.view, 1u) << index;
    EXPECT_EQ(found[1].best.view, 0u) << index;
    for (const ViewAlignment& view : found) {
      EXPECT_EQ(view.best.turn, ViewTurn::kUpright) << index;
      EXPECT_LT(view.best.error, 0.06);
      EXPECT_GT(view.given.error, 0.15);
    }
    EXPECT_THAT(describe_problem(found[0], 0.06), HasSubstr("view 1 looks like view 2 (proj"));
  }
}

TEST(ViewAlignment, FlippedViewsAreNamed) {
  const std::vector<std::pair<ViewTurn, Image (*)(Image)>> turns{
      {ViewTurn::kMirrored, mirrored},
      {ViewTurn::kUpsideDown, [](Image image) { return mirrored(half_turned(std::move(image))); }},
      {ViewTurn::kHalfTurn, half_turned}};
  for (std::uint64_t index = 0; index < 8; ++index) {
    const Patient patient(index);
    for (const auto& [turn, turned] : turns) {
      const auto found = patient.compare(turned(patient.views[0]), turned(patient.views[1]));
      for (std::size_t view = 0; view < 2; ++view) {
        EXPECT_EQ(found[view].best.turn, turn) << index << " view " << view;
        EXPECT_EQ(found[view].best.view, view) << index;
        EXPECT_LT(found[view].best.error, 0.06);
        EXPECT_GT(found[view].given.error, found[view].best.error);
        EXPECT_THAT(describe_problem(found[view], 0.06), HasSubstr(std::string(name_of(turn))));
      }
    }
  }
}

TEST(ViewAlignment, AViewMayBeSwappedAndFlipped) {
  const Patient patient(2);
  const auto found = patient.compare(mirrored(patient.views[1]), patient.views[0]);
  EXPECT_EQ(found[0].best.view, 1u);
  EXPECT_EQ(found[0].best.turn, ViewTurn::kMirrored);
  EXPECT_THAT(describe_problem(found[0], 0.06),
              HasSubstr("view 1 looks like view 2, mirrored left to right (projection error 0.0"));
}

TEST(ViewAlignment, BrightnessIsToldApartFromPlace) {
  const Patient patient(3);
  Image darker = patient.views[0];
  for (float& value : darker) value = 0.5F * value + 0.2F;
  Image inverted = patient.views[1];
  for (float& value : inverted) value = 1 - value;
  const auto found = patient.compare(darker, inverted);
  EXPECT_FALSE(found[0].is_misplaced());
  EXPECT_THAT(describe_problem(found[0], 0.06), HasSubstr("its brightness or its geometry"));
  EXPECT_FALSE(found[1].is_misplaced());
  EXPECT_TRUE(found[1].is_inverted());
  EXPECT_THAT(describe_problem(found[1], 0.06), HasSubstr("bright where it should be dark"));
}

TEST(ViewAlignment, AnEmptyImageIsNotMisplaced) {
  const Patient patient(4);
  const Image nothing(kAlignedPixels, 0.0F);
  const auto found = patient.compare(nothing, nothing);
  EXPECT_FALSE(found[0].is_misplaced());
  EXPECT_EQ(found[0].given.error, 1);
}

TEST(ViewAlignment, RefusesImagesOfAnotherSize) {
  const Image image(kAlignedPixels);
  EXPECT_THROW(compare_views(image, image, 2, kAlignedDetector), base::InternalError);
}

}  // namespace
}  // namespace paceline::volume
