#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/app/train_run.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/rank_process.h"
#include "paceline/launch/options.h"

#include <algorithm>
#include <array>

namespace paceline::cli {
namespace {

/// Where a run without --run-dir would write.
std::filesystem::path new_run_directory(const app::TrainRequest& request,
                                        const app::Registries& registries) {
  const app::PhasedRecipe loaded =
      app::load_phases(request.recipe, {request.overrides, request.overrides_on_top},
                       registries.context(/*world_size=*/0));
  const app::RunSection& run = loaded.phases.front().recipe.value.run;
  return app::new_run_path(run.dir, run.name);
}

/// What other trainers take for "go on".
void refuse_other_words(const std::string& resume) {
  constexpr std::array kWords{"true", "True", "yes", "1", "last", "latest", "best"};
  if (std::ranges::find(kWords, resume) == kWords.end() || base::file_exists(resume)) return;
  throw base::ConfigError(
      fmt::format("--resume {}: write --run-dir RUN --resume auto to go on with a run, or --resume "
                  "RUN@last, RUN@best or RUN@step-N",
                  resume));
}

void choose_lr_find(const std::string& style_name, app::TrainRequest& request,
                    const std::string& resume) {
  if (request.is_dry_run || request.is_fast_dev_run)
    throw base::ConfigError("--lr-find trains, so it does not go with --dry-run or --fast-dev-run");
  if (!resume.empty() && resume != "auto")
    throw base::ConfigError(
        "--lr-find goes with --resume auto alone: give optimizer.lr, which the checkpoint's run "
        "has");
  const auto style = config::enum_value<optim::LrFindStyle>(style_name);
  request.lr_find = app::LrFindChoice{optim::usual_range(style), optim::usual_rule(style)};
}

}  // namespace

int run_train(const std::vector<std::string>& arguments, const app::Registries& registries) {
  app::TrainRequest request;
  std::string run_directory;
  std::string resume;
  bool prints_run_directory = false;
  CLI::App app("Train a recipe.", "train");
  app.add_option("recipe", request.recipe, "The recipe, a YAML file or JSON with comments")
      ->required();
  app.add_option("overrides", request.overrides,
                 "section.key=value, +section.key=value to add, ~section.key to remove");
  app.add_option("--on-top", request.overrides_on_top,
                 "KEY=VALUE over what the overrides say; for programs that start runs")
      ->allow_extra_args(false);
  app.add_option("--only-phase", request.only_phase,
                 "Of the recipe's phases train this alone, '' the first, without the weights of "
                 "the one before; for programs that start runs");
  app.add_option("--run-dir", run_directory,
                 "Directory of the run; default: run.dir/run.name-TIME");
  app.add_flag("--print-run-dir", prints_run_directory,
               "Print the directory that the run would get, and end; for programs that start runs");
  app.add_option(
      "--resume", resume,
      "auto: from the newest checkpoint of the run directory, if there is one; or RUN, RUN@best, "
      "RUN@step-N or the path of a checkpoint, which each start of a requeued job goes back to");
  app.add_option("--start-phase", request.start_phase,
                 "Of the recipe's phases begin with this, by number or name, from the weights of "
                 "the checkpoint that --resume names; one that has saved goes on");
  app.add_flag("--dry-run", request.is_dry_run,
               "Build everything, print sizes and batches, train nothing, write nothing");
  CLI::Option* fast = app.add_flag("--fast-dev-run{2}", request.fast_dev_steps,
                                   "Two steps (or =N) of training and validation and a checkpoint, "
                                   "in a scratch directory")
                          ->check(CLI::Range(1, 1'000'000));
  std::string lr_find;
  app.add_flag("--lr-find{fastai}", lr_find,
               "Find optimizer.lr first, by the test and the rule of fastai (or =lightning), as "
               "`paceline lr-find`; a run that goes on keeps what was found")
      ->check(CLI::IsMember(config::enum_names<optim::LrFindStyle>()));
  app.footer("Launch options:\n" + launch::launch_options_help());
  if (!parse_arguments(app, arguments, registries)) return 0;
  request.is_fast_dev_run = fast->count() > 0;
  if (!lr_find.empty()) choose_lr_find(lr_find, request, resume);
  if (!run_directory.empty()) request.run_directory = run_directory;
  if (!resume.empty()) request.resume = resume;
  refuse_other_words(resume);
  if (request.resume == "auto" && !request.run_directory) {
    throw base::ConfigError(
        "--resume auto needs --run-dir: it goes on with the run in that directory");
  }
  if (request.only_phase && (request.resume || request.start_phase)) {
    throw base::ConfigError(
        "--only-phase trains a phase by itself: --resume goes on with a run of all");
  }
  if (prints_run_directory) {
    fmt::print("{}\n", request.run_directory ? run_directory
                                             : new_run_directory(request, registries).string());
    return 0;
  }
  RankProcess process(registries);
  const int exit_code = app::run_training(request, process.context());
  process.shutdown();
  return exit_code;
}

}  // namespace paceline::cli
