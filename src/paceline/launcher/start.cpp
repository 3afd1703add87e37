#include "paceline/launcher/start.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/text.h"
#include "paceline/launch/first_step.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/options.h"
#include "paceline/launch/plan.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launch/supervisor.h"
#include "paceline/launcher/detached_run.h"
#include "paceline/launcher/guide_flags.h"
#include "paceline/launcher/new_run_dir.h"
#include "paceline/launcher/rank_program.h"
#include "paceline/launcher/verbs.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

void print_plan(const launch::LaunchPlan& plan, int port, const launch::Environment& environment) {
  for (const std::string& note : plan.notes) std::fprintf(stderr, "paceline: %s\n", note.c_str());
  if (plan.world_size() == 1) return;
  const std::string where = plan.num_nodes == 1
                                ? "on this machine"
                                : fmt::format("({} nodes of {}), this is node {}", plan.num_nodes,
                                              plan.nproc, plan.node_rank);
  const std::string threads =
      environment.get_or("OMP_NUM_THREADS", std::to_string(plan.threads_per_rank));
  std::fputs(fmt::format("paceline: {} ranks {}, OMP_NUM_THREADS={}, meeting at {}:{}\n",
                         plan.world_size(), where, threads, plan.master_addr, port)
                 .c_str(),
             stderr);
}

/// Durably, as it may be the first to make the run directory: rank 0 takes what it finds there for
/// durable.
void make_folder(const fs::path& folder) try {
  base::RealFileSystem files;
  base::create_durable_directories(files, folder);
} catch (const base::FileError& error) {
  throw base::CheckpointError(fmt::format("{}; give another --run-dir or --log-dir", error.what()));
}

/// Several ranks have log files in the run directory, if there is one, unless the user named
/// another place.
void choose_log_dir(const launch::LaunchPlan& plan, const std::optional<fs::path>& run_dir,
                    launch::SupervisorSettings& settings) {
  if (!settings.log_dir && run_dir && plan.nproc > 1) settings.log_dir = *run_dir / "logs";
  if (settings.log_dir) make_folder(*settings.log_dir);
}

/// Under torchrun, srun or mpirun: the program itself, in this process.
[[noreturn]] void become_one_rank(const launch::LaunchOptions& options,
                                  const std::vector<std::string>& command,
                                  launch::Environment environment) {
  if (options.detach || options.log_dir)
    throw base::ConfigError(fmt::format(
        "{} is for ranks that paceline starts, but another launcher has started this one: use that "
        "launcher's own option",
        options.detach ? "--detach" : "--log-dir"));
  if (options.master_addr) environment.set("MASTER_ADDR", *options.master_addr);
  if (options.master_port) environment.set("MASTER_PORT", std::to_string(*options.master_port));
  if (options.grace_seconds)
    environment.set(launch::kGraceVariable, fmt::format("{}", *options.grace_seconds));
  if (options.rdzv_timeout_seconds)
    environment.set(launch::kRdzvTimeoutVariable, fmt::format("{}", *options.rdzv_timeout_seconds));
  launch::set_library_defaults(environment);
  launch::exec_program(command, environment);
}

/// The first argument that is neither an option nor an override, and a file by its name or on the
/// disk: the value of an option, such as a password, must not pass for one. Empty if there is none.
std::string find_recipe(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument.starts_with('-') || argument.starts_with('+') || argument.starts_with('~') ||
        argument.find('=') != std::string::npos)
      continue;
    const std::string extension = fs::path(argument).extension();
    std::error_code error;
    if (extension == ".yaml" || extension == ".yml" || extension == ".json" ||
        extension == ".jsonc" || fs::is_regular_file(argument, error))
      return argument;
  }
  return {};
}

/// What a detached run's record tells of its command, for whoever may read the run directory:
/// neither options nor overrides, which may hold a password.
std::vector<std::string> public_command(const std::vector<std::string>& command) {
  std::vector<std::string> told{"paceline", command[1]};
  const std::string recipe = find_recipe(std::span(command).subspan(2));
  if (!recipe.empty()) told.push_back(recipe);
  return told;
}

/// Puts the ranks of one machine into the background.
int start_detached(const launch::LaunchPlan& plan, launch::SupervisorSettings settings,
                   std::optional<fs::path> run_dir, const std::string& host_name,
                   launch::Environment environment) {
  const std::vector<std::string> told = public_command(settings.command);
  if (!run_dir) {
    if (plan.num_nodes > 1)
      throw base::ConfigError(
          "--detach on several machines needs --run-dir, the same on each: the launchers keep "
          "their logs there, and would name it by clocks that differ");
    NewRunDir made = make_new_run_dir(settings.command);
    if (made.exit_code != 0) return made.exit_code;
    run_dir = std::move(made.path);
    settings.command.insert(settings.command.end(), {"--run-dir", run_dir->string()});
  }
  choose_log_dir(plan, run_dir, settings);
  return run_detached({.run_dir = *run_dir,
                       .command = told,
                       .host = host_name,
                       .node_rank = plan.node_rank,
                       .num_ranks = plan.nproc},
                      [&](int first_step_descriptor) {
                        environment.set(launch::kFirstStepVariable,
                                        std::to_string(first_step_descriptor));
                        return launch::supervise(plan, settings, environment);
                      });
}

