#include "paceline/app/prediction/image_arguments.h"
#include "paceline/app/prediction/predict_run.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/predict_xrays.h"
#include "paceline/cli/rank_process.h"
#include "paceline/cli/volume_draws.h"
#include "paceline/cli/work_progress.h"
#include "paceline/comm/agreement.h"
#include "paceline/data/sources/image_files.h"
#include "paceline/launch/options.h"

#include <csignal>
#include <cstdio>
#include <optional>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace paceline::cli {
namespace {

/// Prints a line for each image; what is wrong with others goes to standard error too.
class ImagePrinter {
 public:
  explicit ImagePrinter(bool as_json) : as_json_(as_json) {
    // On the same terminal the lines themselves tell how far it is.
    if (isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) != 1) progress_.emplace("images");
  }

  void print(const app::ToldImage& image, std::int64_t done, std::int64_t total) {
    if (!image.error.empty()) base::log_error("{}: {}", image.path, image.error);
    if (as_json_) {
      // A path may have bytes that are not UTF-8.
      fmt::print("{}\n",
                 json_of(image).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else if (image.error.empty()) {
      std::string line = image.path;
      for (const app::ToldClass& told : image.classes)
        line += fmt::format("  {}  {:.4f}", told.name, told.probability);
      fmt::print("{}\n", line);
    }
    if (isatty(STDOUT_FILENO) == 1) std::fflush(stdout);
    if (progress_) progress_->update(done, total);
  }

 private:
  static nlohmann::json json_of(const app::ToldImage& image) {
    nlohmann::json json = {{"path", image.path}};
    if (!image.error.empty()) {
      json["error"] = image.error;
      return json;
    }
    auto& classes = json["classes"] = nlohmann::json::array();
    for (const app::ToldClass& told : image.classes) {
      classes.push_back(
          {{"class", told.name}, {"label", told.label}, {"probability", told.probability}});
    }
    return json;
  }

  bool as_json_;
  std::optional<WorkProgress> progress_;
};

/// The exit code. Every rank must call it.
int predict(const app::PredictRequest& request, const app::SessionContext& context) {
  const auto report = app::run_prediction(request, context);
  if (!report)  // the signal may not have come to this rank
    return 128 + static_cast<int>(
                     comm::max_over_ranks(context.communicator, context.interruption.signal()));
  if (context.communicator.rank() != 0) return 0;
  if (!request.output.empty())
    base::log_info("wrote {}: what {} (step {}) gives out for {} samples", request.output.string(),
                   report->checkpoint.string(), report->step, report->samples);
  if (!request.pictures.empty())
    base::log_info("wrote pictures of {} patients into {}", report->samples,
                   request.pictures.string());
  if (!request.source.open_images || report->skipped == 0) return 0;
  base::log_error("{} of {} images could not be read", report->skipped,
                  report->skipped + report->samples);
  return static_cast<int>(base::ExitCode::kData);
}

/// What a command line asks for.
struct PredictWords {
  app::PredictRequest request;
  std::vector<std::string> words;
  std::vector<std::string> images;  ///< of the words
  XrayRequest xrays;
  VolumeDraws draws;
  bool as_json = false;
};

/// Tells the words apart.
void sort_words(PredictWords& asked) {
  asked.xrays.views = take_views(asked.words);
  app::ImageArguments told_apart = app::tell_images_from_overrides(asked.words);
  asked.request.source.overrides = std::move(told_apart.overrides);
  asked.images = std::move(told_apart.images);
  asked.xrays.folders.assign(asked.images.begin(), asked.images.end());
}

void check_words(const PredictWords& asked) {
  const bool has_output = !asked.request.output.empty();
  if (!asked.xrays.views.empty() && !asked.images.empty())
    throw base::ConfigError(fmt::format(
        "{}: views of one patient are named, too; predict one after the other", asked.images[0]));
  if (!asked.xrays.views.empty() && !has_output)
    throw base::ConfigError("volumes are made of X-rays: name a folder for them, -o OUT");
  if (asked.images.empty() && !has_output)
    throw base::ConfigError(
        "name images to be classified, or --output for a folder of what the checkpoint gives out "
        "for the validation data of its recipe; `paceline predict --help` tells what fits");
  if (asked.images.empty() && asked.as_json)
    throw base::ConfigError("--json is for images, and none is named; leave it out");
}

/// What the checkpoint is to see in place of its recipe's data, if anything is named.
void set_sources(PredictWords& asked, bool is_first_rank) {
  app::EvalRequest& source = asked.request.source;
  if (!asked.images.empty())
    source.open_images = [&asked] {
      return data::open_image_files(data::find_image_files(asked.images));
    };
  if (!asked.images.empty() || !asked.xrays.views.empty())
    source.open_arrays = [&asked, is_first_rank](const app::Recipe& recipe) {
      return open_xrays(asked.xrays, recipe, is_first_rank);
    };
  source.adapt = [&asked](app::Recipe& recipe) { apply(asked.draws, recipe); };
}

constexpr std::string_view kFooter =
    R"(IMAGES are files, folders (with all below them) and patterns such as 'photos/*.jpg'; they get the
transforms that the recipe evaluates by. For each a line is printed, in their order: its path, and
the most probable classes with their probabilities. An image that cannot be read is an error line of
its own, and the exit code is 3 at the end.
A word is an override (section.key=value) where section is one of the recipe's, and nothing of that
name is there.

With --output, OUTPUT/FIELD.npy is written, a row per sample in the order of the images, or of the
recipe's validation data where no image is named (of a classification: probabilities.npy, in the
order of the classes), samples.csv, which names the sample of each row, and predictions.json. The
folder appears when all of it is there.

Of a network that makes CT volumes of X-rays, name one patient's views (frontal=a.png lateral=b.dcm,
or by angle: 45=c.png), or folders of patients with X-rays called as for `paceline data prepare ct`;
else it is the recipe's validation data (data.val_folder=test: the test patients). OUTPUT/PATIENT
gets sample_1.nii.gz ..., mean.nii.gz and deviation.nii.gz, in HU: synthetic, not for diagnosis.
With --pictures, PICTURES/PATIENT_slices.png and PICTURES/PATIENT_xrays.png are written for each.

