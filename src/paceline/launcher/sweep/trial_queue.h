#pragma once

#include "paceline/base/progress_line.h"
#include "paceline/launch/environment.h"
#include "paceline/launcher/children/children.h"
#include "paceline/launcher/sweep/machine_shares.h"
#include "paceline/launcher/sweep/recipe_facts.h"
#include "paceline/launcher/sweep/sweep_folder.h"
#include "paceline/launcher/sweep/sweep_options.h"
#include "paceline/launcher/sweep/sweep_state.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace paceline::launcher {

/// What the trials of a sweep are started with.
struct TrialStarts {
  const SweepOptions& options;
  const RecipeFacts& facts;
  std::string program = {};
  launch::Environment environment = {};
  std::vector<MachineShare> shares = {};  ///< as many as run side by side
};

/// Trains what is not done of a sweep, rung after rung.
class TrialQueue {
 public:
  TrialQueue(TrialStarts starts, Sweep& sweep, SweepFolder& folder, Children& children);

  /// Returns when all trials have ended. After SIGINT, SIGTERM or SIGHUP the trials are asked to
  /// save and end, and killed when the grace period is over or another SIGINT comes; then it throws
  /// an Error with exit code 128 + signal.
  void run();

 private:
  using Clock = TakenSignals::Clock;

  struct Running {
    std::size_t trial = 0;
    std::size_t share = 0;
    std::uint64_t log_size = 0;  ///< before it began to print
  };

  void run_rung(std::size_t rung);
  void fill_shares(std::size_t rung);
  void start(std::size_t trial, std::size_t rung, std::size_t share);
  void take(const ChildNews& news, std::size_t rung);
  void end_trial(const Running& running, int status, std::size_t rung);
  void ask_to_stop(int signal);
  void say(const std::string& text = "") const;

  TrialStarts starts_;
  Sweep& sweep_;
  SweepFolder& folder_;
  Children& children_;
  base::ProgressLine progress_;
  std::map<pid_t, Running> running_;
  std::deque<std::size_t> waiting_;
  std::deque<std::size_t> free_shares_;
  Clock::time_point begin_ = Clock::now();
  double work_done_ = 0;
  int signal_ = 0;  ///< that asked to stop
  Clock::time_point kill_at_ = Clock::time_point::max();
};

}  // namespace paceline::launcher
