#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/data/synth.h"

#include <mutex>

namespace paceline::cli {

int run_data(const std::vector<std::string>& arguments) {
  data::SynthOptions options;
  int num_threads = 0;
  CLI::App app("Make data sets.", "data");
  app.require_subcommand(1);
  CLI::App* synth = app.add_subcommand(
      "synth", "Write a JPEG image folder of textured shapes, the same for the same options");
  synth->add_option("path", options.path, "The folder to write; must be absent or empty")
      ->required();
  synth->add_option("--classes", options.classes, "Number of classes")->capture_default_str();
  synth->add_option("--train-per-class", options.train_per_class, "Training images per class")
      ->capture_default_str();
  synth->add_option("--val-per-class", options.val_per_class, "Validation images per class")
      ->capture_default_str();
  synth->add_option("--min-size", options.min_size, "Shortest side in pixels")
      ->capture_default_str();
  synth->add_option("--max-size", options.max_size, "Longest side in pixels")
      ->capture_default_str();
  synth->add_option("--quality", options.quality, "JPEG quality")->capture_default_str();
  synth->add_option("--seed", options.seed, "The images are a function of it")
      ->capture_default_str();
  synth->add_option("--threads", num_threads, "Threads; 0: all cores")->capture_default_str();
  if (!parse_arguments(app, arguments)) return 0;

  std::int64_t last_tenth = 0;
  const auto progress = [&](std::int64_t done, std::int64_t total) {
    if (done * 10 / total <= last_tenth) return;
    last_tenth = done * 10 / total;
    base::log_info("{} of {} images", done, total);
  };
  const bool is_new = data::synthesize_image_folder(options, num_threads, progress);
  base::log_info("{} {}", options.path, is_new ? "is written" : "holds this data set already");
  return 0;
}

}  // namespace paceline::cli
