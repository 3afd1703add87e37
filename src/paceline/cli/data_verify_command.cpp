#include "paceline/app/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data_commands.h"
#include "paceline/cli/data_source.h"
#include "paceline/cli/work_progress.h"
#include "paceline/data/verify.h"

namespace paceline::cli {

int run_data_verify(const std::vector<std::string>& arguments) {
  DataSource source;
  int num_threads = 0;
  bool skips_decoding = false;
  CLI::App app(
      "Read and decode every sample of a data set and list the damaged ones. The exit code is 3 if "
      "there are any.",
      "data verify");
  source.add_options(app);
  add_threads(app, num_threads);
  app.add_flag("--no-decode", skips_decoding, "Only read; of a packed set this checks all hashes");
  if (!parse_arguments(app, arguments)) return 0;
  const auto dataset = source.open(*app::make_registries());
  const data::VerifyReport report = [&] {
    WorkProgress progress("samples");
    return data::verify(
        *dataset, !skips_decoding, num_threads,
        [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }();
  for (const std::string& damaged : report.damaged) fmt::print("{}\n", damaged);
  const std::string text =
      fmt::format("{} samples, {}: {} damaged", base::format_count(report.num_samples),
                  base::format_bytes(report.size_bytes), report.damaged.size());
  if (!report.damaged.empty()) throw base::DataError(source.source + ": " + text);
  fmt::print("{}\n", text);
  return 0;
}

}  // namespace paceline::cli