Launch options:
)";

void add_all_options(CLI::App& app, PredictWords& asked) {
  constexpr std::int64_t kMostTold = 1'000'000;
  app::PredictRequest& request = asked.request;
  app.add_option("run", request.source.run_or_checkpoint,
                 "RUN (its newest checkpoint), RUN@best, RUN@step-N, a checkpoint, or a folder of "
                 "`paceline export --format hf`")
      ->required();
  app.add_option("images", asked.words,
                 "Images, X-rays (VIEW=FILE) or folders of patients, and section.key=value changes "
                 "to the recipe of the run; without images its validation data, or OTHER's with "
                 "data.path=OTHER");
  app.add_option("--topk", request.num_told, "How many classes of an image are told")
      ->check(CLI::Range(std::int64_t{1}, kMostTold))
      ->capture_default_str();
  app.add_flag("--json", asked.as_json, "Print a JSON object per image and line");
  app.add_option("--weights", request.source.weights, kWeightsHelp);
  add_options(app, asked.draws);
  app.add_option("--fov-mm", asked.xrays.fov_mm,
                 "Side of the cube that X-rays show; by default that of the training data, or "
                 "model.fov_mm where they are not here")
      ->check(CLI::Range(1.0, 10000.0));
  app.add_flag("--flip-xrays-vertical", asked.xrays.flip_vertically,
               "X-rays show patients upside down; known where the training data are here");
  app.add_option("-o,--output", request.output, "The folder to write, which is not there yet");
  app.add_option("--pictures", request.pictures,
                 "Write slices and X-rays of each patient's volumes as PNG files into this folder");
  app.footer(std::string(kFooter) + launch::launch_options_help(/*can_detach=*/false));
}

}  // namespace

int run_predict(const std::vector<std::string>& arguments, const app::Registries& registries) {
  PredictWords asked;
  CLI::App app("Tell the classes of images by a checkpoint, or write what it gives out.",
               "predict");
  add_all_options(app, asked);
  if (!parse_arguments(app, arguments, registries)) return 0;
  sort_words(asked);
  check_words(asked);
  app::PredictRequest& request = asked.request;
  std::optional<ImagePrinter> printer;
  if (!asked.images.empty()) {
    printer.emplace(asked.as_json);
    request.tell = [&](const app::ToldImage& image, std::int64_t done, std::int64_t total) {
      printer->print(image, done, total);
    };
  }
  RankProcess process(registries);
  set_sources(asked, process.context().communicator.rank() == 0);
  // Nothing is left to do for a reader that went away (`| head`).
  if (printer && request.output.empty() && process.context().communicator.world_size() == 1)
    std::signal(SIGPIPE, SIG_DFL);
  const int exit_code = predict(request, process.context());
  printer.reset();
  process.shutdown();
  return exit_code;
}

}  // namespace paceline::cli
