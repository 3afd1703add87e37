#include "paceline/launcher/bench.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/progress_line.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/quiet_runs.h"
#include "paceline/launcher/scaling.h"
#include "paceline/launcher/scaling_options.h"
#include "paceline/launcher/verbs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

class ScalingBench {
 public:
  explicit ScalingBench(const ScalingOptions& options)
      : options_(options), environment_(launch::Environment::of_process()) {
    const launch::LaunchedBy outer = launch::read_rank_info(environment_).launched_by;
    if (outer != launch::LaunchedBy::kNobody)
      throw base::ConfigError(fmt::format(
          "bench scaling starts ranks itself, but {} has started it as one", name_of(outer)));
    const int cores = launch::this_machine(environment_).cores;
    environment_.set_default("OMP_NUM_THREADS",
                             std::to_string(std::max(1, cores / options.nproc.back())));
    launch::parse_int("OMP_NUM_THREADS", threads(), 1, launch::kMaxRanks);  // wrong ones end it now
  }

  std::string threads() const { return environment_.get_or("OMP_NUM_THREADS", ""); }

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
    const std::string steps = fmt::format("{}ba", options_.warm_up + options_.steps);
    std::vector<std::string> command{fs::read_symlink("/proc/self/exe"), "train"};
    const auto add = [&](const std::vector<std::string>& more) {
      command.insert(command.end(), more.begin(), more.end());
    };
    const auto add_on_top = [&](const std::vector<std::string>& more) {
      for (const std::string& override : more) add({"--on-top", override});
    };
    add(options_.recipe);
    add_on_top({"train.duration=" + steps, "train.min_duration=null", "train.stop_when=null",
                "train.eval_every=" + steps, "train.eval_batches=1", "checkpoint.every=null",
                "schedule=constant", "loggers={jsonl: }"});
    add_on_top(overrides);
    add({"--only-phase", options_.phase});
    add({"--run-dir", folder, "--nproc", std::to_string(shape.ranks_per_node)});
    if (shape.nodes > 1) {
      add({"--nnodes", std::to_string(shape.nodes), "--node-rank",
           std::to_string(options_.node_rank), "--master-addr", options_.master_addr,
           "--master-port", std::to_string(port)});
    }
    return {command, folder.string() + ".log"};
  }

  TrainingRate rate_of(const fs::path& folder) const {
    return training_rate(base::read_file(folder / "metrics.jsonl"), options_.warm_up);
  }

  ScalingOptions options_;
  launch::Environment environment_;
  base::TempDir scratch_{"paceline-scaling"};
  base::ProgressLine progress_;
};

}  // namespace

int run_bench(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    std::fputs((usage_text(name) + kScalingHelp).c_str(), stdout);
    return 0;
  }
  if (arguments.empty() || arguments[0] != "scaling")
    throw base::ConfigError("bench wants the word scaling: paceline bench scaling RECIPE ...");
  const ScalingOptions options = parse_scaling_options({arguments.begin() + 1, arguments.end()});
  std::string threads;
  const std::vector<ScalingRow> rows = [&] {
    const ScalingBench bench(options);
    threads = bench.threads();
    return bench.run();
  }();
  if (rows.empty()) {
    std::fputs("node 0 prints the table\n", stdout);
    return 0;
  }
  if (options.as_json) {
    std::fputs((scaling_json(rows, threads) + "\n").c_str(), stdout);
    return 0;
  }
  std::fputs(fmt::format("threads per rank: {}\n", threads).c_str(), stdout);
  for (const std::string& line : scaling_table(rows)) std::fputs((line + "\n").c_str(), stdout);
  return 0;
}

}  // namespace paceline::launcher
