#pragma once

#include "paceline/optim/optimizer.h"

#include <cstdint>
#include <vector>

namespace paceline::parallel {

/// Neighbouring elements of a slot that are parts of as many units, alike in length. A unit is what
/// makes one output: a row of a matrix, a filter of a convolution; a vector is one unit.
struct UnitSegment {
  std::int64_t begin = 0;
  std::int64_t first_unit = 0;
  std::int64_t num_units = 0;
  std::int64_t length = 0;  ///< of each unit's part
};

/// The units of all parameters, numbered one after the other.
class Units {
 public:
  explicit Units(const optim::ParameterShards& shards);

  std::int64_t count() const { return count_; }
  /// Of a whole parameter, as of a slot that is one.
  UnitSegment of_parameter(std::int64_t parameter) const;
  /// At most three: a part of a unit, whole ones, and a part of another.
  std::vector<UnitSegment> segments(const optim::ParamPiece& piece) const;

 private:
  struct Place {
    std::int64_t first_unit = 0;
    std::int64_t num_units = 0;
    std::int64_t length = 0;  ///< elements of a unit
  };
  std::vector<Place> places_;
  std::int64_t count_ = 0;
};

}  // namespace paceline::parallel
