#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/work_progress.h"
#include "paceline/dataset_tools/synth.h"

#include <algorithm>
#include <array>

namespace paceline::cli {
namespace {

constexpr std::array kDataCommands{
    DataCommand{"prepare",
                "download, check and pack a public data set, or make volumes of CT scans",
                run_data_prepare},
    DataCommand{"synth",
                "write a JPEG image folder of textured shapes or drawn digits, to try things with",
                run_data_synth},
    DataCommand{"info", "count, measure and describe a data set", run_data_info},
    DataCommand{"show", "print and draw samples of a data set", run_data_show},
    DataCommand{"verify", "read and decode all of a data set; list every damaged file",
                run_data_verify},
    DataCommand{"bench", "measure how fast training samples come, and what limits that",
                run_data_bench},
    DataCommand{"pack", "write a data set as a packed one", run_data_pack},
    DataCommand{"subset", "write a part of a data set as a packed one", run_data_subset},
};

void print_help() {
  fmt::print("usage: paceline data COMMAND ...\n\n");
  for (const DataCommand& command : kDataCommands)
    fmt::print("  {:<8}{}\n", command.name, command.summary);
  fmt::print("\n`paceline data COMMAND --help` tells more.\n");
}

}  // namespace

int run_data(const std::vector<std::string>& arguments, const app::Registries& registries) {
  if (arguments.empty())
    throw base::ConfigError("data wants a command; `paceline data --help` lists them");
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    print_help();
    return 0;
  }
  std::vector<std::string> names;
  for (const DataCommand& command : kDataCommands) {
    if (command.name == arguments[0])
      return command.run({arguments.begin() + 1, arguments.end()}, registries);
    names.emplace_back(command.name);
  }
  const std::string nearest = base::nearest_name(arguments[0], names);
  throw base::ConfigError(fmt::format("there is no command 'data {}'; {}", arguments[0],
                                      nearest.empty() ? "`paceline data --help` lists them"
                                                      : fmt::format("did you mean {}?", nearest)));
}

int run_data_synth(const std::vector<std::string>& arguments, const app::Registries& registries) {
  dataset_tools::SynthOptions options;
  int num_threads = 0;
  std::string like;
  CLI::App app(
      "Write a JPEG image folder of textured shapes or drawn digits, the same for the same "
      "options.",
      "data synth");
  app.add_option("path", options.path, "The folder to write; must be absent or empty")->required();
  app.add_option("--classes", options.classes, "Number of classes")->capture_default_str();
  app.add_option("--train-per-class", options.train_per_class, "Training images per class")
      ->capture_default_str();
  app.add_option("--val-per-class", options.val_per_class, "Validation images per class")
      ->capture_default_str();
  auto* const likeness = app.add_option("--kind,--like", like,
                                        "imagenet: under noise that makes files with the sizes, "
                                        "bytes and coefficients of ImageNet's, "
                                        "110 kB on average, for measuring; digits: 0 to 9 as if "
                                        "drawn by hand on textured paper, of 32 pixels, which "
                                        "convolutions learn and linear models do not");
  likeness->check(CLI::IsMember({"imagenet", "digits"}));
  app.add_option("--min-size", options.min_size, "Shortest side in pixels")
      ->capture_default_str()
      ->excludes(likeness);
  app.add_option("--max-size", options.max_size, "Longest side in pixels")
      ->capture_default_str()
      ->excludes(likeness);
  app.add_option("--quality", options.quality, "JPEG quality")
      ->capture_default_str()
      ->excludes(likeness);
  app.add_option("--seed", options.seed, "The images are a function of it")->capture_default_str();
  add_threads(app, num_threads);
  if (!parse_arguments(app, arguments, registries)) return 0;
  if (!like.empty())
    options.kind =
        like == "digits" ? dataset_tools::SynthKind::kDigits : dataset_tools::SynthKind::kImagenet;
  bool is_new = false;
  {
    WorkProgress progress("images");
    is_new = dataset_tools::synthesize_image_folder(
        options, num_threads,
        [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }
  base::log_info("{} {}", options.path, is_new ? "is written" : "holds this data set already");
  return 0;
}

}  // namespace paceline::cli
