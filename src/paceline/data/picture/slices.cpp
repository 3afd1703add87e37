#include "paceline/data/picture/slices.h"

#include "paceline/base/error.h"
#include "paceline/volume/view_frame.h"

#include <fmt/format.h>

namespace paceline::data {

std::string_view name_of(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return "axial";
    case Plane::kCoronal:
      return "coronal";
    case Plane::kSagittal:
      return "sagittal";
  }
  return "";
}

EdgeLetters letters_of(Plane plane) {
  switch (plane) {
    case Plane::kAxial:
      return {.left = 'R', .right = 'L', .top = 'A', .bottom = 'P'};
    case Plane::kCoronal:
      return {.left = 'R', .right = 'L', .top = 'S', .bottom = 'I'};
    case Plane::kSagittal:
      return {.left = 'A', .right = 'P', .top = 'S', .bottom = 'I'};
  }
  return {};
}

std::vector<float> middle_slice(std::span<const float> cube, int side, Plane plane) {
  const auto length = static_cast<std::size_t>(side);
  PACELINE_CHECK(cube.size() == length * length * length, "{} values of a cube of {} a side",
                 cube.size(), side);
  const std::size_t middle = length / 2;
  std::vector<float> slice;
  slice.reserve(length * length);
  // Indices fall along rows and columns, as they grow to the right, to the front and upwards.
  for (std::size_t down = length; down-- > 0;) {
    for (std::size_t across = length; across-- > 0;) {
      const std::size_t z = plane == Plane::kAxial ? middle : down;
      const std::size_t y =
          plane == Plane::kAxial ? down : (plane == Plane::kCoronal ? middle : across);
      const std::size_t x = plane == Plane::kSagittal ? middle : across;
      slice.push_back(cube[(z * length + y) * length + x]);
    }
  }
  return slice;
}

EdgeLetters letters_of_view(double angle_degrees) {
  constexpr double kNearly = 0.95;  // of the cosine: up to 18 degrees beside
  const volume::Vector right = volume::view_frame({}, angle_degrees).right;
  EdgeLetters letters{.top = 'S', .bottom = 'I'};
  const auto name = [&](double towards, char there, char opposite) {
    if (towards > kNearly) letters = {opposite, there, 'S', 'I'};
    if (towards < -kNearly) letters = {there, opposite, 'S', 'I'};
  };
  name(right[0], 'R', 'L');
  name(right[1], 'A', 'P');
  return letters;
}

std::string name_of_view(double angle_degrees) {
  if (angle_degrees == 0) return "frontal";
  if (angle_degrees == 90) return "lateral";
  return fmt::format("{:.4g} deg", angle_degrees);
}

}  // namespace paceline::data
