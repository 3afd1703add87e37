#include "paceline/app/lr_find_run.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/plot/chart.h"
#include "paceline/cli/rank_process.h"
#include "paceline/comm/agreement.h"
#include "paceline/launch/options.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

/// What `paceline lr-find` is asked to do.
struct LrFindWork {
  app::TrainRequest request;
  std::string style = "fastai";
  std::string rule;  ///< empty: the style's
  std::optional<double> low, high;
  std::int64_t num_steps = 100;
  bool as_json = false;
  std::filesystem::path svg, csv;  ///< empty: none
};

optim::LrRange range_of(const LrFindWork& work) {
  optim::LrRange range = optim::usual_range(config::enum_value<optim::LrFindStyle>(work.style));
  range.low = work.low.value_or(range.low);
  range.high = work.high.value_or(range.high);
  range.num_steps = work.num_steps;
  return range;
}

/// Up to the first loss that is no number.
Chart chart_of(const app::LrFindResult& result) {
  Chart chart{"smoothed loss", "log10 of optimizer.lr", {}, {}};
  const std::vector<double> means = optim::smoothed(result.curve.losses, result.range.style);
  for (std::size_t i = 0; i < means.size() && std::isfinite(means[i]); ++i) {
    chart.x.push_back(std::log10(result.curve.rates[i]));
    chart.y.push_back(means[i]);
  }
  return chart;
}

std::string csv_of(const app::LrFindResult& result) {
  const std::vector<double> means = optim::smoothed(result.curve.losses, result.range.style);
  const auto cell = [](double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : std::string();
  };
  std::string text = "lr,loss,smoothed_loss\n";
  for (std::size_t i = 0; i < means.size(); ++i)
    text += fmt::format("{},{},{}\n", result.curve.rates[i], cell(result.curve.losses[i]),
                        cell(means[i]));
  return text;
}

std::string json_of(const app::LrFindResult& result, optim::LrRule rule, double lr) {
  nlohmann::json suggestions = nlohmann::json::object();
  for (const optim::LrRule each : optim::kLrRules) {
    nlohmann::json& value = suggestions[std::string(config::enum_name(each))];
    if (const auto rate = result.suggestion(each)) value = *rate;
  }
  const nlohmann::json all{
      {"lr", lr},
      {"rule", config::enum_name(rule)},
      {"suggestions", suggestions},
      {"like", config::enum_name(result.range.style)},
      {"steps", result.curve.rates.size()},
      {"ended_early", result.end},
      {"rates", result.curve.rates},
      {"losses", result.curve.losses},
      {"smoothed_losses", optim::smoothed(result.curve.losses, result.range.style)}};
  return all.dump() + "\n";
}

std::string text_of(const app::LrFindResult& result, optim::LrRule rule, double lr,
                    const LrFindWork& work) {
  constexpr int kRows = 14;
  const int columns = terminal_columns();
  const Chart chart = chart_of(result);
  std::string text;
  if (columns > 0 && !chart.x.empty()) text += text_chart(chart, columns, kRows);
  if (!result.end.empty())
    text += fmt::format("ended after {} of {} steps: {}\n", result.curve.rates.size(),
                        result.range.num_steps, result.end);
  for (const optim::LrRule each : optim::kLrRules) {
    const auto rate = result.suggestion(each);
    text += fmt::format("{:<10}{}{}\n", config::enum_name(each),
                        rate ? fmt::format("{:.4g}", *rate) : "too few points",
                        each == rule ? "  <- optimizer.lr" : "");
  }
  std::vector<std::string> words{work.request.recipe.string()};
  words.insert(words.end(), work.request.overrides.begin(), work.request.overrides.end());
  words.push_back(fmt::format("optimizer.lr={:.4g}", lr));
  std::ranges::transform(words, words.begin(), base::shell_word);
  const std::string phase = work.request.only_phase
                                ? fmt::format(", in phase {}", *work.request.only_phase)
                                : std::string();
  return text + fmt::format("train with it{}: paceline train {}\n", phase, base::join(words, " "));
}

void write_files(const LrFindWork& work, const app::LrFindResult& result, base::FileSystem& files) {
  if (!work.csv.empty()) base::write_file_atomically(files, work.csv, csv_of(result));
  if (work.svg.empty()) return;
  const Chart chart = chart_of(result);
  if (chart.x.empty()) {
    base::log_warning("{} is not drawn: no loss was finite", work.svg.string());
    return;
  }
  base::write_file_atomically(files, work.svg, svg_charts(std::span(&chart, 1)));
}

void find(const LrFindWork& work, const app::SessionContext& context) {
  const optim::LrRange range = range_of(work);
  const optim::LrRule rule = work.rule.empty() ? optim::usual_rule(range.style)
                                               : config::enum_value<optim::LrRule>(work.rule);
  const app::LrFindResult result = app::find_lr(work.request, range, context);
  comm::first_rank_decides(context.communicator, [&] {
    write_files(work, result, context.files);
    return "";
  });
  const double lr = app::require_suggestion(result, rule);
  if (context.communicator.rank() == 0)
    fmt::print("{}", work.as_json ? json_of(result, rule, lr) : text_of(result, rule, lr, work));
}

}  // namespace

int run_lr_find(const std::vector<std::string>& arguments, const app::Registries& registries) {
  LrFindWork work;
  std::string phase;
  CLI::App app("Find a learning rate by a range test: a short training with rising rates.",
               "lr-find");
  app.add_option("recipe", work.request.recipe, "The recipe")->required();
  app.add_option("overrides", work.request.overrides, "section.key=value changes");
  app.add_option("--phase", phase, "Of a recipe of phases this one");
  app.add_option("--like", work.style,
                 "Whose test: fastai (1e-7 to 10, valley) or lightning (1e-8 to 1, steepest)")
      ->check(CLI::IsMember(config::enum_names<optim::LrFindStyle>()))
      ->capture_default_str();
  app.add_option("--rule", work.rule, "How the rate is read off: valley, steepest, minimum, slide")
      ->check(CLI::IsMember(config::enum_names<optim::LrRule>()));
  app.add_option("--min", work.low, "The first rate, as a value of optimizer.lr");
  app.add_option("--max", work.high, "The last rate");
  constexpr std::int64_t kMostSteps = 100'000;  // a rule compares each with each
  app.add_option("--steps", work.num_steps, "Steps of the test")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps))
      ->capture_default_str();
  app.add_option("--svg", work.svg, "The SVG file to draw, too");
  app.add_option("--csv", work.csv, "A table of rates and losses to write, too");
  app.add_flag("--json", work.as_json, "Print one JSON object");
  app.footer("Launch options:\n" + launch::launch_options_help(/*can_detach=*/false));
  if (!parse_arguments(app, arguments, registries)) return 0;
  refuse_other_format(work.svg, ".svg", "an SVG is what is drawn", {".png", ".pdf", ".jpg"},
                      "--svg");
  refuse_other_format(work.csv, ".csv", "CSV is what is written", {".json", ".parquet", ".xlsx"},
                      "--csv");
  if (!phase.empty()) work.request.only_phase = phase;
  RankProcess process(registries);
  find(work, process.context());
  process.shutdown();
  return 0;
}

}  // namespace paceline::cli
