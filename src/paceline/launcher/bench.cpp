#include "paceline/launcher/bench.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/progress_line.h"
#include "paceline/base/text.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/measured_run.h"
#include "paceline/launcher/quiet_runs.h"
#include "paceline/launcher/scaling.h"
#include "paceline/launcher/scaling_options.h"
#include "paceline/launcher/step_toggle.h"
#include "paceline/launcher/step_toggle_options.h"
#include "paceline/launcher/verbs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::string threads_of(const launch::Environment& environment) {
  return environment.get_or("OMP_NUM_THREADS", "");
}

/// Of the runs that are measured, whose ranks have equally many threads. Throws ConfigError for a
/// process that is a rank itself, and for a number of threads that is none.
launch::Environment bench_environment(std::string_view bench, int most_ranks) {
  launch::Environment environment = launch::Environment::of_process();
  const launch::LaunchedBy outer = launch::read_rank_info(environment).launched_by;
  if (outer != launch::LaunchedBy::kNobody)
    throw base::ConfigError(
        fmt::format("{} starts ranks itself, but {} has started it as one", bench, name_of(outer)));
  const int cores = launch::this_machine(environment).cores;
  environment.set_default("OMP_NUM_THREADS", std::to_string(std::max(1, cores / most_ranks)));
  launch::parse_int("OMP_NUM_THREADS", threads_of(environment), 1, launch::kMaxRanks);
  return environment;
}

class ScalingBench {
 public:
  explicit ScalingBench(const ScalingOptions& options)
      : options_(options), environment_(bench_environment("bench scaling", options.nproc.back())) {}

  std::string threads() const { return threads_of(environment_); }

  /// Empty on other nodes than the first. The most machines come first: a node that leaves is never
  /// waited for, and one that waits never does so for long.
  std::vector<ScalingRow> run() const {
    std::vector<ScalingRow> rows;
    int port = options_.master_port;
    std::vector<ScalingShape> shapes = scaling_shapes(options_.nnodes, options_.nproc);
    std::ranges::reverse(shapes);
    for (const ScalingShape& shape : shapes) {
      const int own_port = shape.nodes > 1 ? port++ : 0;
      if (options_.node_rank >= shape.nodes) continue;
      progress_.say(describe(shape));
      const fs::path folder =
          scratch_.path() / fmt::format("ranks-{}x{}", shape.nodes, shape.ranks_per_node);
      run_quietly({run_of(folder, shape, own_port, {})}, environment_);
      if (options_.node_rank == 0) rows.push_back({.shape = shape, .rate = rate_of(folder)});
    }
    std::ranges::reverse(rows);
    for (ScalingRow& row : rows) measure_ceiling(row);
    return rows;
  }

 private:
  std::string describe(const ScalingShape& shape) const {
    std::string text = fmt::format("{} rank{} of {} thread(s)", shape.ranks_per_node,
                                   shape.ranks_per_node == 1 ? "" : "s", threads());
    if (shape.nodes > 1) text += fmt::format(" on each of {} machines", shape.nodes);
    return text;
  }

  void measure_ceiling(ScalingRow& row) const {
    row.ceiling_samples_per_s = row.rate.samples_per_s;  // one rank has nobody to wait for
    if (row.shape.ranks() == 1) return;
    const int count = row.shape.ranks_per_node;
    progress_.say(fmt::format("{} independent process{}", count, count == 1 ? "" : "es"));
    const double samples_per_s = train_apart(row.shape, row.rate.samples_per_step);
    row.ceiling_samples_per_s = row.shape.nodes * samples_per_s;
  }

  /// The samples/s of all processes of this machine.
  double train_apart(const ScalingShape& shape, double samples_per_step) const {
    const auto samples = static_cast<long>(std::ceil(samples_per_step / shape.ranks()));
    const std::vector<std::string> overrides{"data.global_batch_size=null",
                                             fmt::format("data.batch_size_per_rank={}", samples)};
    std::vector<QuietRun> runs;
    std::vector<fs::path> folders;
    for (int i = 0; i < shape.ranks_per_node; ++i) {
      folders.push_back(scratch_.path() /
                        fmt::format("alone-{}x{}-{}", shape.nodes, shape.ranks_per_node, i));
      runs.push_back(run_of(folders.back(), {1, 1}, 0, overrides));
    }
    run_quietly(runs, environment_);
    double samples_per_s = 0;
    for (const fs::path& folder : folders) samples_per_s += rate_of(folder).samples_per_s;
    return samples_per_s;
  }