/// Starts the ranks of one machine. `run_dir` is where the run's files lie, if the user said so;
/// `is_own_verb`: the command is one of paceline's, whose rank 0 prints the result.
int start(const launch::LaunchOptions& options, const std::vector<std::string>& command,
          const std::optional<fs::path>& run_dir, bool is_own_verb) {
  const launch::Environment environment = launch::Environment::of_process();
  if (launch::is_one_rank(options, environment)) become_one_rank(options, command, environment);
  const launch::Machine machine = launch::this_machine(environment);
  const launch::LaunchPlan plan = launch::plan_launch(options, environment, machine);
  std::optional<launch::ReservedPort> reserved_port;
  if (!plan.master_port) {
    reserved_port.emplace();
  } else if (plan.node_rank == 0 && plan.world_size() > 1) {
    launch::require_free_port(*plan.master_port, plan.port_origin);
  }
  const int port = plan.master_port ? *plan.master_port : reserved_port->number();
  print_plan(plan, port, environment);

  launch::SupervisorSettings settings{.command = command, .master_port = port};
  settings.log_dir = options.log_dir;
  settings.grace_after_failure_seconds =
      options.grace_seconds.value_or(settings.grace_after_failure_seconds);
  settings.rank_zero_prints_result = is_own_verb;
  settings.rank_zero_keeps_terminal = !options.log_dir;
  if (options.detach)
    return start_detached(plan, std::move(settings), run_dir, machine.host_name, environment);
  if (plan.nproc == 1 && !settings.log_dir)
    launch::exec_program(command,
                         launch::rank_environment(plan, 0, port, std::nullopt, environment));
  choose_log_dir(plan, run_dir, settings);
  return launch::supervise(plan, settings, environment);
}

/// They leave no directory in which a detached run could be found again.
void refuse_short_runs(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name == "--fast-dev-run" || name == "--dry-run")
      throw base::ConfigError(fmt::format(
          "--detach does not go with {}, which is short and leaves nothing: leave one of them out",
          name));
  }
}

}  // namespace

int run_ranks_of_verb(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{rank_program_path(), name};
  if (asks_for_help(arguments)) {
    command.emplace_back("--help");
    launch::exec_program(command, launch::Environment::of_process());
  }
  const OwnWords words = name == "train" ? in_own_words(arguments) : OwnWords{arguments};
  for (const std::string& note : words.notes)
    std::fprintf(stderr, "paceline: note: %s\n", note.c_str());
  const auto [options, rest] = launch::extract_launch_options(words.arguments);
  std::optional<fs::path> run_dir = launch::find_option_value(rest, "--run-dir");
  if (options.detach && name != "train")
    throw base::ConfigError(fmt::format("paceline {} cannot be detached; only train can", name));
  if (options.detach) refuse_short_runs(rest);
  command.insert(command.end(), rest.begin(), rest.end());
  // A dry run writes nothing, so its ranks have no log files either.
  if (!options.detach && std::find(rest.begin(), rest.end(), "--dry-run") != rest.end())
    run_dir.reset();
  return start(options, command, run_dir, /*is_own_verb=*/true);
}

int run_launch(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    std::fputs(
        (usage_text(name) + "\n" + launch::launch_options_help(/*can_detach=*/false)).c_str(),
        stdout);
    return 0;
  }
  auto [options, rest] = launch::extract_launch_options(arguments);
  if (rest.empty() || rest[0] != "--") {
    if (rest.empty() || !rest[0].starts_with('-'))
      throw base::ConfigError(
          "the program must follow \"--\": paceline launch [launch options] -- PROGRAM [ARGS ...]");
    std::vector<std::string> names;
    for (const launch::LaunchOption& option : launch::launch_options())
      names.insert(names.end(), option.names.begin(), option.names.end());
    const std::string nearest = base::nearest_name(rest[0], names);
    throw base::ConfigError(fmt::format("there is no launch option {}{}", rest[0],
                                        nearest.empty() ? "; `paceline launch --help` lists them"
                                                        : "; did you mean " + nearest + "?"));
  }
  if (rest.size() < 2) throw base::ConfigError("no program follows \"--\"");
  if (options.detach)
    throw base::ConfigError("--detach is for paceline train; use nohup or setsid with a program");
  std::vector<std::string> command(rest.begin() + 1, rest.end());
  command[0] = launch::find_program(command[0], launch::Environment::of_process());
  return start(options, command, std::nullopt, /*is_own_verb=*/false);
}

}  // namespace paceline::launcher
