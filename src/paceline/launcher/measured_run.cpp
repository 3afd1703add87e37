#include "paceline/launcher/measured_run.h"

#include "paceline/base/text.h"

namespace paceline::launcher {

QuietRun start_of(const MeasuredRun& run) {
  const std::string steps = fmt::format("{}ba", run.num_steps);
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe"), "train"};
  const auto add = [&](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  const auto add_on_top = [&](const std::vector<std::string>& more) {
    for (const std::string& override : more) add({"--on-top", override});
  };
  add(run.recipe);
  add_on_top({"train.duration=" + steps, "train.min_duration=null", "train.stop_when=null",
              "train.eval_every=" + steps, "train.eval_batches=1", "checkpoint.every=null",
              "schedule=constant", "loggers={jsonl: }"});
  add_on_top(run.overrides_on_top);
  add({"--only-phase", run.phase, "--run-dir", run.folder});
  add(run.launch_options);
  return {command, run.folder.string() + ".log"};
}

}  // namespace paceline::launcher
