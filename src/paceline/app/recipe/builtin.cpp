#include "paceline/app/recipe/builtin.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/colout/colout.h"
#include "paceline/algorithms/cutmix/cutmix.h"
#include "paceline/algorithms/cutout/cutout.h"
#include "paceline/algorithms/distillation/distillation.h"
#include "paceline/algorithms/ema/ema.h"
#include "paceline/algorithms/factorize/factorize.h"
#include "paceline/algorithms/ghost_batchnorm/ghost_batchnorm.h"
#include "paceline/algorithms/layer_freezing/layer_freezing.h"
#include "paceline/algorithms/lookahead/lookahead.h"
#include "paceline/algorithms/mixup/mixup.h"
#include "paceline/algorithms/plateau/plateau.h"
#include "paceline/algorithms/sam/sam.h"
#include "paceline/algorithms/selective_backprop/selective_backprop.h"
#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"
#include "paceline/algorithms/stochastic_depth/stochastic_depth.h"
#include "paceline/algorithms/swa/swa.h"
#include "paceline/app/recipe/local_path.h"
#include "paceline/callbacks/copy_checkpoints.h"
#include "paceline/callbacks/early_stop.h"
#include "paceline/callbacks/memory_snapshot.h"
#include "paceline/data/loader/by_part.h"
#include "paceline/data/loader/sampler.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/sources/arrays.h"
#include "paceline/data/sources/cifar.h"
#include "paceline/data/sources/ct/ct.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/image_list.h"
#include "paceline/data/sources/imagenet/ilsvrc2012.h"
#include "paceline/data/sources/mixture.h"
#include "paceline/data/sources/mnist.h"
#include "paceline/data/sources/npy_dataset.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/sources/webdataset.h"
#include "paceline/data/transforms/named/choice/random_apply.h"
#include "paceline/data/transforms/named/choice/random_choice.h"
#include "paceline/data/transforms/named/choice/random_order.h"
#include "paceline/data/transforms/named/color/color_jitter.h"
#include "paceline/data/transforms/named/color/gaussian_blur.h"
#include "paceline/data/transforms/named/color/random_adjust_sharpness.h"
#include "paceline/data/transforms/named/color/random_autocontrast.h"
#include "paceline/data/transforms/named/color/random_equalize.h"
#include "paceline/data/transforms/named/color/random_grayscale.h"
#include "paceline/data/transforms/named/color/random_invert.h"
#include "paceline/data/transforms/named/color/random_posterize.h"
#include "paceline/data/transforms/named/color/random_solarize.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/elastic_transform.h"
#include "paceline/data/transforms/named/geometry/random_affine.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_flip.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_perspective.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/random_rotation.h"
#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/geometry/ten_crop.h"
#include "paceline/data/transforms/named/policies/augmix.h"
#include "paceline/data/transforms/named/policies/auto_augment.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/policies/three_augment.h"
#include "paceline/data/transforms/named/policies/timm_rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/loggers/console.h"
#include "paceline/loggers/jsonl.h"
#include "paceline/loggers/picture_files.h"
#include "paceline/loggers/system.h"
#include "paceline/loggers/tensorboard.h"
#include "paceline/models/builtin.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/losses/binary_cross_entropy.h"
#include "paceline/nn/losses/distances.h"
#include "paceline/nn/losses/focal.h"
#include "paceline/nn/losses/jensen_shannon.h"
#include "paceline/nn/losses/poly.h"
#include "paceline/optim/adafactor.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/decoupled.h"
#include "paceline/optim/layerwise/lamb.h"
#include "paceline/optim/layerwise/lars.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/muon.h"
#include "paceline/optim/nadam.h"
#include "paceline/optim/radam.h"
#include "paceline/optim/rmsprop.h"
#include "paceline/optim/schedules.h"
#include "paceline/optim/sgd.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/multi_label.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"

// The one list of components. Each is registered by its Config alone: the header that declares it
// has its Schema and its make() too (see config::Registry::add). tools/new_component.py writes the
// files of a new one and adds its line here.

