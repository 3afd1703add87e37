#include "paceline/app/recipe/builtin.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/ema/ema.h"
#include "paceline/algorithms/sam/sam.h"
#include "paceline/app/recipe/local_path.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/callbacks/copy_checkpoints.h"
#include "paceline/callbacks/early_stop.h"
#include "paceline/callbacks/memory_snapshot.h"
#include "paceline/data/transforms/presets.h"
#include "paceline/data/transforms/schema.h"
#include "paceline/loggers/console.h"
#include "paceline/loggers/jsonl.h"
#include "paceline/loggers/system.h"
#include "paceline/loggers/tensorboard.h"
#include "paceline/models/builtin.h"
#include "paceline/optim/adamw.h"
#include "paceline/optim/schedules.h"
#include "paceline/optim/sgd.h"
#include "paceline/train/classification.h"

#include <filesystem>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// The usual transforms of photographs at another size than 224 keep the ratio of resize to crop.
std::vector<data::TransformConfig> photo_eval(int image_size) {
  return data::imagenet_eval(image_size * 256 / 224, image_size);
}

/// CIFAR's images at another size than theirs are scaled first, as when a ViT for 224 pixels is
/// trained.
std::vector<data::TransformConfig> scaled_cifar(int image_size, bool is_training) {
  std::vector<data::TransformConfig> usual = is_training ? data::cifar_train() : data::cifar_eval();
  constexpr int kCifarSize = 32;
  if (image_size == kCifarSize) return usual;
  for (data::TransformConfig& transform : usual) {
    if (auto* crop = std::get_if<data::RandomCropConfig>(&transform)) {
      crop->size = image_size;
      crop->padding = crop->padding * image_size / kCifarSize;
    } else if (auto* middle = std::get_if<data::CenterCropConfig>(&transform)) {
      middle->size = image_size;
    }
  }
  usual.insert(usual.begin(), data::ResizeConfig{.size = image_size});  // the images are square
  return usual;
}

/// The same data set with its validation part elsewhere.
template <typename Config>
Config with_val_path(Config config, const std::string& val_path, const data::Storage& storage) {
  if constexpr (requires { config.path; }) {
    if (!data::is_remote(val_path) && !base::file_exists(val_path))
      throw base::DataError(fmt::format(
          "data.val_path: {} is not there; name the folder of the validation images, or a data set "
          "of the same kind as data.path",
          val_path));
    config.path = val_path;
  } else {
    throw base::ConfigError(fmt::format("data.val_path: {} lies in no folder: leave it out",
                                        config::Schema<Config>::name));
  }
  if constexpr (requires { config.val_folder; }) {
    const std::filesystem::path place = val_path;
    if (!data::is_folder(storage, place / config.val_folder)) {
      if (config.train_folder != "." && data::is_folder(storage, place / config.train_folder))
        throw base::DataError(fmt::format(
            "data.val_path: {} has a folder {} and no {}: name its validation folder in "
            "data.val_folder, or give that folder itself",
            val_path, config.train_folder, config.val_folder));
      config.val_folder = ".";  // it is that folder itself
    }
    config.train_folder = config.val_folder;  // whose classes count: others go by their names
  }
  return config;
}

template <typename Config>
auto opener(const Config& config) {
  return [config](data::Split split, const std::shared_ptr<const data::Storage>& storage,
                  const std::optional<std::string>& val_path) {
    if (split == data::Split::kVal && val_path)
      return data::open(with_val_path(config, *val_path, *storage), split, storage);
    return data::open(config, split, storage);
  };
}

template <typename Config>
auto place_check(const Config& config) {
  return [path = config.path] { data::require_path(path, config::Schema<Config>::name); };
}

template <typename Config>
std::unique_ptr<DatasetPlan> photo_plan(const Config& config) {
  return std::make_unique<DatasetPlan>(
      DatasetPlan{opener(config), 224, [](int size) { return data::imagenet_train(size); },
                  photo_eval, place_check(config)});
}

template <typename Config>
DatasetPlan small_image_plan(const Config& config, int image_size) {
  return {opener(config), image_size, [](int size) { return scaled_cifar(size, true); },
          [](int size) { return scaled_cifar(size, false); }};
}

template <typename Config>
std::unique_ptr<DatasetPlan> cifar_plan(const Config& config) {
  auto plan = std::make_unique<DatasetPlan>(small_image_plan(config, 32));
  plan->check_place = place_check(config);
  return plan;
}

template <typename Config>
std::unique_ptr<OptimizerPlan> optimizer_plan(const Config& config) {
  return std::make_unique<OptimizerPlan>(OptimizerPlan{
      config.lr,
      optim::weight_decay_rules(config.weight_decay, config.decay_norm_and_bias, config.no_decay),
      config.lr_scale, [config](std::vector<optim::ParamGroup> groups) {
        return optim::make_optimizer(config, std::move(groups));
      }});
}

void add_tasks(Registries& registries) {
  registries.tasks.add<train::ClassificationConfig>(
      [](const train::ClassificationConfig&, const TaskParts& parts) {
        return std::make_unique<train::ClassificationTask>(parts.make_network(), parts.make_loss());
      });
}

