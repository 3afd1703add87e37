#include "paceline/app/evaluation/eval_page.h"

#include "paceline/app/evaluation/eval_charts.h"
#include "paceline/app/evaluation/eval_details.h"
#include "paceline/app/evaluation/eval_page_assets.h"
#include "paceline/app/evaluation/html_text.h"
#include "paceline/app/evaluation/thumbnail.h"
#include "paceline/app/evaluation/top_classes.h"
#include "paceline/base/version.h"
#include "paceline/config/write.h"

#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

namespace paceline::app {
namespace {

constexpr std::int64_t kMostSamples = 24;
constexpr std::int64_t kMostConfusions = 40;
constexpr std::size_t kMostInMatrix = 30;
constexpr int kThumbnailSide = 200;

std::string section(std::string_view title, std::string_view body) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", title, body);
}

std::string class_text(const EvalReport& report, std::int64_t label) {
  return escape_html(name_of_class(report.class_names, label));
}

/// "top1" of "val/top1".
std::string_view without_prefix(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string metric_cards(const EvalReport& report) {
  std::string html = "<div class='cards'>";
  const auto card = [&](std::string_view name, const std::string& value) {
    html += fmt::format("<div class='card'><b>{}</b><span>{}</span></div>", value, name);
  };
  for (const auto& [name, value] : report.result.values)
    card(escape_html(without_prefix(name)), fmt::format("{:.4f}", value));
  card("samples", fmt::format("{}", report.result.samples));
  if (report.result.skipped > 0) card("skipped", fmt::format("{}", report.result.skipped));
  return html + "</div>\n";
}

std::string figure(const EvalReport& report, const SampleFacts& sample, Thumbnails& thumbnails) {
  const std::string uri = thumbnails.uri(sample.index);
  const std::string picture =
      uri.empty() ? "no picture" : fmt::format("<img alt='' src='{}'>", uri);
  return fmt::format(
      "<figure><div class='picture'>{}</div><figcaption><b>{}</b> told as <b class='{}'>{}</b> "
      "({:.3f}), loss {:.3f}<small title='{}'>{}</small></figcaption></figure>\n",
      picture, class_text(report, sample.label), sample.is_right() ? "right" : "wrong",
      class_text(report, sample.told), sample.probability, sample.loss,
      escape_html(report.part.dataset->describe(sample.index)),
      escape_html(report.part.dataset->name(sample.index)));
}

std::string gallery(const EvalReport& report) {
  Thumbnails thumbnails(*report.part.dataset, kThumbnailSide);
  std::string html = "<p class='muted'>The samples with the highest loss.</p><div class='gallery'>";
  for (const SampleFacts& sample : worst_samples(*report.samples, kMostSamples))
    html += figure(report, sample, thumbnails);
  return html + "</div>\n";
}

std::string confusion_list(const EvalReport& report) {
  std::string html =
      "<div class='scroll'><table><thead><tr><th class='text'>class</th><th class='text'>told as"
      "</th><th>samples</th></tr></thead><tbody>";
  for (const Confusion& each : top_confusions(*report.samples, kMostConfusions)) {
    html += fmt::format("<tr><td class='text'>{}</td><td class='text'>{}</td><td>{}</td></tr>\n",
                        class_text(report, each.label), class_text(report, each.told), each.count);
  }
  return html + "</tbody></table></div>\n";
}

std::string confusions(const EvalReport& report) {
  const std::size_t num_classes = report.result.table ? report.result.table->classes.size() : 0;
  if (num_classes == 0 || num_classes > kMostInMatrix)
    return fmt::format("<p class='muted'>The {} that happened most.</p>{}", kMostConfusions,
                       confusion_list(report));
  const auto matrix = confusion_matrix(*report.samples, static_cast<std::int64_t>(num_classes));
  return "<p class='muted'>Rows are classes, columns what their samples were told as.</p><div "
         "class='scroll'>" +
         confusion_table(matrix, report.class_names) + "</div>\n";
}

std::string calibration(const EvalReport& report) {
  const auto bins = calibration_bins(*report.samples);
  return fmt::format(
      "<p class='muted'>Expected calibration error {:.4f}. Where a bar ends below the dashed "
      "line, the network was right less often than it said.</p>{}\n",
      calibration_error(bins), calibration_svg(bins));
}

/// What each class was told as most often instead.
std::unordered_map<std::int64_t, Confusion> main_confusions(const EvalReport& report) {
  std::unordered_map<std::int64_t, Confusion> of_class;
  if (!report.samples) return of_class;
  for (const Confusion& each : top_confusions(*report.samples, report.samples->labels.numel()))
    of_class.emplace(each.label, each);  // the first is the most frequent
  return of_class;
}

std::string class_table(const EvalReport& report) {
  std::string html =
      "<input type='search' placeholder='filter classes' data-filters='classes'>"
      "<div class='scroll'><table class='sortable' id='classes'><thead><tr>"
      "<th class='text'><button>class</button></th>";
  for (const char* name : {"samples", "told", "correct", "precision", "recall", "f1"})
    html += fmt::format("<th><button>{}</button></th>", name);
  html += "<th class='text'><button>most told as instead</button></th></tr></thead><tbody>\n";
  const auto others = main_confusions(report);
  const auto& classes = report.result.table->classes;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const metrics::ClassCount& each = classes[i];
    const auto label = static_cast<std::int64_t>(i);
    const auto other = others.find(label);
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.4f}</td><td>{:.4f}</td><td>{:.4f}"
        "</td><td class='text'>{}</td></tr>\n",
        class_text(report, label), each.samples, each.told, each.correct, each.precision(),
        each.recall(), each.f1(),
        other == others.end()
            ? ""
            : fmt::format("{} ({})", class_text(report, other->second.told), other->second.count));
  }
  return html + "</tbody></table></div>\n";
}

