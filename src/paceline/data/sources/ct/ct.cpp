#include "paceline/data/sources/ct/ct.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/data/sources/ct/ct_alignment.h"
#include "paceline/data/sources/ct/ct_maker.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::data {

std::unique_ptr<CtDataset> open(const CtConfig& config, Split split,
                                const std::shared_ptr<const Storage>& storage) {
  const std::string part(split == Split::kTrain ? "train" : config::enum_name(config.val_folder));
  if (is_remote(config.path) && !config.side)
    throw base::ConfigError("data.side: name it for volumes that lie far away");
  std::vector<std::string> files{kCtManifestName,
                                 fmt::format("{}/volume_{}.npy", part, config.side.value_or(0))};
  if (config.xrays != XraySource::kProjected)
    files.push_back(
        fmt::format("{}/xrays_{}.npy", part, config.xray_size.value_or(kUsualXraySize)));
  const std::filesystem::path folder = local_place_of(config.path, "ct", storage, files);
  const bool is_moved = split == Split::kTrain && config.augment.moves();
  return std::make_unique<CtDataset>(folder, part, config, /*has_xrays=*/!is_moved);
}

namespace {

std::unique_ptr<CtDataset> open_at(CtConfig config, Split split,
                                   const std::shared_ptr<const Storage>& storage,
                                   const std::optional<std::string>& val_path) {
  if (split == Split::kVal && val_path) {
    require_val_path(*val_path);
    config.path = *val_path;
  }
  return open(config, split, storage);
}

/// Codes tell patients apart; the same scan may have two, by two names or two seeds.
void refuse_same_scans(std::span<const std::unique_ptr<CtDataset>> splits) {
  std::map<std::string, std::string> places;
  for (const auto& split : splits) {
    std::map<std::string, std::string> own;
    for (std::int64_t i = 0; i < split->size(); ++i) {
      const auto known = places.find(split->cube_hash(i));
      if (known != places.end())
        throw base::DataError(fmt::format(
            "{} and {} have the same scan, so that what is trained on would be evaluated: leave "
            "one of both out and run `paceline data prepare ct` again",
            known->second, split->describe(i)));
      own.emplace(split->cube_hash(i), split->describe(i));
    }
    places.merge(own);
  }
}

/// Else somebody waits for what it does not do.
void tell_what_is_not_cached(const CtConfig& config, const CtDataset& dataset) {
  if (!config.cache_in_memory) return;
  if (dataset.has_xray_files())
    base::log_info(
        "data.cache_in_memory: nothing of {} is kept: volumes and X-rays are files that all "
        "processes of this machine map",
        dataset.folder().string());
  else if (!dataset.has_xrays())
    base::log_info(
        "data.cache_in_memory: nothing of {} is kept: data.augment moves its patients, so that "
        "X-rays are projected anew each time",
        dataset.folder().string());
}

}  // namespace

std::unique_ptr<DatasetPlan> make(const CtConfig& config) {
  auto plan = std::make_unique<DatasetPlan>();
  plan->open = [config](Split split, const std::shared_ptr<const Storage>& storage,
                        const std::optional<std::string>& val_path) -> std::unique_ptr<Dataset> {
    return open_at(config, split, storage, val_path);
  };
  plan->make_samples = [config](const Dataset& dataset, Split split) {
    return std::make_shared<CtMaker>(config, dataset.stored_fields(),
                                     config.xray_size.value_or(kUsualXraySize),
                                     split == Split::kTrain);
  };
  plan->check_samples = [config](std::span<const Split> splits,
                                 const std::shared_ptr<const Storage>& storage,
                                 const std::optional<std::string>& val_path) {
    CtConfig uncached = config;  // of which the run's own sets have warned
    uncached.cache_in_memory.reset();
    std::vector<std::unique_ptr<CtDataset>> opened;
    for (const Split split : splits) opened.push_back(open_at(uncached, split, storage, val_path));
    refuse_same_scans(opened);
    for (const auto& dataset : opened) {
      tell_what_is_not_cached(config, *dataset);
      if (config.validate_alignment && dataset->has_xray_files())
        tell(check_alignment(*dataset), dataset->folder());
    }
  };
  plan->check_place = [path = config.path] { require_path(path, "ct"); };
  return plan;
}

}  // namespace paceline::data