  QuietRun run_of(const fs::path& folder, const ScalingShape& shape, int port,
                  const std::vector<std::string>& overrides) const {
    std::vector<std::string> place{"--nproc", std::to_string(shape.ranks_per_node)};
    if (shape.nodes > 1) {
      place.insert(place.end(), {"--nnodes", std::to_string(shape.nodes), "--node-rank",
                                 std::to_string(options_.node_rank), "--master-addr",
                                 options_.master_addr, "--master-port", std::to_string(port)});
    }
    return start_of({.recipe = options_.recipe,
                     .phase = options_.phase,
                     .num_steps = options_.warm_up + options_.steps,
                     .folder = folder,
                     .overrides_on_top = overrides,
                     .launch_options = place});
  }

  TrainingRate rate_of(const fs::path& folder) const {
    return training_rate(base::read_file(folder / "metrics.jsonl"), options_.warm_up);
  }

  ScalingOptions options_;
  launch::Environment environment_;
  base::TempDir scratch_{"paceline-scaling"};
  base::ProgressLine progress_;
};

class StepToggleBench {
 public:
  explicit StepToggleBench(const StepToggleOptions& options)
      : options_(options), environment_(bench_environment("bench step", options.nproc)) {}

  std::string threads() const { return threads_of(environment_); }

  std::vector<ToggleRound> run() const {
    std::vector<ToggleRound> rounds(static_cast<std::size_t>(options_.rounds));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      for (std::size_t run = 0; run < rounds[round].ms.size(); ++run) {
        progress_.say(fmt::format("round {} of {}: {} {}", round + 1, rounds.size(),
                                  is_toggled(run) ? "with" : "without",
                                  base::join(options_.toggles, " ")));
        rounds[round].ms[run] = step_ms(fmt::format("{}-{}", round, run), is_toggled(run));
      }
    }
    return rounds;
  }

 private:
  double step_ms(const std::string& name, bool with_toggles) const {
    MeasuredRun run{.recipe = options_.recipe,
                    .phase = options_.phase,
                    .num_steps = options_.warm_up + options_.steps,
                    .folder = scratch_.path() / name,
                    .launch_options = {"--nproc", std::to_string(options_.nproc)}};
    if (with_toggles) run.overrides_on_top = options_.toggles;
    run_quietly({start_of(run)}, environment_);
    const std::string metrics = base::read_file(run.folder / "metrics.jsonl");
    return options_.takes_median ? median_step_ms(metrics, options_.warm_up)
                                 : mean_step_ms(metrics, options_.warm_up);
  }

  StepToggleOptions options_;
  launch::Environment environment_;
  base::TempDir scratch_{"paceline-step"};
  base::ProgressLine progress_;
};

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fputs((line + "\n").c_str(), stdout);
}

int bench_scaling(const std::vector<std::string>& arguments) {
  const ScalingOptions options = parse_scaling_options(arguments);
  std::string threads;
  const std::vector<ScalingRow> rows = [&] {
    const ScalingBench bench(options);
    threads = bench.threads();
    return bench.run();
  }();
  if (rows.empty()) {
    print_lines({"node 0 prints the table"});
  } else if (options.as_json) {
    print_lines({scaling_json(rows, threads)});
  } else {
    print_lines({"threads per rank: " + threads});
    print_lines(scaling_table(rows));
  }
  return 0;
}

int bench_step(const std::vector<std::string>& arguments) {
  const StepToggleOptions options = parse_step_toggle_options(arguments);
  std::string threads;
  const std::vector<ToggleRound> rounds = [&] {
    const StepToggleBench bench(options);
    threads = bench.threads();
    return bench.run();
  }();
  if (options.as_json) {
    print_lines({toggle_json(rounds, threads)});
  } else {
    print_lines({"threads per rank: " + threads});
    print_lines(toggle_table(rounds));
  }
  return 0;
}

}  // namespace

int run_bench(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    std::fputs((usage_text(name) + kScalingHelp + kStepToggleHelp).c_str(), stdout);
    return 0;
  }
  const std::string what = arguments.empty() ? "" : arguments[0];
  if (what != "scaling" && what != "step") {
    throw base::ConfigError(
        "bench wants one of the words scaling and step: paceline bench scaling RECIPE ..., "
        "paceline bench step RECIPE ... --toggle KEY=VALUE");
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  return what == "scaling" ? bench_scaling(rest) : bench_step(rest);
}

}  // namespace paceline::launcher
