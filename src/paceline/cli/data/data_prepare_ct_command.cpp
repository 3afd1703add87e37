#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/work_progress.h"
#include "paceline/data/ct/ct_plugin.h"
#include "paceline/dataset_tools/ct/prepare_ct.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::cli {
namespace {

struct PrepareCtArguments {
  dataset_tools::CtPrepareOptions options;
  std::string series = "only";
};

dataset_tools::CtPrepareResult prepare_with_progress(const PrepareCtArguments& arguments) {
  const data::SeriesChoice choice =
      arguments.series == "largest" ? data::SeriesChoice::kLargest : data::SeriesChoice::kOnly;
  const data::CtPlugin& plugin = data::load_ct_plugin();
  base::RealFileSystem files;
  std::optional<WorkProgress> progress;  // prepare_ct() tells one thing after the other
  return dataset_tools::prepare_ct(
      arguments.options,
      {.files = files,
       .read = [&](const std::filesystem::path& path,
                   const std::string& name) { return plugin.read_nifti(path, name); },
       .read_slices =
           [&](const std::vector<std::filesystem::path>& slices, const std::string& name) {
             return plugin.read_dicom_series(slices, choice, name);
           },
       .read_xray = [&](const std::filesystem::path& path,
                        const std::string& name) { return plugin.read_dicom_xray(path, name); },
       .say =
           [&](const std::string& what) {
             progress.reset();
             base::log_warning("{}", what);
           },
       .progress =
           [&](std::int64_t done, std::int64_t total) {
             if (!progress) progress.emplace("scans");
             progress->update(done, total);
           }});
}

void add_xray_options(CLI::App& app, dataset_tools::CtXraySettings& xrays, bool& leaves_out) {
  CLI::Option* const without =
      app.add_flag("--no-xrays", leaves_out, "Make volumes alone, also where there are X-rays");
  app.add_option("--xray-size", xrays.size,
                 "Rows and columns of X-rays, which files of other sizes are resampled to")
      ->capture_default_str()
      ->excludes(without);
  app.add_flag("--flip-xrays-vertical", xrays.flip_vertically,
               "The files of X-rays show patients upside down")
      ->excludes(without);
}

void add_options(CLI::App& app, PrepareCtArguments& arguments) {
  dataset_tools::CtPrepareOptions& options = arguments.options;
  app.add_option(
         "source", options.source,
         "The folder of the scans: of each patient ID.nii.gz or ID/ID.nii.gz, or .nii, or a "
         "folder ID with the slices of a DICOM series in it or below")
      ->required();
  app.add_option("folder", options.folder, "The folder to write")->required();
  app.add_option("--fov-mm", options.settings.fov_mm,
                 "Side of the cube around the middle of each scan; what it has not got is air")
      ->capture_default_str();
  app.add_option("--sides", options.settings.sides,
                 "Voxels along a side, the largest first; smaller cubes are its halves")
      ->delimiter(',')
      ->default_str("256,128,64");
  app.add_option("--seed", options.seed,
                 "Of the split by patient and of what stands for a patient's name: a random number "
                 "of many digits where nobody is to guess names")
      ->capture_default_str();
  app.add_option(
         "--series", arguments.series,
         "What is taken of a patient with more than one CT series in DICOM: only (an error) "
         "or largest, by the number of slices")
      ->check(CLI::IsMember({"only", "largest"}))
      ->capture_default_str();
  app.add_option(
         "--threads", options.num_threads,
         "Scans at once, of which each needs memory for itself and its cubes; 0: as many as "
         "there are cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

}  // namespace

int run_data_prepare_ct(const std::vector<std::string>& arguments,
                        const app::Registries& registries) {
  PrepareCtArguments parsed;
  const dataset_tools::CtPrepareOptions& options = parsed.options;
  CLI::App app(
      "Make volumes of CT scans (NIfTI or DICOM), which `data: {name: arrays, path: FOLDER, "
      "fields: [volume_64]}` reads: turned so that axes go to the right, front and head, resampled "
      "to "
      "cubes of int16 HU, and split by patient, 80 % for training, 10 % each for validation and "
      "tests. X-rays beside the scans (ID/ID_pa_drr.png, ID_pa or ID_frontal and "
      "ID/ID_lat_drr.png, "
      "ID_lat or ID_lateral) become an array, too. An interrupted call goes on where it was; "
      "nothing written or said tells who a patient is.",
      "data prepare ct");
  add_options(app, parsed);
  dataset_tools::CtXraySettings xrays;
  bool leaves_out_xrays = false;
  add_xray_options(app, xrays, leaves_out_xrays);
  if (!parse_arguments(app, arguments, registries)) return 0;
  if (!leaves_out_xrays) parsed.options.settings.xrays = xrays;
  const dataset_tools::CtPrepareResult result = prepare_with_progress(parsed);
  const auto& [train, val, test] = result.patients;
  if (result.left_out > 0)
    base::log_info("{} entries of {} hold no scan", result.left_out, options.source.string());
  base::log_info("{}: {} patients for training, {} for validation, {} for tests; {} made now",
                 options.folder.string(), train, val, test, result.made);
  if (result.has_xrays)
    base::log_info("X-rays of each patient, frontal and lateral, are in xrays_{}.npy", xrays.size);
  return 0;
}

}  // namespace paceline::cli