void add_datasets(Registries& registries) {
  auto& datasets = registries.datasets;
  datasets.add<data::ImageFolderConfig>(photo_plan<data::ImageFolderConfig>);
  datasets.add<data::Ilsvrc2012Config>(photo_plan<data::Ilsvrc2012Config>);
  datasets.add<data::WebDatasetConfig>(photo_plan<data::WebDatasetConfig>);
  datasets.add<data::ParquetConfig>(photo_plan<data::ParquetConfig>);
  datasets.add<data::PackedConfig>(photo_plan<data::PackedConfig>);
  datasets.add<data::Cifar10Config>(cifar_plan<data::Cifar10Config>);
  datasets.add<data::Cifar100Config>(cifar_plan<data::Cifar100Config>);
  datasets.add<data::MnistConfig>([](const data::MnistConfig& config) {
    return std::make_unique<DatasetPlan>(
        DatasetPlan{opener(config), 28, [](int size) { return data::mnist(size); },
                    [](int size) { return data::mnist(size); }, place_check(config)});
  });
  datasets.add<data::NpyConfig>(photo_plan<data::NpyConfig>);
  datasets.add<data::SyntheticConfig>([](const data::SyntheticConfig& config) {
    return std::make_unique<DatasetPlan>(small_image_plan(config, config.size));
  });
}

template <typename Config>
void add_sampler(Registries& registries) {
  registries.samplers.add<Config>(
      [](const Config& config, const data::Dataset& dataset, std::uint64_t seed) {
        return data::make_sampler(config, dataset, seed);
      });
}

void add_samplers(Registries& registries) {
  add_sampler<data::ShuffleConfig>(registries);
  add_sampler<data::BlockShuffleConfig>(registries);
  add_sampler<data::RepeatedAugmentationConfig>(registries);
  add_sampler<data::ClassBalancedConfig>(registries);
  add_sampler<data::WeightedConfig>(registries);
}

template <typename Config>
void add_schedule(Registries& registries) {
  registries.schedules.add<Config>([](const Config& config, const optim::RunLength& length) {
    return optim::make_schedule(config, length);
  });
}

void add_optimization(Registries& registries) {
  registries.optimizers.add<optim::SgdConfig>(optimizer_plan<optim::SgdConfig>);
  registries.optimizers.add<optim::AdamWConfig>(optimizer_plan<optim::AdamWConfig>);
  add_schedule<optim::ConstantConfig>(registries);
  add_schedule<optim::CosineConfig>(registries);
  add_schedule<optim::StepConfig>(registries);
  add_schedule<optim::MultiStepConfig>(registries);
  add_schedule<optim::OneCycleConfig>(registries);
  registries.losses.add<nn::CrossEntropyConfig>([](const nn::CrossEntropyConfig& config) {
    return std::make_unique<nn::CrossEntropy>(config);
  });
}

void add_algorithms(Registries& registries) {
  using namespace algorithms;
  registries.algorithms.add<BlurPoolConfig>(
      [](const BlurPoolConfig& config) { return std::make_unique<BlurPool>(config); });
  registries.algorithms.add<EmaConfig>(
      [](const EmaConfig& config) { return std::make_unique<Ema>(config); });
  registries.algorithms.add<SamConfig>(
      [](const SamConfig& config) { return std::make_unique<Sam>(config); });
}

void add_observers(Registries& registries) {
  registries.callbacks.add<callbacks::MemorySnapshotConfig>(
      [](const callbacks::MemorySnapshotConfig& config) {
        return std::make_unique<callbacks::MemorySnapshot>(config);
      });
  registries.callbacks.add<callbacks::CopyCheckpointsConfig>(
      [](const callbacks::CopyCheckpointsConfig& config) {
        return std::make_unique<callbacks::CopyCheckpoints>(config);
      });
  registries.callbacks.add<callbacks::EarlyStopConfig>(
      [](const callbacks::EarlyStopConfig& config) {
        return std::make_unique<callbacks::EarlyStop>(config);
      });
  registries.loggers.add<loggers::ConsoleConfig>(loggers::make_console_sink);
  registries.loggers.add<loggers::JsonlConfig>(loggers::make_jsonl_sink);
  registries.loggers.add<loggers::SystemConfig>(loggers::make_system_monitor);
  registries.loggers.add<loggers::TensorboardConfig>(loggers::make_tensorboard_sink);
}

}  // namespace

config::Catalogs Registries::catalogs() const {
  config::Catalogs catalogs;
  for (const config::ComponentCatalog* catalog :
       std::initializer_list<const config::ComponentCatalog*>{
           &tasks, &models, &datasets, &transforms, &samplers, &optimizers, &schedules, &losses,
           &algorithms, &callbacks, &loggers}) {
    catalogs.emplace(catalog->kind(), catalog);
  }
  return catalogs;
}

config::BindContext Registries::context(int world_size) const {
  return {catalogs(), world_size, &foreign_names, absolute_path};
}

std::unique_ptr<Registries> make_registries() {
  auto registries = std::make_unique<Registries>();
  add_tasks(*registries);
  models::add_builtin(registries->models);
  add_datasets(*registries);
  data::register_transforms(registries->transforms);
  add_samplers(*registries);
  add_optimization(*registries);
  add_algorithms(*registries);
  add_observers(*registries);
  return registries;
}

}  // namespace paceline::app
