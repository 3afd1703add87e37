#pragma once

#include "paceline/comm/communicator.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace paceline::train {

/// Where sample `index` of the training set lies, for people.
using SampleName = std::function<std::string(std::int64_t index)>;

/// Throws DivergedError that names the step, up to eight of the samples whose batches had a loss
/// that is not finite, by rank, and what to try. `own` are those of this rank. Every rank must call
/// it.
[[noreturn]] void refuse_non_finite_loss(std::int64_t step, std::span<const std::int64_t> own,
                                         const SampleName& name_of,
                                         comm::Communicator& communicator);

/// Throws DivergedError, which says what to try, unless the norm of the step's gradients is finite.
void refuse_non_finite_norm(std::int64_t step, double norm);

/// Throws DivergedError, which says what to try: no scale of fp16's loss is small enough.
[[noreturn]] void refuse_small_loss_scale(std::int64_t step);

}  // namespace paceline::train
