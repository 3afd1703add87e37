#include "paceline/data/picture/slices.h"

#include "paceline/base/error.h"
#include "paceline/volume/projector.h"

#include <algorithm>
#include <cstddef>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr int kSide = 6;
constexpr std::size_t kMiddle = 3;

/// Zeros but for one voxel.
std::vector<float> marked(std::size_t x, std::size_t y, std::size_t z) {
  std::vector<float> cube(kSide * kSide * kSide);
  cube[(z * kSide + y) * kSide + x] = 1;
  return cube;
}

struct Place {
  int row = -1;
  int column = -1;
  friend bool operator==(const Place&, const Place&) = default;
};

/// Where the brightest pixel is.
Place brightest(const std::vector<float>& image) {
  const auto index = static_cast<int>(std::ranges::max_element(image) - image.begin());
  if (image[static_cast<std::size_t>(index)] == 0) return {};
  return {index / kSide, index % kSide};
}

TEST(Slices, WhatIsAtThePatientsRightLiesOnTheLeft) {
  const auto cube = marked(5, kMiddle, kMiddle);  // x grows to the right
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kAxial)).column, 0);
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kCoronal)).column, 0);
  EXPECT_EQ(letters_of(Plane::kAxial).left, 'R');
  EXPECT_EQ(letters_of(Plane::kCoronal).left, 'R');
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kSagittal)), Place{});
}

TEST(Slices, WhatIsInFrontLiesAtTheTopOrOnTheLeft) {
  const auto cube = marked(kMiddle, 5, kMiddle);
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kAxial)), (Place{0, 2}));
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kSagittal)), (Place{2, 0}));
  EXPECT_EQ(letters_of(Plane::kAxial).top, 'A');
  EXPECT_EQ(letters_of(Plane::kSagittal).left, 'A');
}

TEST(Slices, WhatIsAboveLiesAtTheTop) {
  const auto cube = marked(kMiddle, kMiddle, 5);
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kCoronal)), (Place{0, 2}));
  EXPECT_EQ(brightest(middle_slice(cube, kSide, Plane::kSagittal)), (Place{0, 2}));
  EXPECT_EQ(letters_of(Plane::kCoronal).top, 'S');
  EXPECT_EQ(letters_of(Plane::kSagittal).top, 'S');
}

TEST(Slices, OppositeEdgesHaveOppositeLetters) {
  EXPECT_EQ(letters_of(Plane::kAxial), (EdgeLetters{'R', 'L', 'A', 'P'}));
  EXPECT_EQ(letters_of(Plane::kCoronal), (EdgeLetters{'R', 'L', 'S', 'I'}));
  EXPECT_EQ(letters_of(Plane::kSagittal), (EdgeLetters{'A', 'P', 'S', 'I'}));
  for (const Plane plane : kPlanes) EXPECT_FALSE(name_of(plane).empty());
}

TEST(Slices, ACubeHasAllItsVoxels) {
  EXPECT_THROW(middle_slice(std::vector<float>(10), 3, Plane::kAxial), base::InternalError);
}

/// The letter beside which a voxel is seen in the view that the projector makes.
char letter_beside(const std::vector<float>& cube, double angle) {
  const volume::CubeGrid grid{kSide, 60};
  const volume::ViewRays rays({.fov_mm = 60}, angle, {kSide, kSide});
  std::vector<float> view(kSide * kSide);
  volume::project<float>(cube, grid, rays, volume::RayMethod::kSiddon, 0, kSide, view);
  const Place place = brightest(view);
  const EdgeLetters letters = letters_of_view(angle);
  if (place.column == 0) return letters.left;
  if (place.column == kSide - 1) return letters.right;
  return place.row == 0 ? letters.top : letters.bottom;
}

TEST(Slices, LettersOfViewsAreWhereTheProjectorShowsThem) {
  for (const double angle : {0.0, 180.0, -10.0, 360.0}) {
    EXPECT_EQ(letter_beside(marked(5, kMiddle, kMiddle), angle), 'R') << angle;
    EXPECT_EQ(letter_beside(marked(0, kMiddle, kMiddle), angle), 'L') << angle;
  }
  for (const double angle : {90.0, 270.0, -90.0}) {
    EXPECT_EQ(letter_beside(marked(kMiddle, 5, kMiddle), angle), 'A') << angle;
    EXPECT_EQ(letter_beside(marked(kMiddle, 0, kMiddle), angle), 'P') << angle;
  }
  EXPECT_EQ(letter_beside(marked(kMiddle, kMiddle, 5), 0), 'S');
  EXPECT_EQ(letter_beside(marked(kMiddle, kMiddle, 0), 90), 'I');
  EXPECT_EQ(letters_of_view(45), (EdgeLetters{'\0', '\0', 'S', 'I'}));
  EXPECT_EQ(letters_of_view(0), letters_of(Plane::kCoronal));
  EXPECT_EQ(letters_of_view(90), letters_of(Plane::kSagittal));
}

TEST(Slices, ViewsHaveNames) {
  EXPECT_EQ(name_of_view(0), "frontal");
  EXPECT_EQ(name_of_view(90), "lateral");
  EXPECT_EQ(name_of_view(-12.5), "-12.5 deg");
}

}  // namespace
}  // namespace paceline::data
