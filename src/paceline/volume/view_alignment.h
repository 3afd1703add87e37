#pragma once

#include "paceline/volume/projection_geometry.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::volume {

/// How an image may lie.
enum class ViewTurn {
  kUpright,
  kMirrored,    ///< left to right
  kUpsideDown,  ///< top to bottom
  kHalfTurn,    ///< both
};

/// "mirrored left to right".
std::string_view name_of(ViewTurn turn);

/// How well an image is what a cube's projection shows, if it is taken to lie so.
struct ViewFit {
  std::size_t view = 0;  ///< the projection that it is compared with
  ViewTurn turn = ViewTurn::kUpright;
  double error = 0;        ///< |image - projection| / |projection|, norms over the pixels
  double correlation = 0;  ///< Pearson's, which brightness and contrast do not change
};

/// What was found for one image.
struct ViewAlignment {
  ViewFit given;  ///< as it should be
  ViewFit best;   ///< of all views and turns the one of the strongest correlation; `given` unless
                  ///< another is clearly better
  bool is_misplaced() const { return best.view != given.view || best.turn != given.turn; }
  /// Bright where it should be dark.
  bool is_inverted() const { return best.correlation < 0; }
};

/// Compares each of `num_views` images with each of as many projections, as it is, mirrored, upside
/// down and turned by half. Both are [views, rows, columns], in the same unit.
std::vector<ViewAlignment> compare_views(std::span<const float> images,
                                         std::span<const float> projections, std::size_t num_views,
                                         const DetectorGrid& detector);

/// What is wrong with image number `view`, counted from 1 for people: "view 1 looks like view 2,
/// mirrored left to right (projection error 0.02, as it is 0.48)"; empty if it lies as it should
/// and its error is at most `most_error`.
std::string describe_problem(const ViewAlignment& alignment, double most_error);

}  // namespace paceline::volume
