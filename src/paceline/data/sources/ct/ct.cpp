#include "paceline/data/sources/ct/ct.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/ct/ct_alignment.h"
#include "paceline/data/sources/ct/ct_maker.h"

#include <filesystem>
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

std::unique_ptr<DatasetPlan> make(const CtConfig& config) {
  auto plan = std::make_unique<DatasetPlan>();
  plan->open = [config](Split split, const std::shared_ptr<const Storage>& storage,
                        const std::optional<std::string>& val_path) -> std::unique_ptr<Dataset> {
    CtConfig own = config;
    if (split == Split::kVal && val_path) {
      require_val_path(*val_path);
      own.path = *val_path;
    }
    return open(own, split, storage);
  };
  plan->make_samples = [config](const Dataset& dataset, Split split) {
    return std::make_shared<CtMaker>(config, dataset.stored_fields(),
                                     config.xray_size.value_or(kUsualXraySize),
                                     split == Split::kTrain);
  };
  if (config.validate_alignment && config.xrays != XraySource::kProjected)
    plan->check_training_samples = [config](const std::shared_ptr<const Storage>& storage) {
      const auto dataset = open(config, Split::kTrain, storage);
      if (!dataset->has_xray_files() || dataset->size() == 0) return;
      tell(check_alignment(*dataset));
    };
  plan->check_place = [path = config.path] { require_path(path, "ct"); };
  return plan;
}

}  // namespace paceline::data
