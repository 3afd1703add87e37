#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/loader_stage.h"
#include "paceline/metrics/meters.h"

#include <cstdint>

namespace paceline::train {

/// How fast a start of a run trained: its steps alone, without evaluations and saves, and without
/// the first step, which pays for memory and connections.
struct SpeedReport {
  std::int64_t num_steps = 0;      ///< that were counted
  double seconds = 0;              ///< of these steps, on the slowest rank
  double samples_per_s = 0;        ///< over all ranks; 0 if no step was counted
  double data_wait_share = 0;      ///< of the steps' time, on the rank that waited most
  double communication_share = 0;  ///< the same for communication that no work hid
  data::LoaderStage loader_limit = data::LoaderStage::kRead;  ///< of the rank that waited most
};

/// Adds up what the steps of a run spend their time on.
class RunSpeed {
 public:
  /// The loader must outlive it.
  explicit RunSpeed(const data::DataLoader& loader) : loader_(loader) {}

  /// `samples`: of all ranks.
  void add_step(const metrics::PhaseTimer& phases, double samples);

  /// Every rank must call it; the same on all of them.
  SpeedReport report(comm::Communicator& communicator) const;

 private:
  const data::DataLoader& loader_;
  data::StageTimes stages_before_;  ///< when the first step was over
  std::int64_t num_steps_ = -1;     ///< that are counted; the first is not
  double samples_ = 0;
  double total_s_ = 0;
  double data_wait_s_ = 0;
  double communication_s_ = 0;
};

}  // namespace paceline::train
