#include "paceline/launcher/scaling_options.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/launch/options.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/scaling.h"

#include <array>

namespace paceline::launcher {
namespace {

constexpr int kMostSteps = 1'000'000;

[[noreturn]] void refuse_option(const std::string& name) {
  const std::array<std::string, 8> names{"--nproc", "--steps",  "--warm-up",   "--json",
                                         "--phase", "--nnodes", "--node-rank", "--rdzv"};
  const std::string nearest = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format("there is no option {}{}", name,
                                      nearest.empty() ? "; `paceline bench --help` lists them"
                                                      : "; did you mean " + nearest + "?"));
}

/// Where the nodes meet, in all spellings of the launcher; the rest is the recipe.
void take_place(const std::vector<std::string>& arguments, ScalingOptions& options) {
  launch::ExtractedOptions extracted = launch::extract_launch_options(arguments);
  for (const std::string& argument : extracted.rest) {
    if (argument.starts_with('-')) refuse_option(argument.substr(0, argument.find('=')));
  }
  const launch::LaunchOptions& place = extracted.options;
  if (place.rdzv_id || place.log_dir || place.grace_seconds || place.detach) {
    throw base::ConfigError(
        "bench scaling takes --node-rank and --rdzv, but none of the other launch options");
  }
  options.recipe = std::move(extracted.rest);
  options.node_rank = place.node_rank.value_or(0);
  options.master_addr = place.master_addr.value_or("");
  options.master_port = place.master_port.value_or(launch::kDefaultMasterPort);
}

void check(const ScalingOptions& options) {
  if (options.recipe.empty())
    throw base::ConfigError("bench scaling wants a recipe; `paceline bench --help` tells more");
  const int most = options.nnodes.back();
  if (most > 1 && options.master_addr.empty())
    throw base::ConfigError(
        "--nnodes above 1 wants --rdzv HOST:PORT, an address of node 0 and a port that is free "
        "there, and --node-rank on every other machine");
  if (options.node_rank >= most)
    throw base::ConfigError(
        fmt::format("--node-rank is {}, but the largest number of --nnodes is {}: machines count "
                    "from 0",
                    options.node_rank, most));
}

}  // namespace

const char* const kScalingHelp = R"(
bench scaling trains the recipe on each number of ranks of this machine and measures
samples/s after a warm-up: the median step. Beside each row: so many processes of one
rank, each with one rank's share of the batch, at the same time and for themselves,
which is what the machine gives without any communication. The recipe decides what
grows: with data.batch_size_per_rank the work, with data.global_batch_size only the
ranks. Learning rates, evaluation and checkpoints do not count. Every rank of every row
has the same number of threads: OMP_NUM_THREADS, else the cores by the largest number of
ranks.

  --nproc N,N,...   numbers of ranks, growing; default 1,2
  --steps N         steps that are measured; default 20
  --warm-up N       steps before; default 5
  --phase NAME      of the recipe's phases this one; else the first
  --json            print one JSON object

For several machines give the same command on each, but for its own --node-rank:

  --nnodes N,N,...  numbers of machines, growing; default 1. A 1 stands for the rows of
                    --nproc on node 0; each larger number for one more row, with the
                    most ranks on every machine. Its independent processes are those of
                    node 0, times the machines
  --node-rank R     this machine's number, from 0; node 0 prints the table
  --rdzv HOST:PORT  an address of node 0; each row with several machines takes a port
                    of its own: PORT, PORT + 1, ...
)";

ScalingOptions parse_scaling_options(const std::vector<std::string>& arguments) {
  ScalingOptions options;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    const auto value = [&] {
      if (name.size() < argument.size()) return argument.substr(name.size() + 1);
      if (++i == arguments.size()) throw base::ConfigError(name + " wants a value");
      return arguments[i];
    };
    if (name == "--nproc") {
      options.nproc = parse_counts(name, value(), launch::kMaxRanks);
    } else if (name == "--nnodes") {
      options.nnodes = parse_counts(name, value(), launch::kMaxRanks);
    } else if (name == "--steps") {
      options.steps = launch::parse_int(name, value(), 1, kMostSteps);
    } else if (name == "--warm-up") {
      options.warm_up = launch::parse_int(name, value(), 1, kMostSteps);
    } else if (name == "--phase") {
      options.phase = value();
    } else if (argument == "--json") {
      options.as_json = true;
    } else {
      others.push_back(argument);
    }
  }
  take_place(others, options);
  check(options);
  return options;
}

}  // namespace paceline::launcher
