#include "paceline/app/predict_run.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/rank_process.h"
#include "paceline/comm/agreement.h"
#include "paceline/launch/options.h"

namespace paceline::cli {
namespace {

/// The exit code. Every rank must call it.
int predict(const app::PredictRequest& request, const app::SessionContext& context) {
  const auto report = app::run_prediction(request, context);
  if (!report)  // the signal may not have come to this rank
    return 128 + static_cast<int>(
                     comm::max_over_ranks(context.communicator, context.interruption.signal()));
  if (context.communicator.rank() == 0)
    base::log_info("wrote {}: what {} (step {}) gives out for {} samples", request.output.string(),
                   report->checkpoint.string(), report->step, report->samples);
  return 0;
}

}  // namespace

int run_predict(const std::vector<std::string>& arguments, const app::Registries& registries) {
  app::PredictRequest request;
  CLI::App app("Write what a checkpoint gives out for the validation data of its recipe.",
               "predict");
  app.add_option("run", request.source.run_or_checkpoint,
                 "RUN (its newest checkpoint), RUN@best, RUN@step-N or a checkpoint")
      ->required();
  app.add_option("overrides", request.source.overrides,
                 "section.key=value changes to the recipe of the run; data.path=OTHER predicts "
                 "OTHER's validation samples");
  app.add_option("--weights", request.source.weights,
                 "Of an algorithm that keeps some besides the trained ones: ema");
  app.add_option("-o,--output", request.output, "The folder to write, which is not there yet")
      ->required();
  app.footer(
      "Writes OUTPUT/FIELD.npy, a row per sample in the order of the data set (of a "
      "classification:\n"
      "probabilities.npy, in the order of the classes), samples.csv, which names the sample of "
      "each\n"
      "row, and predictions.json. The folder appears when all of it is there.\n\n"
      "Launch options:\n" +
      launch::launch_options_help(/*can_detach=*/false));
  if (!parse_arguments(app, arguments, registries)) return 0;
  RankProcess process(registries);
  const int exit_code = predict(request, process.context());
  process.shutdown();
  return exit_code;
}

}  // namespace paceline::cli
