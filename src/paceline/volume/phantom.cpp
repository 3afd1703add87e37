#include "paceline/volume/phantom.h"

#include "paceline/base/philox.h"
#include "paceline/volume/projector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace paceline::volume {
namespace {

constexpr double kAirHu = -1000;

/// An ellipsoid with what is asked of it again and again.
class Shape {
 public:
  explicit Shape(const Ellipsoid& part)
      : part_(part),
        cosine_(std::cos(part.turn_degrees * std::numbers::pi / 180)),
        sine_(std::sin(part.turn_degrees * std::numbers::pi / 180)) {}

  const Ellipsoid& part() const { return part_; }
  bool holds(const Vector& place) const {
    const Vector own = as_in_unit_ball(from_center(place));
    return dot(own, own) <= 1;
  }
  /// From where to where it is met; the same twice if it is not.
  std::array<double, 2> meet(const Ray& ray) const {
    const Vector start = as_in_unit_ball(from_center(ray.start));
    const Vector step = as_in_unit_ball(ray.direction);
    const double square = dot(step, step);
    const double middle = -dot(start, step) / square;
    const double reach = middle * middle - (dot(start, start) - 1) / square;
    const double half = std::sqrt(std::max(0.0, reach));
    return {middle - half, middle + half};
  }

 private:
  static double dot(const Vector& a, const Vector& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }
  Vector from_center(const Vector& place) const {
    return {place[0] - part_.center_mm[0], place[1] - part_.center_mm[1],
            place[2] - part_.center_mm[2]};
  }
  Vector as_in_unit_ball(const Vector& way) const {
    const Vector& half = part_.half_axes_mm;
    return {(cosine_ * way[0] + sine_ * way[1]) / half[0],
            (cosine_ * way[1] - sine_ * way[0]) / half[1], way[2] / half[2]};
  }

  Ellipsoid part_;
  double cosine_;
  double sine_;
};

std::vector<Shape> shapes_of(const Phantom& phantom) {
  return {phantom.parts.begin(), phantom.parts.end()};
}

/// The last that holds a place; null in air.
const Ellipsoid* part_at(const std::vector<Shape>& shapes, const Vector& place) {
  const auto found = std::ranges::find_if(shapes.rbegin(), shapes.rend(),
                                          [&](const Shape& shape) { return shape.holds(place); });
  return found == shapes.rend() ? nullptr : &found->part();
}

/// Calls visit with each voxel's number and the place of its middle.
template <class Visit>
void for_each_voxel(const CubeGrid& grid, Visit visit) {
  const double voxel = grid.voxel_mm();
  const auto middle = [&](int i) { return (i + 0.5) * voxel - grid.fov_mm / 2; };
  std::size_t index = 0;
  for (int z = 0; z < grid.side; ++z) {
    for (int y = 0; y < grid.side; ++y) {
      for (int x = 0; x < grid.side; ++x) visit(index++, Vector{middle(x), middle(y), middle(z)});
    }
  }
}

/// Draws patients in shares of the field of view.
class PatientDraws {
 public:
  PatientDraws(std::uint64_t seed, std::uint64_t index, double fov_mm)
      : draws_(seed, base::DrawPurpose::kSynthesis, kStream, index), fov_mm_(fov_mm) {}

  Phantom patient() {
    Phantom phantom;
    body_ = body();
    phantom.parts.push_back(body_);
    const std::size_t first_lung = phantom.parts.size();
    const double height = draws_.uniform(-.05, .25);
    for (const double side : {1.0, -1.0}) phantom.parts.push_back(lung(side, height));
    const std::array lungs{phantom.parts[first_lung], phantom.parts[first_lung + 1]};
    phantom.parts.push_back(part(Organ::kHeart, {-.12, .15, height - .1}, {.24, .3, .2}, 45));
    phantom.parts.push_back(part(Organ::kSpine, {0, -.62, 0}, {.13, .16, 1.0}, 550));
    phantom.parts.push_back(part(Organ::kLiver, {.35, .1, height - .62}, {.42, .5, .25}, 90));
    for (auto left = draws_.below(4); left > 0; --left)
      phantom.parts.push_back(lesion(lungs.at(draws_.below(2))));
    return phantom;
  }

 private:
  static constexpr std::uint64_t kStream = std::uint64_t{3} << 32;  // of none of the pictures