namespace paceline::app {
namespace {

void add_learning(Registries& registries) {
  registries.tasks.add<train::ClassificationConfig>();
  registries.tasks.add<train::MultiLabelConfig>();
  registries.tasks.add<train::CtDiffusionConfig>();
  models::add_builtin(registries.models);
  registries.losses.add<nn::CrossEntropyConfig>();
  registries.losses.add<nn::BinaryCrossEntropyConfig>();
  registries.losses.add<nn::FocalConfig>();
  registries.losses.add<nn::PolyConfig>();
  registries.losses.add<nn::JensenShannonConfig>();
  registries.losses.add<nn::MseConfig>();
  registries.losses.add<nn::L1Config>();
  registries.losses.add<nn::HuberConfig>();
}

/// A data set whose Config names others.
void add_mixture(config::Registry<data::DatasetPlan>& datasets) {
  datasets.add<data::MixtureConfig>([&datasets](const data::MixtureConfig& config) {
    std::vector<std::unique_ptr<data::DatasetPlan>> parts;
    for (const config::Component& part : config.parts) parts.push_back(datasets.build(part));
    return make(config, std::move(parts));
  });
}

void add_data(Registries& registries) {
  registries.datasets.add<data::ImageFolderConfig>();
  registries.datasets.add<data::ImageListConfig>();
  registries.datasets.add<data::Ilsvrc2012Config>();
  registries.datasets.add<data::WebDatasetConfig>();
  registries.datasets.add<data::ParquetConfig>();
  registries.datasets.add<data::PackedConfig>();
  registries.datasets.add<data::Cifar10Config>();
  registries.datasets.add<data::Cifar100Config>();
  registries.datasets.add<data::MnistConfig>();
  registries.datasets.add<data::NpyConfig>();
  registries.datasets.add<data::ArraysConfig>();
  registries.datasets.add<data::CtConfig>();
  registries.datasets.add<data::SyntheticConfig>();
  add_mixture(registries.datasets);
  registries.samplers.add<data::ShuffleConfig>();
  registries.samplers.add<data::BlockShuffleConfig>();
  registries.samplers.add<data::RepeatedAugmentationConfig>();
  registries.samplers.add<data::ClassBalancedConfig>();
  registries.samplers.add<data::WeightedConfig>();
  registries.samplers.add<data::ByPartConfig>();
}

/// A transform whose Config names others.
template <class Config>
void add_around_others(config::Registry<data::Transform>& transforms) {
  transforms.add<Config>([&transforms](const Config& config) {
    std::vector<data::TransformConfig> others;
    for (const config::Component& other : config.transforms)
      others.emplace_back(transforms.build(other));
    return make(config, std::move(others));
  });
}

void add_transforms(Registries& registries) {
  registries.transforms.add<data::RandomResizedCropConfig>();
  registries.transforms.add<data::RandomCropConfig>();
  registries.transforms.add<data::RandomHorizontalFlipConfig>();
  registries.transforms.add<data::RandomVerticalFlipConfig>();
  registries.transforms.add<data::RandomFlipConfig>();
  registries.transforms.add<data::RandomGrayscaleConfig>();
  registries.transforms.add<data::ColorJitterConfig>();
  registries.transforms.add<data::RandomSolarizeConfig>();
  registries.transforms.add<data::RandomPosterizeConfig>();
  registries.transforms.add<data::RandomEqualizeConfig>();
  registries.transforms.add<data::RandomAutocontrastConfig>();
  registries.transforms.add<data::RandomInvertConfig>();
  registries.transforms.add<data::RandomAdjustSharpnessConfig>();
  registries.transforms.add<data::GaussianBlurConfig>();
  registries.transforms.add<data::RandomRotationConfig>();
  registries.transforms.add<data::RandomAffineConfig>();
  registries.transforms.add<data::RandomPerspectiveConfig>();
  registries.transforms.add<data::ElasticTransformConfig>();
  registries.transforms.add<data::RandAugmentConfig>();
  registries.transforms.add<data::TrivialAugmentWideConfig>();
  registries.transforms.add<data::TimmRandAugmentConfig>();
  registries.transforms.add<data::AutoAugmentConfig>();
  registries.transforms.add<data::AugMixConfig>();
  registries.transforms.add<data::ThreeAugmentConfig>();
  add_around_others<data::RandomChoiceConfig>(registries.transforms);
  add_around_others<data::RandomApplyConfig>(registries.transforms);
  add_around_others<data::RandomOrderConfig>(registries.transforms);
  registries.transforms.add<data::ResizeConfig>();
  registries.transforms.add<data::CenterCropConfig>();
  registries.transforms.add<data::FiveCropConfig>();
  registries.transforms.add<data::TenCropConfig>();
  registries.transforms.add<data::NormalizeConfig>();
  registries.transforms.add<data::RandomErasingConfig>();
}

void add_optimization(Registries& registries) {
  registries.optimizers.add<optim::SgdConfig>();
  registries.optimizers.add<optim::AdafactorConfig>();
  registries.optimizers.add<optim::AdamConfig>();
  registries.optimizers.add<optim::AdamWConfig>();
  registries.optimizers.add<optim::DecoupledSgdwConfig>();
  registries.optimizers.add<optim::DecoupledAdamWConfig>();
  registries.optimizers.add<optim::NAdamConfig>();
  registries.optimizers.add<optim::NAdamWConfig>();
  registries.optimizers.add<optim::RAdamConfig>();
  registries.optimizers.add<optim::RmspropConfig>();
  registries.optimizers.add<optim::RmspropTfConfig>();
  registries.optimizers.add<optim::LambConfig>();
  registries.optimizers.add<optim::LarsConfig>();
  registries.optimizers.add<optim::LionConfig>();
  registries.optimizers.add<optim::MuonConfig>();
  registries.schedules.add<optim::ConstantConfig>();
  registries.schedules.add<optim::CosineConfig>();
  registries.schedules.add<optim::PolynomialConfig>();
  registries.schedules.add<optim::LinearConfig>();
  registries.schedules.add<optim::ExponentialConfig>();
  registries.schedules.add<optim::InverseSqrtConfig>();
  registries.schedules.add<optim::StepConfig>();
  registries.schedules.add<optim::MultiStepConfig>();
  registries.schedules.add<optim::OneCycleConfig>();
  registries.algorithms.add<algorithms::BlurPoolConfig>();
  registries.algorithms.add<algorithms::ColoutConfig>();
  registries.algorithms.add<algorithms::CutmixConfig>();
  registries.algorithms.add<algorithms::CutoutConfig>();
  registries.algorithms.add<algorithms::DistillationConfig>(
      [&models = registries.models](const algorithms::DistillationConfig& config) {
        return make(config, [&models](const config::Component& it) { return models.build(it); });
      });
  registries.algorithms.add<algorithms::EmaConfig>();
  registries.algorithms.add<algorithms::FactorizeConfig>();
  registries.algorithms.add<algorithms::GhostBatchNormConfig>();
  registries.algorithms.add<algorithms::LayerFreezingConfig>();
  registries.algorithms.add<algorithms::LookaheadConfig>();
  registries.algorithms.add<algorithms::MixupConfig>();
  registries.algorithms.add<algorithms::PlateauConfig>();
  registries.algorithms.add<algorithms::SamConfig>();
  registries.algorithms.add<algorithms::SelectiveBackpropConfig>();
  registries.algorithms.add<algorithms::SqueezeExciteConfig>();
  registries.algorithms.add<algorithms::StochasticDepthConfig>();
  registries.algorithms.add<algorithms::SwaConfig>();
}

void add_observers(Registries& registries) {
  registries.callbacks.add<callbacks::MemorySnapshotConfig>();
  registries.callbacks.add<callbacks::CopyCheckpointsConfig>();
  registries.callbacks.add<callbacks::EarlyStopConfig>();
  registries.loggers.add<loggers::ConsoleConfig>();
  registries.loggers.add<loggers::JsonlConfig>();
  registries.loggers.add<loggers::PictureFilesConfig>();
  registries.loggers.add<loggers::SystemConfig>();
  registries.loggers.add<loggers::TensorboardConfig>();
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
  add_learning(*registries);
  add_data(*registries);
  add_transforms(*registries);
  add_optimization(*registries);
  add_observers(*registries);
  return registries;
}

}  // namespace paceline::app
