#include "paceline/callbacks/memory_snapshot.h"

#include "paceline/base/log.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

namespace paceline::callbacks {

std::optional<std::string> MemorySnapshot::on_event(train::Event event,
                                                    const train::TrainState& state,
                                                    const train::RunContext& run) {
  if (!run.is_main_rank()) return std::nullopt;
  if (event == train::Event::kFitStart) {
    if (run.device.is_asynchronous()) {
      run.device.record_memory_history();
    } else {
      base::log_warning("callbacks.memory_snapshot: {} has no memory of its own to show",
                        run.device.describe());
    }
  } else if (run.device.is_asynchronous() && state.clock.step == config_.step) {
    const std::filesystem::path path = run.run_directory / "memory_snapshot.pickle";
    run.device.write_memory_snapshot(path);
    base::log_info("wrote {}", path.string());
  }
  return std::nullopt;
}

std::unique_ptr<train::Callback> make(const MemorySnapshotConfig& config) {
  return std::make_unique<MemorySnapshot>(config);
}

}  // namespace paceline::callbacks
