#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>

namespace paceline::data {

/// The samples of a data set in an order drawn by `seed`.
std::unique_ptr<Dataset> shuffled(std::unique_ptr<Dataset> dataset, std::uint64_t seed);

}  // namespace paceline::data
