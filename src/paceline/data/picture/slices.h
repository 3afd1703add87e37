#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What lies at the edges of an image of a patient: R or L, A (anterior) or P, S (superior) or I;
/// '\0': nothing that has a name.
struct EdgeLetters {
  char left = '\0';
  char right = '\0';
  char top = '\0';
  char bottom = '\0';
  friend bool operator==(const EdgeLetters&, const EdgeLetters&) = default;
};

/// Slices are shown as radiologists look at them: axial ones from the feet and coronal ones from
/// the front, with the patient's right on the left, sagittal ones from the patient's left, with the
/// front on the left, as a lateral X-ray.
enum class Plane { kAxial, kCoronal, kSagittal };
inline constexpr std::array kPlanes{Plane::kAxial, Plane::kCoronal, Plane::kSagittal};

std::string_view name_of(Plane plane);
EdgeLetters letters_of(Plane plane);

/// The slice through the middle of a cube [z][y][x] (voxel side / 2), x to the patient's right, y
/// to the front, z up: [side, side], row by row as it is shown.
std::vector<float> middle_slice(std::span<const float> cube, int side, Plane plane);

/// Of an X-ray taken at this angle (volume::ProjectionGeometry).
EdgeLetters letters_of_view(double angle_degrees);
/// "frontal", "lateral" or the angle.
std::string name_of_view(double angle_degrees);

}  // namespace paceline::data
