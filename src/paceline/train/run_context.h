#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/tensor/device.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace paceline::train {

/// All that does not change during a run; passed by const reference, owned by whoever built the
/// run.
struct RunContext {
  comm::Communicator& communicator;
  std::filesystem::path run_directory;  ///< empty: nothing is written
  std::uint64_t seed = 0;
  std::span<metrics::MetricSink* const> sinks;  ///< empty on ranks other than 0
  const std::atomic<int>& received_signal;      ///< 0, or the signal that asks this rank to stop
  tensor::Device& device = tensor::cpu_device();
  /// In which autocast has forward passes compute; nothing: in what the weights are.
  std::optional<c10::ScalarType> autocast_dtype = {};

  bool is_main_rank() const { return communicator.rank() == 0; }
};

}  // namespace paceline::train
