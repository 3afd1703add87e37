#pragma once

#include "paceline/data/dataset/dataset.h"

#include <memory>
#include <vector>

namespace paceline::data {

/// The samples of all parts, one part behind the other; Dataset::part() tells them apart. Classes
/// are those of the first part: other parts may lack some, and list them in another order. Throws
/// DataError, which names the part, for classes that the first has not, and for parts whose samples
/// are of other fields.
std::unique_ptr<Dataset> concatenate(std::vector<std::unique_ptr<Dataset>> parts);

}  // namespace paceline::data
