#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/work_progress.h"
#include "paceline/dataset_tools/verify.h"

#include <memory>
#include <utility>
#include <vector>

namespace paceline::cli {
namespace {

/// Lists what is damaged on standard output; returns how much that is.
std::size_t verify_split(const data::Dataset& dataset, const std::string& split, bool decodes,
                         int num_threads) {
  const dataset_tools::VerifyReport report = [&] {
    WorkProgress progress(split + " samples");
    return dataset_tools::verify(
        dataset, decodes, num_threads,
        [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }();
  for (const std::string& damaged : report.damaged) fmt::print("{}\n", damaged);
  fmt::print("{}: {} samples, {}: {} damaged\n", split, base::format_count(report.num_samples),
             base::format_bytes(report.size_bytes), report.damaged.size());
  if (!report.empty_classes.empty()) {
    base::log_warning("{}: {} of {} classes have no sample: {}", split, report.empty_classes.size(),
                      dataset.num_classes(), base::join_first(report.empty_classes, 10));
  }
  return report.damaged.size();
}

}  // namespace

int run_data_verify(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  std::string split = "all";
  int num_threads = 0;
  bool skips_decoding = false;
  CLI::App app(
      "Read and decode every sample of a data set and list the damaged ones. The exit code is 3 if "
      "there are any.",
      "data verify");
  source.add_options(app, /*has_split=*/false);
  app.add_option("--split", split, "Which part")
      ->check(CLI::IsMember({"all", "train", "val"}))
      ->capture_default_str();
  add_threads(app, num_threads);
  app.add_flag("--no-decode", skips_decoding, "Only read; of a packed set this checks all hashes");
  if (!parse_arguments(app, arguments, registries)) return 0;
  std::vector<std::pair<std::string, std::unique_ptr<data::Dataset>>> parts;
  for (const char* each : {"train", "val"}) {
    if (split != "all" && split != each) continue;
    source.split = each;
    try {
      parts.emplace_back(each, source.open(registries));
    } catch (const data::AbsentPartError& error) {
      if (split != "all" || parts.empty()) throw;
      base::log_warning("no validation part: {}", error.what());
    } catch (const base::DataError& error) {
      if (split != "all" || parts.empty()) throw;
      throw base::DataError(
          fmt::format("{}; --split train verifies the training part alone", error.what()));
    }
  }
  std::size_t num_damaged = 0;
  for (const auto& [name, dataset] : parts)
    num_damaged += verify_split(*dataset, name, !skips_decoding, num_threads);
  if (num_damaged > 0)
    throw base::DataError(fmt::format("{}: {} damaged sample{}", source.source, num_damaged,
                                      num_damaged == 1 ? "" : "s"));
  return 0;
}

}  // namespace paceline::cli
