#include "paceline/dataset_tools/synth_digit.h"

#include "paceline/base/error.h"
#include "paceline/base/philox.h"
#include "paceline/dataset_tools/synth_scene.h"
#include "paceline/dataset_tools/synth_texture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace paceline::dataset_tools {
namespace {

// Of the functions of mathematics only sqrt, floor and sums and products are used here: IEEE 754
// leaves no choice in them, so pictures are the same everywhere.

struct Point {
  double x, y;
};

/// What a pen passes without being lifted, as a curve through these points; a point that comes
/// twice is a corner. x is from -0.6 to 0.6, y from -1 to 1 and grows downwards.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// The ways to write each digit.
const std::array<std::vector<Glyph>, kNumDigits>& writings() {
  static const std::array<std::vector<Glyph>, kNumDigits> all{{
      {{{{.05, -1}, {-.5, -.55}, {-.55, .3}, {-.1, 1}, {.45, .6}, {.55, -.3}, {.05, -1}}},
       {{{.25, -.9}, {-.3, -.8}, {-.5, .1}, {-.2, .9}, {.3, .85}, {.5, 0}, {.3, -.8}, {-.1, -1}}}},
      {{{{0, -1}, {0, 1}}},
       {{{-.35, -.5}, {.1, -1}, {.1, -1}, {.05, 1}}},
       {{{-.35, -.55}, {0, -1}, {0, -1}, {0, 1}}, {{-.4, 1}, {.4, 1}}}},
      {{{{-.5, -.55}, {-.1, -1}, {.45, -.7}, {.3, -.1}, {-.55, 1}, {-.55, 1}, {.6, 1}}},
       {{{-.5, -.65}, {0, -1}, {.45, -.6}, {.1, .2}, {-.4, .95}, {-.5, .6}, {-.1, .7}, {.6, 1}}}},
      {{{{-.5, -.75}, {0, -1}, {.4, -.6}, {0, -.1}, {0, -.1}, {.5, .4}, {.1, 1}, {-.5, .75}}},
       {{{-.5, -1}, {.45, -1}, {.45, -1}, {-.1, -.2}, {-.1, -.2}, {.5, .3}, {.1, 1}, {-.5, .8}}}},
      {{{{-.25, -1}, {-.5, .2}, {-.5, .2}, {.6, .15}}, {{.3, -.45}, {.2, 1}}},
       {{{.25, 1}, {.3, -1}, {.3, -1}, {-.55, .35}, {-.55, .35}, {.6, .35}}}},
      {{{{.5, -1},
         {-.35, -1},
         {-.35, -1},
         {-.45, -.1},
         {-.45, -.1},
         {.1, -.3},
         {.55, .3},
         {.15, .95},
         {-.5, .8}}},
       {{{-.3, -.95}, {-.4, -.1}, {-.4, -.1}, {.3, -.2}, {.5, .5}, {0, 1}, {-.5, .75}},
        {{-.3, -1}, {.5, -.95}}}},
      {{{{.35, -1}, {-.25, -.5}, {-.5, .3}, {-.15, 1}, {.45, .7}, {.3, .1}, {-.4, .4}}},
       {{{.1, -1}, {-.4, 0}, {-.4, .8}, {.2, .95}, {.45, .4}, {0, .05}, {-.4, .4}}}},
      {{{{-.5, -1}, {.5, -1}, {.5, -1}, {-.15, 1}}},
       {{{-.5, -.7}, {-.45, -1}, {-.45, -1}, {.5, -.95}, {.5, -.95}, {.05, 0}, {-.1, 1}}},
       {{{-.5, -1}, {.5, -1}, {.5, -1}, {-.15, 1}}, {{-.25, .05}, {.4, 0}}}},
      {{{{.4, -.7},
         {0, -1},
         {-.4, -.6},
         {.1, 0},
         {.45, .55},
         {0, 1},
         {-.45, .6},
         {0, -.05},
         {.4, -.7}}},
       {{{0, -1}, {-.35, -.55}, {0, -.1}, {.35, -.55}, {0, -1}},
        {{0, -.1}, {-.5, .5}, {0, 1}, {.5, .5}, {0, -.1}}}},
      {{{{.4, -.7}, {-.1, -1}, {-.45, -.5}, {-.05, -.1}, {.4, -.65}, {.45, -.4}, {.05, 1}}},
       {{{.45, -.8}, {-.2, -.95}, {-.4, -.3}, {.2, -.15}, {.45, -.8}, {.45, -.8}, {.4, 1}}}},
  }};
  return all;
}

bool is_same(const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; }

/// Points moved by a little of their own; corners stay corners.
Stroke shaken(const Stroke& stroke, base::Philox& draws) {
  constexpr double kReach = 0.14;
  Stroke moved;
  for (std::size_t i = 0; i < stroke.size(); ++i) {
    if (i > 0 && is_same(stroke[i], stroke[i - 1])) {
      moved.push_back(moved.back());
      continue;
    }
    const double x = stroke[i].x + draws.uniform(-kReach, kReach);
    moved.push_back({x, stroke[i].y + draws.uniform(-kReach, kReach)});
  }
  return moved;
}

/// Points of the Catmull-Rom spline, at the same parameters in each of its pieces.
Stroke curve_through(const Stroke& stroke) {
  constexpr int kSteps = 8;
  Stroke curve;
  for (std::size_t i = 0; i + 1 < stroke.size(); ++i) {
    const Point& from = stroke[i];
    const Point& to = stroke[i + 1];
    if (is_same(from, to)) continue;
    const Point& before = stroke[i == 0 ? 0 : i - 1];
    const Point& after = stroke[std::min(i + 2, stroke.size() - 1)];
    for (int step = 0; step < kSteps; ++step) {
      const double t = static_cast<double>(step) / kSteps;
      const auto at = [&](double p0, double p1, double p2, double p3) {
        return p1 +
               0.5 * t *
                   (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
      };
      curve.push_back({at(before.x, from.x, to.x, after.x), at(before.y, from.y, to.y, after.y)});
    }
  }
  curve.push_back(stroke.back());
  return curve;
}

/// Where a glyph's points come to lie, in pixels.
struct Hand {
  Point center;
  double height, width;  ///< half of them, in pixels
  double slant, bend;    ///< sideways by so much of y and of its square
  double cosine, sine;

  Point place(const Point& point) const {
    const double x = width * point.x + height * (slant * point.y + bend * point.y * point.y);
    const double y = height * point.y;
    return {center.x + cosine * x - sine * y, center.y + sine * x + cosine * y};
  }
};

Hand draw_hand(base::Philox& draws) {
  Hand hand{};
  const double middle = kDigitSide / 2.0;
  hand.height = draws.uniform(6, 11);
  hand.width = hand.height * draws.uniform(0.65, 1.25);
  hand.center.x = middle + draws.uniform(-5, 5);
  hand.center.y = middle + draws.uniform(-5, 5);
  hand.slant = draws.uniform(-0.5, 0.3);
  hand.bend = draws.uniform(-0.15, 0.15);
  const double tangent = draws.uniform(-0.25, 0.25);
  hand.cosine = 1 / std::sqrt(1 + tangent * tangent);
  hand.sine = tangent * hand.cosine;
  return hand;
}

double distance(const Point& point, const Point& from, const Point& to) {
  const Point way{to.x - from.x, to.y - from.y};
  const Point own{point.x - from.x, point.y - from.y};
  const double square = way.x * way.x + way.y * way.y;
  const double share = square > 0 ? (own.x * way.x + own.y * way.y) / square : 0.0;
  const double nearest = std::clamp(share, 0.0, 1.0);
  const double dx = own.x - nearest * way.x;
  const double dy = own.y - nearest * way.y;
  return std::sqrt(dx * dx + dy * dy);
}

/// Draws a line over the paper, in what the ink shows there.
void paint_line(Scene& paper, const Scene& ink, const Stroke& line, double half_width) {
  for (int y = 0; y < paper.height; ++y) {
    for (int x = 0; x < paper.width; ++x) {
      double nearest = kDigitSide;
      for (std::size_t i = 0; i + 1 < line.size(); ++i)
        nearest = std::min(nearest, distance({x + 0.5, y + 0.5}, line[i], line[i + 1]));
      const double share = std::clamp(half_width + 0.5 - nearest, 0.0, 1.0);
      const std::size_t at = static_cast<std::size_t>(y) * paper.width + x;
      paper.pixels[at] = mix(paper.pixels[at], ink.pixels[at], share);
    }
  }
}

/// Pieces of other writing, as thick as the digit's strokes and mostly at the edges.
void paint_stray_strokes(Scene& paper, const Scene& ink, double half_width, base::Philox& draws) {
  const auto draw_point = [&](double reach, const Point& around) {
    const double x = around.x + draws.uniform(-reach, reach);
    return Point{x, around.y + draws.uniform(-reach, reach)};
  };
  for (auto left = draws.below(4); left > 0; --left) {
    const double edge = draws.below(2) == 0 ? 1.0 : kDigitSide - 1.0;
    const double along = draws.uniform(0, kDigitSide);
    const Point start = draws.below(2) == 0 ? Point{edge, along} : Point{along, edge};
    const Point bend = draw_point(6, start);
    paint_line(paper, ink, curve_through({start, bend, draw_point(6, bend)}), half_width);
  }
}

Color draw_tint(base::Philox& draws) {
  Color tint{};
  for (double& channel : tint) channel = draws.uniform(-30, 30);
  return tint;
}

/// A surface of about `level`, with a gradient in a drawn direction and a texture that makes it
/// lighter and darker by up to `roughness`.
Scene draw_surface(double level, double roughness, base::Philox& draws) {
  const Color tint = draw_tint(draws);
  const double to_right = draws.uniform(-0.8, 0.8);
  const double down = draws.uniform(-0.8, 0.8);
  const Texture texture(kDigitSide, draws);
  Scene surface{kDigitSide, kDigitSide, {}};
  for (int y = 0; y < kDigitSide; ++y) {
    for (int x = 0; x < kDigitSide; ++x) {
      const double light =
          level + to_right * (x - 15.5) + down * (y - 15.5) + roughness * texture.at(x, y);
      surface.pixels.push_back({light + tint[0], light + tint[1], light + tint[2]});
    }
  }
  return surface;
}

/// Paper and the ink on it, which is the darker or the lighter of them.
struct Surfaces {
  Scene paper, ink;
};

Surfaces draw_surfaces(base::Philox& draws) {
  const double contrast = draws.uniform(40, 150);
  const double step = draws.below(2) == 0 ? contrast : -contrast;
  const double middle = 127.5 + draws.uniform(-30, 30);
  Scene paper = draw_surface(middle + step / 2, contrast * draws.uniform(0.1, 0.6), draws);
  Scene ink = draw_surface(middle - step / 2, contrast * draws.uniform(0.1, 0.6), draws);
  return {std::move(paper), std::move(ink)};
}

}  // namespace

data::Image synthesize_digit(int digit, std::uint64_t seed, std::int64_t index) {
  PACELINE_CHECK(digit >= 0 && digit < kNumDigits, "there is no digit {}", digit);
  base::Philox draws(seed, base::DrawPurpose::kSynthesis,
                     static_cast<std::uint64_t>(digit) + (std::uint64_t{2} << 32),
                     static_cast<std::uint64_t>(index));
  auto [paper, ink] = draw_surfaces(draws);
  const double half_width = draws.uniform(0.7, 1.9);
  paint_stray_strokes(paper, ink, half_width, draws);
  const Hand hand = draw_hand(draws);
  const std::vector<Glyph>& ways = writings()[static_cast<std::size_t>(digit)];
  for (const Stroke& stroke : ways[draws.below(ways.size())]) {
    Stroke line = curve_through(shaken(stroke, draws));
    for (Point& point : line) point = hand.place(point);
    paint_line(paper, ink, line, half_width);
  }
  return with_noise(paper, draws, draws.uniform(4, 34));
}

}  // namespace paceline::dataset_tools
