#include "paceline/app/evaluation/eval_run.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/rank_process.h"
#include "paceline/comm/agreement.h"
#include "paceline/launch/options.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

/// A list of the classes, and how many samples of each (row) were told as each (column): null of
/// more classes than anyone reads.
void add_table(const train::ClassTable& table, nlohmann::json& json) {
  auto& classes = json["classes"] = nlohmann::json::array();
  for (const metrics::ClassCount& each : table.classes) {
    classes.push_back({{"samples", each.samples},
                       {"told", each.told},
                       {"correct", each.correct},
                       {"precision", each.precision()},
                       {"recall", each.recall()},
                       {"f1", each.f1()}});
  }
  auto& rows = json["confusion_matrix"] = nullptr;
  if (!table.confusions.defined()) return;
  const std::int64_t count = table.confusions.size(0);
  const auto* const cells = table.confusions.const_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < count; ++row)
    rows.push_back(std::vector<std::int64_t>(cells + row * count, cells + (row + 1) * count));
}

void print_report(const app::EvalReport& report, bool as_json) {
  if (as_json) {
    nlohmann::json json = {
        {"checkpoint", report.checkpoint.string()}, {"step", report.step},
        {"samples", report.result.samples},         {"skipped", report.result.skipped},
        {"seconds", report.result.seconds},         {"metrics", report.result.values},
        {"class_names", report.class_names}};
    if (report.result.table) add_table(*report.result.table, json);
    // A path may have bytes that are not UTF-8.
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("{} (step {}), {} samples{}\n", report.checkpoint.string(), report.step,
             report.result.samples,
             report.result.skipped > 0 ? fmt::format(", {} skipped", report.result.skipped) : "");
  std::size_t width = 12;
  for (const auto& [name, value] : report.result.values) width = std::max(width, name.size());
  for (const auto& [name, value] : report.result.values)
    fmt::print("  {:<{}} {:.4f}\n", name, width, value);
}

/// The exit code. Every rank must call it.
int evaluate(const app::EvalRequest& request, bool as_json, const app::SessionContext& context) {
  const auto report = app::run_evaluation(request, context);
  if (!report)  // the signal may not have come to this rank
    return 128 + static_cast<int>(
                     comm::max_over_ranks(context.communicator, context.interruption.signal()));
  if (context.communicator.rank() == 0) print_report(*report, as_json);
  return 0;
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments, const app::Registries& registries) {
  app::EvalRequest request;
  bool as_json = false;
  CLI::App app("Evaluate a checkpoint on the validation data of its recipe.", "eval");
  app.add_option("run", request.run_or_checkpoint,
                 "RUN (its newest checkpoint), RUN@best, RUN@step-N or a checkpoint")
      ->required();
  app.add_option("overrides", request.overrides,
                 "section.key=value changes to the recipe of the run");
  app.add_option("--weights", request.weights,
                 "Of an algorithm that keeps some besides the trained ones: ema");
  app.add_flag("--json", as_json, "Print one JSON object");
  app.footer("Launch options:\n" + launch::launch_options_help(/*can_detach=*/false));
  if (!parse_arguments(app, arguments, registries)) return 0;
  RankProcess process(registries);
  const int exit_code = evaluate(request, as_json, process.context());
  process.shutdown();
  return exit_code;
}

}  // namespace paceline::cli
