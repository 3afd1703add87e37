#include "paceline/app/recipe/builtin.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/cli/data/packing.h"
#include "paceline/cli/work_progress.h"
#include "paceline/data/remote/remote_storage.h"
#include "paceline/dataset_tools/prepare/prepare.h"

#include <mutex>
#include <optional>

namespace paceline::cli {
namespace {

/// One line of progress for each kind of work, one after the other.
class ProgressOfManyKinds {
 public:
  void update(std::string_view what, std::int64_t done, std::int64_t total) {
    const std::lock_guard lock(mutex_);
    if (what != what_) {
      what_ = what;
      progress_.emplace(what_);
    }
    progress_->update(done, total);
  }
  void say(const std::string& what) {
    const std::lock_guard lock(mutex_);
    progress_.reset();
    what_.clear();
    base::log_info("{}", what);
  }

 private:
  std::mutex mutex_;
  std::string what_;
  std::optional<WorkProgress> progress_;
};

dataset_tools::PrepareResult prepare_with_progress(const dataset_tools::KnownSet& set,
                                                   const dataset_tools::PrepareOptions& options,
                                                   const data::RemoteConfig& remote,
                                                   const app::Registries& registries) {
  const auto storage = data::make_storage(remote);
  base::RealFileSystem files;
  ProgressOfManyKinds progress;
  const auto open = [&](const dataset_tools::ImageSource& source, data::Split split) {
    const DataSource opened{.source = source.path,
                            .format = source.format,
                            .overrides = {fmt::format("data.remote.retries={}", remote.retries)},
                            .split = split == data::Split::kTrain ? "train" : "val"};
    return opened.open(registries);
  };
  return dataset_tools::prepare(
      set, options,
      {*storage,
       files,
       open,
       {.say = [&](const std::string& what) { progress.say(what); },
        .progress = [&](std::string_view what, std::int64_t done,
                        std::int64_t total) { progress.update(what, done, total); }}});
}

std::vector<std::string> set_names() {
  std::vector<std::string> names;
  for (const dataset_tools::KnownSet& set : dataset_tools::known_sets()) names.push_back(set.name);
  return names;
}

}  // namespace

int run_data_prepare(const std::vector<std::string>& arguments, const app::Registries& registries) {
  if (!arguments.empty() && arguments[0] == "ct")
    return run_data_prepare_ct({arguments.begin() + 1, arguments.end()}, registries);
  std::string name;
  dataset_tools::PrepareOptions options;
  Packing packing;
  data::RemoteConfig remote{.retries = 12};  // downloads of hours meet longer outages
  CLI::App app(
      "Make a packed data set of a public one, which `data: {name: packed, path: OUTPUT}` reads: "
      "download it, check its checksums and counts, decode and pack all images. An interrupted "
      "call goes on where it was. `data prepare ct --help` tells of CT scans.",
      "data prepare");
  app.add_option("name", name, "One of " + base::join(set_names(), ", "))->required();
  packing.add_options(app);
  app.add_option("--from", options.from,
                 "Where its files are instead of their public address: a folder, an archive, or a "
                 "place as s3://BUCKET/FOLDER, https://HOST/FOLDER or hf:OWNER/NAME; for ImageNet "
                 "also class folders, Kaggle's folders or Parquet shards");
  app.add_flag("--keep-downloads", options.keeps_downloads,
               "Leave OUTPUT/downloads when all is packed");
  app.add_option("--connections", options.fetch.connections, "Reads of a download at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--retries", remote.retries,
                 "How often a failed read is tried again, each time after a longer pause")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  if (!parse_arguments(app, arguments, registries)) return 0;
  const dataset_tools::KnownSet& set = dataset_tools::known_set(name);
  options.pack = packing.options();
  options.pack.folder = packing.output;
  const dataset_tools::PrepareResult result =
      prepare_with_progress(set, options, remote, registries);
  if (result.was_complete) {
    base::log_info("{} holds {} already", packing.output.string(), name);
    return 0;
  }
  report_pack(result.train, packing.output / "train");
  report_pack(result.val, packing.output / "val");
  return 0;
}

}  // namespace paceline::cli
