#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace paceline::callbacks {

struct MemorySnapshotConfig {
  std::int64_t step = 5;
};

/// Writes memory_snapshot.pickle into the run's directory: what rank 0's GPU holds in memory after
/// a step, and each allocation since the start. On the CPU it only says that there is nothing to
/// show.
class MemorySnapshot final : public train::Callback {
 public:
  explicit MemorySnapshot(const MemorySnapshotConfig& config) : config_(config) {}

  std::string_view name() const override { return "memory_snapshot"; }
  train::CallbackTraits traits() const override {
    return {.events = {train::Event::kFitStart, train::Event::kStepEnd},
            .every = config::Duration{static_cast<double>(config_.step), config::TimeUnit::kBatch}};
  }
  std::optional<std::string> on_event(train::Event event, const train::TrainState& state,
                                      const train::RunContext& run) override;

 private:
  MemorySnapshotConfig config_;
};

std::unique_ptr<train::Callback> make(const MemorySnapshotConfig& config);

}  // namespace paceline::callbacks

template <>
struct paceline::config::Schema<paceline::callbacks::MemorySnapshotConfig> {
  using Config = paceline::callbacks::MemorySnapshotConfig;
  static constexpr std::string_view name = "memory_snapshot";
  static constexpr std::string_view summary =
      "Writes what rank 0's GPU holds in memory, for pytorch.org/memory_viz.";
  static constexpr auto fields =
      std::tuple{field(&Config::step, "step", "After so many optimizer steps.", AtLeast{1},
                       AtMost{1'000'000'000'000, "no run has more steps"})};
};
