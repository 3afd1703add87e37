#include "paceline/dataset_tools/synth_scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

namespace paceline::dataset_tools {
namespace {

constexpr std::array<std::string_view, 8> kShapes = {"circle", "ring", "square",   "triangle",
                                                     "star",   "bar",  "crescent", "cross"};
constexpr std::array<std::string_view, 6> kTextures = {"solid",  "striped", "checked",
                                                       "dotted", "ringed",  "wavy"};
constexpr double kTurn = 2 * std::numbers::pi;

// 24 is the least common multiple of 8 and 6: below it each class has another pair, and the shift
// by one gives the other 24.
int shape_of(int class_index) { return class_index % 8; }
int texture_of(int class_index) { return (class_index + class_index / 24) % 6; }

Color draw_color(base::Philox& draws, double low, double high) {
  return {draws.uniform(low, high), draws.uniform(low, high), draws.uniform(low, high)};
}

/// Without the care for extreme numbers that makes std::hypot slow.
double length(double x, double y) { return std::sqrt(x * x + y * y); }

/// A turned, squashed and scaled frame of reference: the shape's own unit coordinates.
struct Frame {
  double center_x, center_y, radius, cosine, sine, squash;

  std::array<double, 2> local(double x, double y) const {
    const double dx = (x - center_x) / radius;
    const double dy = (y - center_y) / radius;
    return {(cosine * dx + sine * dy) * squash, (cosine * dy - sine * dx) / squash};
  }
};

Frame draw_frame(base::Philox& draws, double center_x, double center_y, double radius,
                 double max_angle) {
  const double angle = draws.uniform(-max_angle, max_angle);
  return {center_x, center_y, radius, std::cos(angle), std::sin(angle), draws.uniform(0.85, 1.18)};
}

/// Below 0 inside the shape, above 0 outside, about 1 per unit.
double shape_distance(int shape, double x, double y) {
  const double r = length(x, y);
  const double ax = std::abs(x);
  const double ay = std::abs(y);
  switch (shape) {
    case 0:
      return r - 0.95;
    case 1:
      return std::abs(r - 0.74) - 0.26;
    case 2:
      return std::max(ax, ay) - 0.8;
    case 3:
      return std::max(0.866 * ax - 0.5 * y, y) - 0.55;
    case 4: {
      const double fifth = (std::atan2(x, -y) / kTurn + 1.0) * 5;
      return r - (0.45 + 0.6 * std::abs(2 * (fifth - std::floor(fifth)) - 1));
    }
    case 5:
      return std::max(ax - 1.05, ay - 0.42);
    case 6:
      return std::max(r - 1.0, 0.75 - length(x - 0.5, y));
    default:
      return std::min(std::max(ax - 1.0, ay - 0.32), std::max(ax - 0.32, ay - 1.0));
  }
}

/// The share of the second colour at a point.
double texture_share(int texture, double x, double y, double frequency) {
  const auto wave = [](double periods) { return std::sin(kTurn * periods) > 0 ? 1.0 : 0.0; };
  const double u = x * frequency;
  const double v = y * frequency;
  switch (texture) {
    case 0:
      return 0.0;
    case 1:
      return wave(1.6 * u);
    case 2:
      return wave(1.1 * u) == wave(1.1 * v) ? 1.0 : 0.0;
    case 3: {
      const double cell_x = 2.2 * u - std::floor(2.2 * u) - 0.5;
      const double cell_y = 2.2 * v - std::floor(2.2 * v) - 0.5;
      return length(cell_x, cell_y) < 0.3 ? 1.0 : 0.0;
    }
    case 4:
      return wave(1.8 * length(u, v));
    default:
      return wave(1.5 * v + 0.3 * std::sin(kTurn * u));
  }
}

class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), pixels_(static_cast<std::size_t>(width) * height) {}

