#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>

namespace paceline::data {

/// Which of the two parts that a share divides a data set into.
enum class SharePart { kKept, kHeldOut };

/// The part of a data set that is held out, about `share` of it (0 < share < 1), or the rest. Where
/// a sample belongs is a function of the seed, its class and its name alone: it stays there when
/// others come or go, and in every format that keeps names. O(number of samples) at the start.
/// Throws DataError if the part is empty.
std::unique_ptr<Dataset> take_share(std::unique_ptr<Dataset> dataset, double share,
                                    std::uint64_t seed, SharePart part);

}  // namespace paceline::data
