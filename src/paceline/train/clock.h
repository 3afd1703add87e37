#pragma once

#include "paceline/config/duration.h"

#include <cstdint>

namespace paceline::train {

/// How far the run is. The loader's position is `step`: one global batch per optimizer step.
struct Clock {
  std::int64_t step = 0;        ///< optimizer steps done
  std::int64_t samples = 0;     ///< training samples seen, over all ranks
  double elapsed_s = 0;         ///< wall clock of training, over all starts of the run
  config::StepLengths lengths;  ///< constant; a resumed run must have the same

  std::int64_t epoch() const { return step / lengths.steps_per_epoch; }  ///< epochs completed
  std::int64_t batch_in_epoch() const { return step % lengths.steps_per_epoch; }
  bool is_epoch_start() const { return batch_in_epoch() == 0; }
};

}  // namespace paceline::train
