#include "paceline/app/recipe/builtin.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/work_progress.h"
#include "paceline/dataset_tools/field_facts.h"
#include "paceline/dataset_tools/statistics.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

void print_distribution(std::string_view name, const dataset_tools::Distribution& values,
                        double unit) {
  fmt::print("  {:<18}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", name,
             values.smallest / unit, values.p10 / unit, values.median / unit, values.mean / unit,
             values.p90 / unit, values.largest / unit);
}

/// How many classes have how many samples, in at most ten rows of equal width.
void print_histogram(const std::vector<std::int64_t>& class_sizes) {
  constexpr std::int64_t kRows = 10;
  constexpr std::int64_t kLongestBar = 40;
  const auto [smallest, largest] = std::ranges::minmax(class_sizes);
  const std::int64_t width = (largest - smallest) / kRows + 1;
  std::vector<std::int64_t> counts(static_cast<std::size_t>((largest - smallest) / width + 1));
  for (const std::int64_t size : class_sizes)
    ++counts[static_cast<std::size_t>((size - smallest) / width)];
  const std::int64_t most = *std::ranges::max_element(counts);
  fmt::print("samples per class:\n");
  for (std::size_t row = 0; row < counts.size(); ++row) {
    const std::int64_t begin = smallest + static_cast<std::int64_t>(row) * width;
    const std::string range =
        width == 1 ? fmt::format("{}", begin) : fmt::format("{} to {}", begin, begin + width - 1);
    fmt::print("  {:<18}{:>7} classes {}\n", range, counts[row],
               std::string(static_cast<std::size_t>(counts[row] * kLongestBar / most), '#'));
  }
}

void print_text(const data::Dataset& dataset, const dataset_tools::DatasetStatistics& statistics) {
  fmt::print("{} samples in {} classes, fingerprint {}\n",
             base::format_count(statistics.num_samples), dataset.num_classes(),
             dataset.fingerprint());
  if (statistics.num_samples == 0) return;
  print_histogram(statistics.class_sizes);
  fmt::print("formats of {} samples:\n", base::format_count(statistics.num_examined));
  for (const auto& [format, count] : statistics.formats)
    fmt::print("  {:<30}{:>10}  {:5.1f} %\n", format, base::format_count(count),
               100.0 * static_cast<double>(count) / static_cast<double>(statistics.num_examined));
  fmt::print("  {:<18}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "smallest", "10 %", "median",
             "mean", "90 %", "largest");
  print_distribution("stored, KiB", statistics.size_bytes, 1024);
  print_distribution("width", statistics.width, 1);
  print_distribution("height", statistics.height, 1);
  print_distribution("bits per pixel", statistics.bits_per_pixel, 1);
  for (const std::string& damaged : statistics.damaged) fmt::print("damaged: {}\n", damaged);
}

nlohmann::ordered_json to_json(const dataset_tools::Distribution& values) {
  return {{"smallest", values.smallest}, {"p10", values.p10}, {"median", values.median},
          {"mean", values.mean},         {"p90", values.p90}, {"largest", values.largest}};
}

void print_json(const data::Dataset& dataset, const dataset_tools::DatasetStatistics& statistics) {
  nlohmann::ordered_json classes;
  const std::vector<std::string> names = dataset.class_names();
  for (std::size_t i = 0; i < names.size(); ++i) classes[names[i]] = statistics.class_sizes[i];
  const data::LeftOut left_out = dataset.left_out();
  const nlohmann::ordered_json json{
      {"samples", statistics.num_samples},
      {"fingerprint", dataset.fingerprint()},
      {"classes", classes},
      {"examined", statistics.num_examined},
      {"formats", statistics.formats},
      {"size_bytes", to_json(statistics.size_bytes)},
      {"width", to_json(statistics.width)},
      {"height", to_json(statistics.height)},
      {"bits_per_pixel", to_json(statistics.bits_per_pixel)},
      {"damaged", statistics.damaged},
      {"left_out", {{"count", left_out.count}, {"first", left_out.first}}}};
  using Json = nlohmann::ordered_json;
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_fields(const data::Dataset& dataset, std::int64_t num_examined,
                  std::span<const dataset_tools::NumberRange> ranges) {
  const std::vector<data::FieldSpec> fields = dataset.stored_fields();
  const std::string classes =
      dataset.num_classes() > 0 ? fmt::format(" in {} classes", dataset.num_classes()) : "";
  fmt::print("{} samples{} of {} each, fingerprint {}\n", base::format_count(dataset.size()),
             classes, base::format_bytes(data::sample_bytes(fields)), dataset.fingerprint());
  fmt::print("fields, and the numbers of {} samples:\n", base::format_count(num_examined));
  for (std::size_t i = 0; i < fields.size(); ++i)
    fmt::print("  {:<40}  {}\n", data::describe(fields[i]), dataset_tools::describe(ranges[i]));
}

void print_fields_as_json(const data::Dataset& dataset, std::int64_t num_examined,
                          std::span<const dataset_tools::NumberRange> ranges) {
  nlohmann::ordered_json json{{"samples", dataset.size()},
                              {"fingerprint", dataset.fingerprint()},
                              {"classes", dataset.num_classes()},
                              {"examined", num_examined}};
  const std::vector<data::FieldSpec> fields = dataset.stored_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    json["fields"].push_back({{"name", fields[i].name},
                              {"type", data::name_of(fields[i].type)},
                              {"sizes", fields[i].sizes},
                              {"smallest", ranges[i].smallest},
                              {"mean", ranges[i].mean()},
                              {"largest", ranges[i].largest},
                              {"not_finite", ranges[i].not_finite}});
  }
  fmt::print("{}\n", json.dump(2));
}

/// Of a data set of arrays.
void tell_fields(const data::Dataset& dataset, std::int64_t num_examined, int num_threads,
                 bool as_json) {
  const auto ranges = [&] {
    WorkProgress progress("samples");
    return dataset_tools::examine_fields(
        dataset, num_examined, num_threads,
        [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }();
  const std::int64_t examined =
      num_examined == 0 ? dataset.size() : std::min(num_examined, dataset.size());
  (as_json ? print_fields_as_json : print_fields)(dataset, examined, ranges);
}

}  // namespace

int run_data_info(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  std::int64_t num_examined = 1000;
  int num_threads = 0;
  bool as_json = false;
  CLI::App app("Count, measure and describe a data set.", "data info");
  source.add_options(app);
  app.add_option("--samples", num_examined, "How many samples to look into, evenly spread; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_threads(app, num_threads);
  app.add_flag("--json", as_json, "Print one JSON object");
  if (!parse_arguments(app, arguments, registries)) return 0;
  const auto dataset = source.open(registries);
  if (!dataset->stored_fields().empty()) {
    tell_fields(*dataset, num_examined, num_threads, as_json);
    return 0;
  }
  const dataset_tools::DatasetStatistics statistics = [&] {
    WorkProgress progress("samples");
    return dataset_tools::examine(
        *dataset, num_examined, num_threads,
        [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }();
  if (as_json) {
    print_json(*dataset, statistics);
  } else {
    print_text(*dataset, statistics);
  }
  return 0;
}

}  // namespace paceline::cli