std::string facts_list(const EvalReport& report, std::span<const std::string> facts) {
  std::string html = "<dl>";
  const auto fact = [&](std::string_view name, std::string_view value) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escape_html(value));
  };
  fact("checkpoint", report.checkpoint.string());
  fact("step", fmt::format("{}", report.step));
  fact("model", report.recipe.model.network.name);
  fact("data", describe(*report.part.dataset));
  fact("precision", config::to_node(config::describe<train::TrainerConfig>(), &report.recipe.train)
                        .find("precision")
                        ->text);
  for (const std::string& line : facts) fact("", line);
  fact("time", fmt::format("{:.1f} s", report.result.seconds));
  fact("paceline", base::kVersion);
  html += "</dl>\n<details><summary>recipe</summary><pre>";
  html += escape_html(config::to_yaml(config::to_node(config::describe<Recipe>(), &report.recipe)));
  return html + "</pre></details>\n";
}

}  // namespace

std::string eval_page(const EvalReport& report, std::span<const std::string> facts) {
  const std::string title = escape_html(
      fmt::format("{} on {}", report.checkpoint.parent_path().parent_path().filename().string(),
                  report.recipe.data.source.name));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n<meta name='viewport' "
      "content='width=device-width,initial-scale=1'>\n<meta http-equiv='Content-Security-Policy' "
      "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src "
      "'unsafe-inline'\">\n<title>{0}</title>\n<style>{1}</style></head>\n<body><h1>{0}</h1>\n"
      "<p class='muted'>step {2}, {3} samples</p>\n",
      title, kPageStyle, report.step, report.result.samples);
  html += metric_cards(report);
  if (report.samples) {
    html += section("Worst samples", gallery(report));
    html += section("Confusions", confusions(report));
    html += section("Calibration", calibration(report));
  }
  if (report.result.table) html += section("Classes", class_table(report));
  html += section("What was evaluated", facts_list(report, facts));
  return html + fmt::format("<script>{}</script></body></html>\n", kPageScript);
}

}  // namespace paceline::app