  double mm(double low, double high) { return fov_mm_ * draws_.uniform(low, high); }
  double about(double value, double share) { return value * draws_.uniform(1 - share, 1 + share); }
  /// Whole in the field of view.
  Ellipsoid body() {
    Ellipsoid body{.half_axes_mm = {mm(.24, .47), mm(.2, .44), mm(.27, .48)},
                   .turn_degrees = draws_.uniform(-15, 15),
                   .hu = draws_.uniform(-100, 1900)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double widest =
          axis == 2 ? body.half_axes_mm[2] : std::max(body.half_axes_mm[0], body.half_axes_mm[1]);
      const double room = .49 * fov_mm_ - std::min(widest, .49 * fov_mm_);
      body.center_mm.at(axis) = draws_.uniform(-room, room);
    }
    return body;
  }
  /// A place given in half axes of another part, as it lies turned.
  static Vector place_in(const Ellipsoid& outer, const Vector& place) {
    const double angle = outer.turn_degrees * std::numbers::pi / 180;
    const double x = place[0] * outer.half_axes_mm[0];
    const double y = place[1] * outer.half_axes_mm[1];
    return {outer.center_mm[0] + std::cos(angle) * x - std::sin(angle) * y,
            outer.center_mm[1] + std::sin(angle) * x + std::cos(angle) * y,
            outer.center_mm[2] + place[2] * outer.half_axes_mm[2]};
  }
  /// A part of the body, its place and size in the body's half axes.
  Ellipsoid part(Organ organ, const Vector& place, const Vector& size, double hu) {
    const Vector moved{place[0] + draws_.uniform(-.04, .04), place[1] + draws_.uniform(-.04, .04),
                       place[2] + draws_.uniform(-.05, .05)};
    Ellipsoid own{.center_mm = place_in(body_, moved),
                  .turn_degrees = body_.turn_degrees + draws_.uniform(-10, 10),
                  .hu = about(hu, .3),
                  .organ = organ};
    for (std::size_t axis = 0; axis < 3; ++axis)
      own.half_axes_mm.at(axis) = body_.half_axes_mm.at(axis) * about(size.at(axis), .15);
    return own;
  }
  Ellipsoid lung(double side, double height) {
    return part(Organ::kLung, {.45 * side, .02, height}, {.36, .66, .5}, -780);
  }
  Ellipsoid lesion(const Ellipsoid& lung) {
    const Vector place{draws_.uniform(-.5, .5), draws_.uniform(-.5, .5), draws_.uniform(-.5, .5)};
    const double size = mm(.02, .05);
    return {.center_mm = place_in(lung, place),
            .half_axes_mm = {size, about(size, .3), about(size, .3)},
            .turn_degrees = draws_.uniform(0, 90),
            .hu = draws_.uniform(0, 200),
            .organ = Organ::kLesion};
  }

  base::Philox draws_;
  double fov_mm_;
  Ellipsoid body_;
};

double exact_integral(const std::vector<Shape>& shapes, const Ray& ray, double fov_mm) {
  const auto [first, last] = clip(ray, -fov_mm / 2, fov_mm / 2);
  if (first >= last) return 0;
  std::vector<std::array<double, 2>> met;
  std::vector<double> ends{first, last};
  for (const Shape& shape : shapes) {
    met.push_back(shape.meet(ray));
    for (const double end : met.back()) {
      if (end > first && end < last) ends.push_back(end);
    }
  }
  std::ranges::sort(ends);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    const double middle = (ends[i] + ends[i + 1]) / 2;
    for (std::size_t part = shapes.size(); part-- > 0;) {  // the last one covers the others
      if (middle < met[part][0] || middle > met[part][1]) continue;
      sum += (ends[i + 1] - ends[i]) * attenuation_of_hu(shapes[part].part().hu);
      break;
    }
  }
  return std::max(0.0, sum) / fov_mm;
}

}  // namespace

Phantom draw_phantom(std::uint64_t seed, std::uint64_t index, double fov_mm) {
  return PatientDraws(seed, index, fov_mm).patient();
}

std::vector<float> voxels_of(const Phantom& phantom, const CubeGrid& grid) {
  constexpr std::array kPoints{-1.0 / 3, 0.0, 1.0 / 3};
  const std::vector<Shape> shapes = shapes_of(phantom);
  std::vector<float> values(grid.num_voxels());
  for_each_voxel(grid, [&](std::size_t index, const Vector& middle) {
    double sum = 0;
    for (const double z : kPoints) {
      for (const double y : kPoints) {
        for (const double x : kPoints) {
          const Ellipsoid* const part =
              part_at(shapes, {middle[0] + x * grid.voxel_mm(), middle[1] + y * grid.voxel_mm(),
                               middle[2] + z * grid.voxel_mm()});
          sum += part == nullptr ? kAirHu : part->hu;
        }
      }
    }
    values[index] = static_cast<float>(sum / 27);
  });
  return values;
}

std::vector<std::uint8_t> labels_of(const Phantom& phantom, const CubeGrid& grid) {
  const std::vector<Shape> shapes = shapes_of(phantom);
  std::vector<std::uint8_t> labels(grid.num_voxels());
  for_each_voxel(grid, [&](std::size_t index, const Vector& middle) {
    const Ellipsoid* const part = part_at(shapes, middle);
    labels[index] = static_cast<std::uint8_t>(part == nullptr ? Organ::kAir : part->organ);
  });
  return labels;
}

double exact_projection(const Phantom& phantom, const Ray& ray, double fov_mm) {
  return exact_integral(shapes_of(phantom), ray, fov_mm);
}

std::vector<float> exact_view(const Phantom& phantom, const ViewRays& rays, double fov_mm) {
  const std::vector<Shape> shapes = shapes_of(phantom);
  std::vector<float> image;
  for (int row = 0; row < rays.detector().rows; ++row) {
    for (int column = 0; column < rays.detector().columns; ++column)
      image.push_back(static_cast<float>(exact_integral(shapes, rays.at(row, column), fov_mm)));
  }
  return image;
}

}  // namespace paceline::volume
