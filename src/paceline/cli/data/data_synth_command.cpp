#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/work_progress.h"
#include "paceline/dataset_tools/synth.h"
#include "paceline/dataset_tools/synth_phantom.h"

#include <string>
#include <vector>

namespace paceline::cli {
namespace {

constexpr const char* kPhantomKind = "phantom";

/// The options of `data synth`, of which some belong to one kind of set.
struct SynthCommand {
  std::string kind;
  dataset_tools::SynthOptions images;
  dataset_tools::PhantomSetOptions phantoms;
  std::string projector = "exact";
  int num_threads = 0;
  std::vector<CLI::Option*> of_images;
  std::vector<CLI::Option*> of_phantoms;

  void add_options(CLI::App& app) {
    app.add_option("path", images.path, "The folder to write; must be absent or empty")->required();
    auto* const likeness = app.add_option(
        "--kind,--like", kind,
        "imagenet: under noise that makes files with the sizes, bytes and coefficients of "
        "ImageNet's, 110 kB on average, for measuring; digits: 0 to 9 as if drawn by hand on "
        "textured paper, of 32 pixels, which convolutions learn and linear models do not; phantom: "
        "patients of ellipsoids, a folder each, with a CT scan, labels of organs and X-rays from "
        "the front and from the left, which `data prepare ct` reads");
    likeness->check(CLI::IsMember({"imagenet", "digits", kPhantomKind}));
    add_image_options(app, likeness);
    add_phantom_options(app);
    app.add_option("--seed", images.seed, "All that is made is a function of it")
        ->capture_default_str();
    add_threads(app, num_threads);
  }

  void add_image_options(CLI::App& app, CLI::Option* likeness) {
    of_images = {
        app.add_option("--classes", images.classes, "Number of classes"),
        app.add_option("--train-per-class", images.train_per_class, "Training images per class"),
        app.add_option("--val-per-class", images.val_per_class, "Validation images per class"),
        app.add_option("--min-size", images.min_size, "Shortest side in pixels")
            ->excludes(likeness),
        app.add_option("--max-size", images.max_size, "Longest side in pixels")->excludes(likeness),
        app.add_option("--quality", images.quality, "JPEG quality")->excludes(likeness)};
    for (CLI::Option* const option : of_images) option->capture_default_str();
  }

  void add_phantom_options(CLI::App& app) {
    of_phantoms = {
        app.add_option("--patients", phantoms.patients, "phantom: number of patients"),
        app.add_option("--size", phantoms.size, "phantom: voxels along a side of a scan"),
        app.add_option("--xray-size", phantoms.xray_size, "phantom: pixels along a side"),
        app.add_option("--fov-mm", phantoms.fov_mm,
                       "phantom: side of the cube that scans and X-rays show"),
        app.add_option("--full-scale", phantoms.full_scale,
                       "phantom: what is white in X-rays, 1 being a way of --fov-mm through water; "
                       "nothing is whiter than 3"),
        app.add_option("--projector", projector,
                       "phantom: X-rays are integrals through the ellipsoids (exact), or through "
                       "the scan's voxels, interpolated (trilinear) or not (siddon)")
            ->check(CLI::IsMember({"exact", "trilinear", "siddon"}))};
    for (CLI::Option* const option : of_phantoms) option->capture_default_str();
  }

  /// Throws ConfigError for an option of another kind.
  void check_kind() const {
    const bool is_phantom = kind == kPhantomKind;
    for (const CLI::Option* const option : is_phantom ? of_images : of_phantoms) {
      if (option->count() > 0)
        throw base::ConfigError(fmt::format("{} is not an option of {}; leave it out{}",
                                            option->get_name(),
                                            is_phantom ? "--kind phantom" : "sets of images",
                                            is_phantom ? "" : ", or add --kind phantom"));
    }
  }

  /// Whether there was anything to do.
  bool run() {
    WorkProgress progress(kind == kPhantomKind ? "patients" : "images");
    const auto tell = [&](std::int64_t done, std::int64_t total) { progress.update(done, total); };
    if (kind == kPhantomKind) {
      phantoms.path = images.path;
      phantoms.seed = images.seed;
      if (projector != "exact")
        phantoms.xrays = projector == "siddon" ? dataset_tools::PhantomXrays::kSiddon
                                               : dataset_tools::PhantomXrays::kTrilinear;
      return dataset_tools::synthesize_phantoms(phantoms, num_threads, tell);
    }
    if (!kind.empty())
      images.kind = kind == "digits" ? dataset_tools::SynthKind::kDigits
                                     : dataset_tools::SynthKind::kImagenet;
    return dataset_tools::synthesize_image_folder(images, num_threads, tell);
  }
};

}  // namespace

int run_data_synth(const std::vector<std::string>& arguments, const app::Registries& registries) {
  CLI::App app(
      "Write a JPEG image folder of textured shapes or drawn digits, or CT scans and X-rays of "
      "made "
      "patients, the same for the same options.",
      "data synth");
  SynthCommand command;
  command.add_options(app);
  if (!parse_arguments(app, arguments, registries)) return 0;
  command.check_kind();
  const bool is_new = command.run();
  base::log_info("{} {}", command.images.path,
                 is_new ? "is written" : "holds this data set already");
  if (command.kind == kPhantomKind)
    base::log_info("its X-rays are of data.full_scale={}", command.phantoms.full_scale);
  return 0;
}

}  // namespace paceline::cli
