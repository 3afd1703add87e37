#pragma once

#include "paceline/data/sources/ct/ct_config.h"
#include "paceline/data/sources/ct/ct_dataset.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <memory>

namespace paceline::data {

/// Opens one split; of a remote place its files are copied to this machine first. Training samples
/// hold no X-rays if patients are moved. Throws as CtDataset(), ConfigError without a path.
std::unique_ptr<CtDataset> open(const CtConfig& config, Split split,
                                const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const CtConfig& config);

}  // namespace paceline::data
