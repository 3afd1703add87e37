#include "paceline/launcher/bench.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/quiet_runs.h"
#include "paceline/launcher/rank_program.h"
#include "paceline/launcher/scaling.h"
#include "paceline/launcher/verbs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSteps = 1'000'000;

constexpr const char* kHelp = R"(
Trains the recipe on each number of ranks of this machine and measures images/s after
a warm-up: the median step. Beside each row: so many processes of one rank, each with
one rank's share of the batch, at the same time and for themselves, which is what the
machine gives without any communication. The recipe decides what grows: with
data.batch_size_per_rank the work, with data.global_batch_size only the ranks. Learning
rates, evaluation and checkpoints do not count. Every rank of every row has the same
number of threads: OMP_NUM_THREADS, else the cores by the largest number of ranks.

  --nproc N,N,...   numbers of ranks, growing; default 1,2
  --steps N         steps that are measured; default 20
  --warm-up N       steps before; default 5
  --json            print one JSON object

Of several machines each can be measured so; what a run over them reaches is the
throughput/images_per_s in metrics.jsonl of `paceline train RECIPE --nnodes ...`.
)";

struct ScalingOptions {
  std::vector<std::string> recipe;  ///< and overrides
  std::vector<int> nproc{1, 2};
  int steps = 20;
  int warm_up = 5;
  bool as_json = false;
};

ScalingOptions parse(const std::vector<std::string>& arguments) {
  ScalingOptions options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    const auto value = [&] {
      if (name.size() < argument.size()) return argument.substr(name.size() + 1);
      if (++i == arguments.size()) throw base::ConfigError(name + " wants a value");
      return arguments[i];
    };
    if (name == "--nproc") {
      options.nproc = parse_rank_counts(value());
    } else if (name == "--steps") {
      options.steps = launch::parse_int(name, value(), 1, kMostSteps);
    } else if (name == "--warm-up") {
      options.warm_up = launch::parse_int(name, value(), 1, kMostSteps);
    } else if (argument == "--json") {
      options.as_json = true;
    } else if (argument.starts_with('-')) {
      const std::array<std::string, 4> names{"--nproc", "--steps", "--warm-up", "--json"};
      const std::string nearest = base::nearest_name(name, names);
      throw base::ConfigError(fmt::format("there is no option {}{}", name,
                                          nearest.empty() ? "; `paceline bench --help` lists them"
                                                          : "; did you mean " + nearest + "?"));
    } else {
      options.recipe.push_back(argument);
    }
  }
  if (options.recipe.empty())
    throw base::ConfigError("bench scaling wants a recipe; `paceline bench --help` tells more");
  return options;
}

/// What is going on: one line that changes on a terminal, a line each in a pipe.
class Progress {
 public:
  ~Progress() {
    if (is_terminal_) std::fputs("\r\033[2K", stderr);
  }
  void say(const std::string& text) const {
    std::fputs((is_terminal_ ? "\r\033[2K" + text : "paceline: " + text + "\n").c_str(), stderr);
  }

 private:
  bool is_terminal_ = isatty(STDERR_FILENO) == 1;
};

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
  }

  std::string threads() const { return environment_.get_or("OMP_NUM_THREADS", ""); }

  std::vector<ScalingRow> run() const {
    std::vector<ScalingRow> rows;
    for (const int ranks : options_.nproc) {
      progress_.say(
          fmt::format("{} rank{} of {} thread(s)", ranks, ranks == 1 ? "" : "s", threads()));
      ScalingRow row{.ranks = ranks, .rate = train_together(ranks)};
      row.ceiling_images_per_s = row.rate.images_per_s;  // one rank has nobody to wait for
      if (ranks > 1) {
        progress_.say(fmt::format("{} independent processes", ranks));
        row.ceiling_images_per_s = train_apart(ranks, row.rate.images_per_step / ranks);
      }
      rows.push_back(row);
    }
    return rows;
  }

 private:
  TrainingRate train_together(int ranks) const {
    const fs::path folder = scratch_.path() / fmt::format("ranks-{}", ranks);
    run_quietly({run_of(folder, ranks, {})}, environment_);
    return rate_of(folder);
  }

  /// The images/s of all together.
  double train_apart(int count, double images_per_step) const {
    const auto images = static_cast<long>(std::ceil(images_per_step));
    const std::vector<std::string> overrides{"++data.global_batch_size=null",
                                             fmt::format("++data.batch_size_per_rank={}", images)};
    std::vector<QuietRun> runs;
    std::vector<fs::path> folders;
    for (int i = 0; i < count; ++i) {
      folders.push_back(scratch_.path() / fmt::format("alone-{}-{}", count, i));
      runs.push_back(run_of(folders.back(), 1, overrides));
    }
    run_quietly(runs, environment_);
    double images_per_s = 0;
    for (const fs::path& folder : folders) images_per_s += rate_of(folder).images_per_s;
    return images_per_s;
  }

  QuietRun run_of(const fs::path& folder, int ranks,
                  const std::vector<std::string>& overrides) const {
    const std::string steps = fmt::format("{}ba", options_.warm_up + options_.steps);
    std::vector<std::string> command{fs::read_symlink("/proc/self/exe"), "train"};
    const auto add = [&](const std::vector<std::string>& more) {
      command.insert(command.end(), more.begin(), more.end());
    };
    add(options_.recipe);
    add({"++train.duration=" + steps, "++train.min_duration=null", "++train.stop_when=null",
         "++train.eval_every=" + steps, "++train.eval_batches=1", "++checkpoint.every=" + steps,
         "++checkpoint.keep_best=0", "++checkpoint.async=false", "++schedule=constant",
         "++loggers={jsonl: }"});
    add(overrides);
    add({"--run-dir", folder, "--nproc", std::to_string(ranks)});
    return {command, folder.string() + ".log"};
  }

  TrainingRate rate_of(const fs::path& folder) const {
    return training_rate(base::read_file(folder / "metrics.jsonl"), options_.warm_up);
  }

  ScalingOptions options_;
  launch::Environment environment_;
  base::TempDir scratch_{"paceline-scaling"};
  Progress progress_;
};

}  // namespace

int run_bench(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    std::fputs((usage_text(name) + kHelp).c_str(), stdout);
    return 0;
  }
  if (arguments.empty() || arguments[0] != "scaling")
    throw base::ConfigError("bench wants the word scaling: paceline bench scaling RECIPE ...");
  const ScalingOptions options = parse(arguments);
  std::string threads;
  const std::vector<ScalingRow> rows = [&] {
    const ScalingBench bench(options);
    threads = bench.threads();
    return bench.run();
  }();
  if (options.as_json) {
    std::fputs((scaling_json(rows, threads) + "\n").c_str(), stdout);
    return 0;
  }
  std::fputs(fmt::format("threads per rank: {}\n", threads).c_str(), stdout);
  for (const std::string& line : scaling_table(rows)) std::fputs((line + "\n").c_str(), stdout);
  return 0;
}

}  // namespace paceline::launcher
