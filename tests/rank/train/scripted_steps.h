#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/metrics/meters.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace paceline::train {

/// A loader that only tells what its threads did.
class CountsAlone final : public data::DataLoader {
 public:
  explicit CountsAlone(const data::StageTimes& stages) { counts_.stages = stages; }
  void skip(std::int64_t samples, const std::string& last) {
    counts_.skipped_samples += samples;
    counts_.last_skipped = last;
  }
  void work(const data::StageTimes& more) {
    counts_.stages.read_s += more.read_s;
    counts_.stages.decode_s += more.decode_s;
    counts_.stages.transform_s += more.transform_s;
  }
  std::int64_t batches_per_epoch() const override { return 1; }
  std::int64_t position() const override { return 0; }
  void seek(std::int64_t) override {}
  void start() override {}
  bool is_ready() const override { return true; }
  std::unique_ptr<data::HostBatch> next() override { return nullptr; }
  data::LoaderCounts counts() const override { return counts_; }
  std::int64_t global_count_of(std::int64_t) const override { return 0; }

 private:
  data::LoaderCounts counts_;
};

/// A step of which these shares were spent waiting for data and for communication.
inline metrics::PhaseTimer step_with_waits(double data_share, double communication_share = 0) {
  metrics::PhaseTimer phases;
  phases.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  phases.mark(metrics::Phase::kForward);
  const double seconds = phases.seconds(metrics::Phase::kForward);
  phases.move(metrics::Phase::kForward, metrics::Phase::kDataWait, data_share * seconds);
  phases.move(metrics::Phase::kForward, metrics::Phase::kExposedCommunication,
              communication_share * seconds);
  return phases;
}

}  // namespace paceline::train
