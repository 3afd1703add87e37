#include "paceline/volume/view_alignment.h"

#include "paceline/base/error.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace paceline::volume {
namespace {

constexpr std::array kTurns{ViewTurn::kUpright, ViewTurn::kMirrored, ViewTurn::kUpsideDown,
                            ViewTurn::kHalfTurn};

std::vector<float> turned(std::span<const float> image, ViewTurn turn,
                          const DetectorGrid& detector) {
  const auto rows = static_cast<std::size_t>(detector.rows);
  const auto columns = static_cast<std::size_t>(detector.columns);
  const bool is_mirrored = turn == ViewTurn::kMirrored || turn == ViewTurn::kHalfTurn;
  const bool is_upside_down = turn == ViewTurn::kUpsideDown || turn == ViewTurn::kHalfTurn;
  std::vector<float> result;
  result.reserve(image.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column)
      result.push_back(image[(is_upside_down ? rows - 1 - row : row) * columns +
                             (is_mirrored ? columns - 1 - column : column)]);
  }
  return result;
}

double mean_of(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

ViewFit fit(std::span<const float> image, std::span<const float> projection) {
  const double image_mean = mean_of(image);
  const double projection_mean = mean_of(projection);
  double apart = 0;
  double size = 0;
  double both = 0;
  double image_spread = 0;
  double projection_spread = 0;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double one = image[i];
    const double other = projection[i];
    apart += (one - other) * (one - other);
    size += other * other;
    both += (one - image_mean) * (other - projection_mean);
    image_spread += (one - image_mean) * (one - image_mean);
    projection_spread += (other - projection_mean) * (other - projection_mean);
  }
  const double spread = std::sqrt(image_spread * projection_spread);
  return {.error = size > 0 ? std::sqrt(apart / size) : (apart > 0 ? 1.0 : 0.0),
          .correlation = spread > 0 ? both / spread : 0};
}

/// What a line through the pixels' values leaves unexplained. A frontal view is nearly its own
/// mirror image, so another fit has to leave clearly less.
bool is_clearly_better(const ViewFit& fit, const ViewFit& than) {
  constexpr double kShare = 0.8;
  const auto rest = [](const ViewFit& of) { return 1 - of.correlation * of.correlation; };
  return rest(fit) < kShare * rest(than);
}

}  // namespace

std::string_view name_of(ViewTurn turn) {
  switch (turn) {
    case ViewTurn::kUpright:
      return "upright";
    case ViewTurn::kMirrored:
      return "mirrored left to right";
    case ViewTurn::kUpsideDown:
      return "upside down";
    case ViewTurn::kHalfTurn:
      return "turned by 180 degrees";
  }
  return "";
}

std::vector<ViewAlignment> compare_views(std::span<const float> images,
                                         std::span<const float> projections, std::size_t num_views,
                                         const DetectorGrid& detector) {
  const auto pixels =
      static_cast<std::size_t>(detector.rows) * static_cast<std::size_t>(detector.columns);
  PACELINE_CHECK(images.size() == num_views * pixels && projections.size() == images.size(),
                 "{} and {} pixels, expected {} views of {}", images.size(), projections.size(),
                 num_views, pixels);
  std::vector<ViewAlignment> alignments;
  for (std::size_t view = 0; view < num_views; ++view) {
    const auto image = images.subspan(view * pixels, pixels);
    ViewAlignment alignment{.given = fit(image, projections.subspan(view * pixels, pixels)),
                            .best = {}};
    alignment.given.view = view;
    alignment.best = alignment.given;
    for (const ViewTurn turn : kTurns) {
      const std::vector<float> candidate = turned(image, turn, detector);
      for (std::size_t other = 0; other < num_views; ++other) {
        ViewFit found = fit(candidate, projections.subspan(other * pixels, pixels));
        found.view = other;
        found.turn = turn;
        const bool is_first = !alignment.is_misplaced();
        if (is_first ? is_clearly_better(found, alignment.given)
                     : std::abs(found.correlation) > std::abs(alignment.best.correlation))
          alignment.best = found;
      }
    }
    alignments.push_back(alignment);
  }
  return alignments;
}

std::string describe_problem(const ViewAlignment& alignment, double most_error) {
  const ViewFit& given = alignment.given;
  const ViewFit& best = alignment.best;
  std::string what;
  if (best.view != given.view) what += fmt::format("looks like view {}", best.view + 1);
  if (best.turn != ViewTurn::kUpright)
    what += fmt::format("{}{}", what.empty() ? "is " : ", ", name_of(best.turn));
  if (alignment.is_inverted())
    what += fmt::format("{}bright where it should be dark", what.empty() ? "is " : ", ");
  if (what.empty() && given.error <= most_error) return {};
  if (what.empty())
    return fmt::format(
        "view {} lies as it should, but its projection error is {:.3g}, more than {:.3g}: its "
        "brightness or its geometry is another",
        given.view + 1, given.error, most_error);
  return fmt::format("view {} {} (projection error {:.3g}, as it is {:.3g})", given.view + 1, what,
                     best.error, given.error);
}

}  // namespace paceline::volume
