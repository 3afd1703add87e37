#pragma once

#include <string>
#include <vector>

namespace paceline::config {

/// Lengths of the sides of an image or array: one for all, or one for each axis, the last axis
/// last: [height, width]. In YAML a number or a list.
struct Sides {
  std::vector<int> lengths = {1};

  Sides() = default;
  Sides(int side) : lengths{side} {}  // NOLINT(google-explicit-constructor): a side is one
  Sides(int height, int width) : lengths{height, width} {}
  bool operator==(const Sides&) const = default;

  /// Whether there is one for all.
  bool is_one() const { return lengths.size() == 1; }
  /// Of an image, which has at most two.
  int height() const { return lengths.front(); }
  int width() const { return lengths.back(); }
  int shorter() const { return height() < width() ? height() : width(); }

  std::string to_string() const;  ///< "224", "[96, 128]"
};

}  // namespace paceline::config
