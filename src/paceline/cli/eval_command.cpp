#include "paceline/app/evaluation/eval_page.h"
#include "paceline/app/evaluation/eval_run.h"
#include "paceline/app/evaluation/patient_table.h"
#include "paceline/app/evaluation/prediction_table.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/eval_report.h"
#include "paceline/cli/rank_process.h"
#include "paceline/cli/volume_draws.h"
#include "paceline/comm/agreement.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/launch/options.h"
#include "paceline/loggers/picture_files.h"
#include "paceline/train/tasks/volume/ct_diffusion_config.h"

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::cli {
namespace {

/// What `paceline eval` is asked to do.
struct EvalWork {
  app::EvalRequest request;
  app::EvalViews views;
  std::int64_t num_told = 5;
  VolumeDraws draws = {};
  bool as_json = false;
  std::filesystem::path predictions;  ///< a table to be written; empty: none
  std::filesystem::path page;         ///< an HTML page, likewise
  std::filesystem::path pictures;     ///< a folder of PNG files, likewise
};

void write_pictures(const EvalWork& work, const app::EvalReport& report, base::FileSystem& files) {
  const auto& pictures = report.result.pictures;
  if (pictures.empty())
    throw base::ConfigError(
        fmt::format("--pictures: task {} shows none of its evaluations; leave it out",
                    report.recipe.task.name));
  base::create_durable_directories(files, work.pictures);
  for (const metrics::Picture& picture : pictures)
    loggers::write_picture(files, work.pictures, picture);
  base::log_info("wrote {} pictures into {}", pictures.size(), work.pictures.string());
}

void write_table(const std::filesystem::path& path, const app::EvalReport& report,
                 base::FileSystem& files) {
  const data::Dataset& dataset = *report.part.dataset;
  if (report.patients) return app::write_patient_table(files, path, *report.patients, dataset);
  if (report.samples)
    return app::write_prediction_table(files, path, *report.samples, dataset, report.class_names);
  throw base::ConfigError(fmt::format(
      "--predictions is for task classification and ct_diffusion, and the recipe's is {}: "
      "`paceline predict RUN -o FOLDER` writes what it gives out",
      report.recipe.task.name));
}

void write_files(const EvalWork& work, const app::EvalReport& report, base::FileSystem& files) {
  if (!work.predictions.empty()) {
    write_table(work.predictions, report, files);
    base::log_info("wrote {}", work.predictions.string());
  }
  if (!work.pictures.empty()) write_pictures(work, report, files);
  if (work.page.empty()) return;
  auto facts = describe(work.views);
  if (report.has_others_weights()) facts.push_back("weights of " + report.weights);
  base::write_file_atomically(files, work.page, app::eval_page(report, facts));
  base::log_info("wrote {}", work.page.string());
}

/// The exit code. Every rank must call it.
int evaluate(const EvalWork& work, const app::SessionContext& context) {
  const auto report = app::run_evaluation(work.request, context, work.views, work.num_told);
  if (!report)  // the signal may not have come to this rank
    return 128 + static_cast<int>(
                     comm::max_over_ranks(context.communicator, context.interruption.signal()));
  comm::first_rank_decides(context.communicator, [&] {
    write_files(work, *report, context.files);
    return "";
  });
  if (context.communicator.rank() == 0)
    fmt::print("{}", work.as_json ? eval_report_json(*report, describe(work.views))
                                  : eval_report_text(*report));
  return 0;
}

/// What a run's task cannot give is said before the work is done.
void fit_to_task(const EvalWork& work, app::Recipe& recipe) {
  apply(work.draws, recipe);
  if (recipe.task.name == config::Schema<train::CtDiffusionConfig>::name)
    app::require_patient_table(work.predictions);
}

void add_views(CLI::App& app, app::EvalViews& views) {
  constexpr int kMostPixels = 16384;
  constexpr double kLeastShare = 0.01;
  constexpr double kMostTemperature = 1e6;
  app.add_option("--size", views.size,
                 "Side of the piece of each image that the network sees, in pixels; the resize "
                 "grows with it")
      ->check(CLI::Range(1, kMostPixels));
  app.add_option("--crop-pct", views.crop_pct,
                 "Which share of the resized image's shorter side the piece takes, as timm's")
      ->check(CLI::Range(kLeastShare, 1.0));
  app.add_flag("--flip", views.flip, "The mean of the logits of each image and its mirror image");
  app.add_flag("--ten-crop", views.ten_crop,
               "The mean of the logits of the corners and the middle, and their mirror images");
  app.add_option(
         "--shift", views.shift,
         "Half the logits of each image, half the mean of it moved so many pixels both ways "
         "along its diagonal, as airbench94 evaluates")
      ->check(CLI::Range(1, kMostPixels));
  app.add_option("--temperature", views.temperature,
                 "Divide logits by this before loss and probabilities")
      ->check(CLI::Range(1 / kMostTemperature, kMostTemperature));
  app.add_option("--class-map", views.class_map,
                 "YAML or JSON file: the model's class of each of the data's ({n01498041: 6}, or a "
                 "list in their order), or several ({dog: [151, 152]}); logits of other classes "
                 "are left out");
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments, const app::Registries& registries) {
  constexpr std::int64_t kMostTold = 1'000'000;
  EvalWork work;
  CLI::App app("Evaluate a checkpoint on the validation data of its recipe.", "eval");
  app.add_option("run", work.request.run_or_checkpoint,
                 "RUN (its newest checkpoint), RUN@best, RUN@step-N, a checkpoint, or with "
                 "data.path a folder of `paceline export --format hf`")
      ->required();
  app.add_option("overrides", work.request.overrides,
                 "section.key=value changes to the recipe of the run");
  app.add_option("--weights", work.request.weights, kWeightsHelp);
  add_views(app, work.views);
  add_options(app, work.draws);
  app.add_flag("--json", work.as_json, "Print one JSON object");
  app.add_option(
      "--predictions", work.predictions,
      "Write a table, CSV or by its name (.parquet) Parquet: a row for each sample, with "
      "what it was told as, or of volumes CSV with a row for each patient");
  app.add_option("--topk", work.num_told, "Classes of a sample in --predictions")
      ->check(CLI::Range(std::int64_t{1}, kMostTold))
      ->capture_default_str();
  app.add_option("--html", work.page,
                 "Write a page with pictures of the worst samples, confusions, calibration and "
                 "classes, which needs no other file");
  app.add_option("--pictures", work.pictures,
                 "Write what the task shows of the evaluation, such as slices of volumes, as PNG "
                 "files into this folder");
  app.footer("Launch options:\n" + launch::launch_options_help(/*can_detach=*/false));
  if (!parse_arguments(app, arguments, registries)) return 0;
  refuse_other_format(work.predictions, ".csv", "CSV and Parquet are what is written",
                      {".json", ".jsonl", ".npy", ".xlsx", ".html"}, "--predictions");
  if (app::is_parquet_table(work.predictions)) data::load_remote_plugin();  // or refuse at once
  work.request.adapt = [&work](app::Recipe& recipe) { fit_to_task(work, recipe); };
  RankProcess process(registries);
  const int exit_code = evaluate(work, process.context());
  process.shutdown();
  return exit_code;
}

}  // namespace paceline::cli
