#include "paceline/cli/eval_report.h"

#include "paceline/app/evaluation/eval_details.h"
#include "paceline/app/evaluation/top_classes.h"
#include "paceline/base/text.h"
#include "paceline/cli/patient_report.h"
#include "paceline/train/evaluator.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

constexpr std::int64_t kMostShown = 5;    // of each list, to people
constexpr std::int64_t kMostListed = 25;  // to programs

std::string class_name(const app::EvalReport& report, std::int64_t label) {
  return app::name_of_class(report.class_names, label);
}

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

void add_samples(const app::EvalReport& report, nlohmann::json& json) {
  auto& confusions = json["top_confusions"] = nlohmann::json::array();
  for (const app::Confusion& each : app::top_confusions(*report.samples, kMostListed))
    confusions.push_back({{"label", each.label}, {"told", each.told}, {"samples", each.count}});
  auto& samples = json["worst_samples"] = nlohmann::json::array();
  for (const app::SampleFacts& each : app::worst_samples(*report.samples, kMostListed)) {
    samples.push_back({{"index", each.index},
                       {"sample", report.part.dataset->describe(each.index)},
                       {"label", each.label},
                       {"told", each.told},
                       {"probability", each.probability},
                       {"loss", each.loss}});
  }
  auto& bins = json["calibration"] = nlohmann::json::array();
  for (const app::CalibrationBin& each : app::calibration_bins(*report.samples)) {
    bins.push_back({{"from", each.from},
                    {"to", each.to},
                    {"samples", each.samples},
                    {"confidence", each.confidence},
                    {"accuracy", each.accuracy}});
  }
}

std::string worst_classes_text(const app::EvalReport& report) {
  const auto& classes = report.result.table->classes;
  const auto labels = app::worst_classes(classes, kMostShown);
  if (std::ranges::count_if(classes, &metrics::ClassCount::occurs) < 2) return "";
  std::size_t width = 5;
  for (const std::int64_t label : labels) width = std::max(width, class_name(report, label).size());
  std::string text =
      fmt::format("worst classes\n  {:<{}}  samples  precision  recall      f1\n", "class", width);
  for (const std::int64_t label : labels) {
    const metrics::ClassCount& each = classes[static_cast<std::size_t>(label)];
    text +=
        fmt::format("  {:<{}}  {:>7}  {:>9.4f}  {:>6.4f}  {:>6.4f}\n", class_name(report, label),
                    width, each.samples, each.precision(), each.recall(), each.f1());
  }
  return text;
}

std::string confusions_text(const app::EvalReport& report) {
  std::string text;
  for (const app::Confusion& each : app::top_confusions(*report.samples, kMostShown)) {
    text += fmt::format("  {} told as {}: {}\n", class_name(report, each.label),
                        class_name(report, each.told), base::format_count(each.count));
  }
  return text.empty() ? "" : "top confusions\n" + text;
}

std::string worst_samples_text(const app::EvalReport& report) {
  std::string text;
  for (const app::SampleFacts& each : app::worst_samples(*report.samples, kMostShown)) {
    text += fmt::format("  {:.4f}  {}: {} told as {} ({:.4f})\n", each.loss,
                        report.part.dataset->describe(each.index), class_name(report, each.label),
                        class_name(report, each.told), each.probability);
  }
  return text.empty() ? "" : "worst samples, by loss\n" + text;
}

}  // namespace

std::string eval_report_text(const app::EvalReport& report) {
  const train::EvalResult& result = report.result;
  std::string text = fmt::format(
      "{} (step {}{}), {} samples{}\n", report.checkpoint.string(), report.step,
      report.has_others_weights() ? ", weights of " + report.weights : "", result.samples,
      result.skipped > 0 ? fmt::format(", {} skipped", result.skipped) : "");
  std::size_t width = 12;
  for (const auto& [name, value] : result.values) width = std::max(width, name.size());
  for (const auto& [name, value] : result.values)
    text += fmt::format("  {:<{}} {:.4f}\n", name, width, value);
  if (result.table) text += worst_classes_text(report);
  if (report.samples) text += confusions_text(report) + worst_samples_text(report);
  if (report.patients) text += patient_report_text(report);
  return text;
}

std::string eval_report_json(const app::EvalReport& report, std::span<const std::string> views) {
  nlohmann::json json = {{"checkpoint", report.checkpoint.string()},
                         {"step", report.step},
                         {"weights", report.weights.empty() ? nlohmann::json(nullptr)
                                                            : nlohmann::json(report.weights)},
                         {"samples", report.result.samples},
                         {"skipped", report.result.skipped},
                         {"seconds", report.result.seconds},
                         {"metrics", report.result.values},
                         {"class_names", report.class_names},
                         {"views", std::vector<std::string>(views.begin(), views.end())}};
  if (report.result.table) add_table(*report.result.table, json);
  if (report.samples) add_samples(report, json);
  if (report.patients) json["patients"] = patient_report_json(report);
  // A path may have bytes that are not UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace paceline::cli