  void fill_gradient(const Color& from, const Color& to, double angle) {
    const double dx = std::cos(angle) / width_;
    const double dy = std::sin(angle) / height_;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) at(x, y) = mix(from, to, 0.5 + 0.5 * (x * dx + y * dy));
    }
  }

  void paint(int shape, int texture, const Frame& frame, const Color& first, const Color& second,
             double frequency) {
    const double reach = 1.5 * frame.radius;
    const int x_end = std::min(width_, static_cast<int>(frame.center_x + reach) + 1);
    const int y_end = std::min(height_, static_cast<int>(frame.center_y + reach) + 1);
    for (int y = std::max(0, static_cast<int>(frame.center_y - reach)); y < y_end; ++y) {
      for (int x = std::max(0, static_cast<int>(frame.center_x - reach)); x < x_end; ++x) {
        const auto [u, v] = frame.local(x + 0.5, y + 0.5);
        const double inside = 0.5 - shape_distance(shape, u, v) * frame.radius;
        if (inside <= 0) continue;
        const Color color = mix(first, second, texture_share(texture, u, v, frequency));
        at(x, y) = mix(at(x, y), color, std::min(inside, 1.0));
      }
    }
  }

  Scene scene() && { return {width_, height_, std::move(pixels_)}; }

 private:
  Color& at(int x, int y) { return pixels_[static_cast<std::size_t>(y) * width_ + x]; }

  int width_;
  int height_;
  std::vector<Color> pixels_;
};

void paint_clutter(Canvas& canvas, base::Philox& draws, int width, int height) {
  const double side = std::min(width, height);
  const int pieces = 6 + static_cast<int>(draws.below(9));
  for (int i = 0; i < pieces; ++i) {
    const double x = draws.uniform(0, width);
    const double y = draws.uniform(0, height);
    const Frame frame = draw_frame(draws, x, y, side * draws.uniform(0.05, 0.16), std::numbers::pi);
    const Color first = draw_color(draws, 20, 235);
    const Color second = draw_color(draws, 20, 235);
    const int shape = static_cast<int>(draws.below(kShapes.size()));
    const int texture = static_cast<int>(draws.below(kTextures.size()));
    canvas.paint(shape, texture, frame, first, second, draws.uniform(0.5, 1.5));
  }
}

}  // namespace

std::string scene_name(int class_index) {
  return std::string(kTextures[static_cast<std::size_t>(texture_of(class_index))]) + "_" +
         std::string(kShapes[static_cast<std::size_t>(shape_of(class_index))]);
}

Scene paint_scene(int class_index, int width, int height, base::Philox& draws) {
  const double side = std::min(width, height);
  Canvas canvas(width, height);
  const Color from = draw_color(draws, 40, 215);
  const Color to = draw_color(draws, 40, 215);
  canvas.fill_gradient(from, to, draws.uniform(0, kTurn));
  paint_clutter(canvas, draws, width, height);

  const double x = width * draws.uniform(0.42, 0.58);
  const double y = height * draws.uniform(0.42, 0.58);
  const Frame frame = draw_frame(draws, x, y, side * draws.uniform(0.36, 0.47), 0.45);
  // One light and one dark colour keep the texture visible; which of them comes first is drawn too.
  Color first = draw_color(draws, 150, 255);
  Color second = draw_color(draws, 0, 95);
  if (draws.below(2) == 1) std::swap(first, second);
  canvas.paint(shape_of(class_index), texture_of(class_index), frame, first, second,
               draws.uniform(0.85, 1.15));
  return std::move(canvas).scene();
}

Color mix(const Color& a, const Color& b, double share_of_b) {
  return {a[0] + (b[0] - a[0]) * share_of_b, a[1] + (b[1] - a[1]) * share_of_b,
          a[2] + (b[2] - a[2]) * share_of_b};
}

data::Image with_noise(const Scene& scene, base::Philox& draws, double strength) {
  data::Image image{scene.width, scene.height, {}};
  image.pixels.reserve(scene.pixels.size() * 3);
  for (const Color& color : scene.pixels) {
    const std::uint32_t word = draws.next();
    for (unsigned channel = 0; channel < 3; ++channel) {
      const double noise = ((word >> (8 * channel)) & 255u) / 127.5 - 1.0;
      const double value = color[channel] + strength * noise;
      image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)));
    }
  }
  return image;
}

}  // namespace paceline::dataset_tools
