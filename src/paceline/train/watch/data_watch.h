#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/data/loader/loader.h"
#include "paceline/metrics/meters.h"

#include <cstdint>

namespace paceline::train {

/// Watches how much of its time each rank waits for data, and what it cannot read.
class DataWatch {
 public:
  /// A larger share is worth a warning, if it is one of so many steps.
  static constexpr double kTolerableShare = 0.1;
  static constexpr std::int64_t kFewestSteps = 20;

  /// The loader must outlive the watch.
  explicit DataWatch(const data::DataLoader& loader) : loader_(loader) {}

  void add_step(const metrics::PhaseTimer& phases);

  /// The largest share of any rank since the last call. When that is not tolerable rank 0 warns:
  /// what limits the loader of the rank that waits most, and what helps. It warns, too, of samples
  /// that were skipped since, on any rank. Every rank must call it.
  double report(comm::Communicator& communicator);

 private:
  const data::DataLoader& loader_;
  data::LoaderCounts counts_before_;  ///< when the last call was
  double wait_s_ = 0;
  double total_s_ = 0;
  std::int64_t num_steps_ = 0;
};

}  // namespace paceline::train
