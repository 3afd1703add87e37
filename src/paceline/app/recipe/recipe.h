#pragma once

#include "paceline/app/recipe/preprocessing.h"
#include "paceline/app/recipe/progressive_resizing.h"
#include "paceline/config/schema.h"
#include "paceline/data/codec/orientation.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/remote/remote_config.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/parallel/sharded/sharded_config.h"
#include "paceline/train/checkpoint_config.h"
#include "paceline/train/trainer_config.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

struct RunSection {
  std::string name = "run";
  std::string dir = "runs";
  std::uint64_t seed = 1;
  bool deterministic = false;
};

struct ModelSection {
  config::Component network{"resnet50"};
  std::optional<std::string> pretrained;
  std::optional<std::string> pretrained_key;
  bool pretrained_strict = false;
  std::vector<std::string> freeze;
  bool freeze_batch_norm = false;
};

/// Who shares the threads that decode.
enum class LoaderPool { kRank, kNode };

struct DataSection {
  config::Component source{"image_folder"};
  std::optional<std::string> val_path;
  std::optional<double> val_share;
  std::string subset = "full";
  std::uint64_t subset_seed = 0;
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> batch_size_per_rank;
  bool drop_last = false;
  config::Component sampler{"shuffle"};
  std::optional<config::Sides> image_size;
  Preprocessing preprocessing;
  ProgressiveResizing progressive_resizing;
  data::Augmentation augmentation = data::Augmentation::kWeak;
  data::ExifRule exif = data::ExifRule::kIgnore;
  std::vector<config::Component> train_transforms;
  std::vector<config::Component> eval_transforms;
  std::optional<int> num_threads;
  LoaderPool pool = LoaderPool::kRank;
  int prefetch_batches = 2;
  data::OnError on_error = data::OnError::kFail;
  std::optional<std::int64_t> max_skipped;
  data::RemoteConfig remote = {};
};

enum class ParallelStrategy { kAuto, kNone, kDdp, kZero1, kZero2, kFsdp, kHsdp };

struct ParallelSection {
  ParallelStrategy strategy = ParallelStrategy::kAuto;
  bool sync_batch_norm = false;
  std::optional<int> sync_batch_norm_group_size;
  double timeout = 600;
  parallel::DdpConfig ddp;
  parallel::ShardedConfig fsdp;
  parallel::NoneConfig none;
};

/// parallel.timeout as communicators take it.
inline std::chrono::milliseconds collective_timeout(const ParallelSection& parallel) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(parallel.timeout * 1000));
}

/// All that a run is told, as it stands in a recipe.
struct Recipe {
  RunSection run;
  config::Component task{"classification"};
  ModelSection model;
  DataSection data;
  train::TrainerConfig train;
  config::Component optimizer{"sgd"};
  config::Component schedule{"cosine"};
  config::Component loss{"cross_entropy"};
  ParallelSection parallel;
  config::ComponentMap algorithms;
  config::ComponentMap callbacks;
  train::CheckpointConfig checkpoint;
  config::ComponentMap loggers{{"console", {"console"}},
                               {"jsonl", {"jsonl"}},
                               {"pictures", {"pictures"}},
                               {"system", {"system"}},
                               {"tensorboard", {"tensorboard"}}};
  config::Sections phases;
};

}  // namespace paceline::app

template <>
struct paceline::config::EnumNames<paceline::data::OnError> {
  static constexpr std::array names{EnumName{paceline::data::OnError::kFail, "fail"},
                                    EnumName{paceline::data::OnError::kSkip, "skip"}};
};

template <>
struct paceline::config::EnumNames<paceline::app::LoaderPool> {
  static constexpr std::array names{EnumName{paceline::app::LoaderPool::kRank, "rank"},
                                    EnumName{paceline::app::LoaderPool::kNode, "node"}};
};

template <>
struct paceline::config::Schema<paceline::app::RunSection> {
  using Section = paceline::app::RunSection;
  static constexpr std::string_view name = "run";
  static constexpr std::string_view summary = "What the run is called and what it repeats.";
  static constexpr auto fields = std::tuple{
      field(&Section::name, "name", "Name of the run; its directory is DIR/NAME-TIME.", PlainName{},
            MayChangeOnResume{}),
      field(&Section::dir, "dir", "Where run directories are made.", NotEmpty{}, Path{},
            MayChangeOnResume{}),
      field(&Section::seed, "seed",
            "Every random draw (weights, order, augmentation, dropout) is a function of it."),
      field(&Section::deterministic, "deterministic",
            "Refuse kernels whose result depends on timing; CPU kernels never do.",
            MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::app::ModelSection> {
  using Section = paceline::app::ModelSection;
  static constexpr std::string_view name = "model";
  static constexpr std::string_view summary = "The network and the weights it starts from.";
  static constexpr auto fields = std::tuple{
      inline_component(&Section::network, "model", "The network."),
      field(&Section::pretrained, "pretrained",
            "Weights to start from, with torchvision's or timm's names: a safetensors file, one of "
            "torch.save (.pth, .pt, .bin), a folder or index of their parts, a checkpoint, or "
            "RUN@best or RUN@last of another run; or what is downloaded once: "
            "hf:OWNER/NAME[@REVISION][:FILE], torchvision:IMAGENET1K_V2, https://, s3:// or gs://. "
            "The head is drawn anew when the number of classes differs, and a stem adapted to "
            "other input channels.",
            Path{}, MayChangeOnResume{}),
      field(
          &Section::pretrained_key, "pretrained_key",
          "Which weights of a file that holds several, such as model_ema or state_dict_ema "
          "(with dots where dicts lie in dicts); of a checkpoint an algorithm's (ema) or trained.",
          MayChangeOnResume{}),
      field(&Section::pretrained_strict, "pretrained_strict",
            "Refuse weights of which anything has to be adapted or drawn anew.",
            MayChangeOnResume{}),
      field(&Section::freeze, "freeze",
            "Parts that are not trained, by the names of their parameters or of the modules above "
            "them, with * and ?: [stem, 'layer[12]', 'blocks.0.*']; stem and head are known in "
            "every model, and ..layer2 is that and all before it. The BatchNorms in them keep "
            "their statistics, as timm's do."),
      field(&Section::freeze_batch_norm, "freeze_batch_norm",
            "Normalise by BatchNorm's running statistics, also in training, and leave them as they "
            "are; for small batches on pretrained weights.",
            MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::app::DataSection> {
  using Section = paceline::app::DataSection;
  static constexpr std::string_view name = "data";
  static constexpr std::string_view summary = "The samples, how they are augmented and batched.";
  static constexpr auto fields = std::tuple{
      inline_component(&Section::source, "dataset", "The data set."),
      field(&Section::val_path, "val_path",
            "Where the validation samples lie, if not below path: a data set of the same kind, or "
            "its validation folder itself; classes go by their names.",
            Path{}, MayChangeOnResume{}),
      field(&Section::val_share, "val_share",
            "Hold out this share of the training samples for validation; which ones is a function "
            "of subset_seed and each sample's name.",
            MoreThan{0}, LessThan{1}),
      field(
          &Section::subset, "subset",
          "Training samples: full, tiny (1,000), small (10,000), medium (100,000), large (500,000) "
          "or a number; drawn evenly over the classes, the same in every format."),
      field(&Section::subset_seed, "subset_seed",
            "Which samples a subset has, and which are held out by val_share; apart from run.seed, "
            "so "
            "that runs can share them."),
      field(&Section::global_batch_size, "global_batch_size",
            "Samples per optimizer step over all ranks; 256 if neither batch size is given. A "
            "resumed run keeps its number of samples per step, whichever key says it.",
            AtLeast{1}, AtMost{16'777'216, "no step takes more samples"}, MayChangeOnResume{}),
      field(&Section::batch_size_per_rank, "batch_size_per_rank",
            "Samples per optimizer step and rank; instead of global_batch_size. A run that goes "
            "on with other ranks keeps its number of samples per step.",
            AtLeast{1}, AtMost{1'048'576, "no rank takes more samples at once"},
            MayChangeOnResume{}),
      field(&Section::drop_last, "drop_last",
            "Leave out the last, smaller batch of an epoch; kept, its samples weigh as much as "
            "others."),
      component(&Section::sampler, "sampler", "Which training sample comes when."),
      field(&Section::image_size, "image_size",
            "Side of the images that the network sees, in pixels, or [height, width]; null: "
            "preprocessing.crop, which may come with model.pretrained, else 224, or 32 for CIFAR.",
            AtLeast{1}, AtMost{65'536, "no network sees larger images"}, MayChangeOnResume{}),
      field(&Section::preprocessing, "preprocessing",
            "How images are prepared where the transforms are left to the data set; null values "
            "come with the weights of model.pretrained.",
            MayChangeOnResume{}),
      field(&Section::progressive_resizing, "progressive_resizing",
            "Small training images at first.", MayChangeOnResume{}),
      field(&Section::augmentation, "augmentation",
            "How strongly training images are changed where train_transforms is empty; none: not "
            "at all; weak: the usual crops and flips of the data set; medium: a policy of random "
            "operations too; strong: a stronger one and erased boxes.",
            MayChangeOnResume{}),
      field(&Section::exif, "exif",
            "How a camera was held, as its files say: ignore, as torchvision and timm do, or "
            "apply: images are turned upright before the first transform.",
            MayChangeOnResume{}),
      of_kind("transform",
              component(&Section::train_transforms, "train_transforms",
                        "Transforms of training samples in order; empty: those of augmentation.",
                        MayChangeOnResume{})),
      of_kind(
          "transform",
          component(
              &Section::eval_transforms, "eval_transforms",
              "Transforms of validation samples in order; empty: the usual ones of the data set.",
              MayChangeOnResume{})),
      field(&Section::num_threads, "num_threads",
            "Threads per rank that decode; null: the rank's share of the cores.", AtLeast{1},
            AtMost{1024, "no machine has more cores for a rank"}, MayChangeOnResume{}),
      field(&Section::pool, "pool",
            "rank: each rank decodes with its own threads; node: the ranks of a node lend each "
            "other threads that have nothing to do.",
            MayChangeOnResume{}),
      field(&Section::prefetch_batches, "prefetch_batches", "Batches prepared ahead of the step.",
            AtLeast{1}, AtMost{1024, "each waits in memory"}, MayChangeOnResume{}),
      field(&Section::on_error, "on_error",
            "A sample that cannot be decoded: fail, or skip (another takes its place in training, "
            "an evaluation goes without; counted and reported).",
            MayChangeOnResume{}),
      field(&Section::max_skipped, "max_skipped",
            "With on_error: skip, how many samples an epoch or an evaluation may skip before the "
            "run fails; null: one in a hundred, or 10 if that is more.",
            AtLeast{0}, AtMost{1'000'000'000'000, "no data set has more samples"},
            MayChangeOnResume{}),
      field(&Section::remote, "remote", "How s3://, gs://, https:// and hf: paths are read.")};

  static void validate(const Section& value, Problems& problems);
};

template <>
struct paceline::config::EnumNames<paceline::app::ParallelStrategy> {
  static constexpr std::array names{EnumName{paceline::app::ParallelStrategy::kAuto, "auto"},
                                    EnumName{paceline::app::ParallelStrategy::kNone, "none"},
                                    EnumName{paceline::app::ParallelStrategy::kDdp, "ddp"},
                                    EnumName{paceline::app::ParallelStrategy::kZero1, "zero1"},
                                    EnumName{paceline::app::ParallelStrategy::kZero2, "zero2"},
                                    EnumName{paceline::app::ParallelStrategy::kFsdp, "fsdp"},
                                    EnumName{paceline::app::ParallelStrategy::kHsdp, "hsdp"}};
};

template <>
struct paceline::config::Schema<paceline::app::ParallelSection> {
  using Section = paceline::app::ParallelSection;
  static constexpr std::string_view name = "parallel";
  static constexpr std::string_view summary = "How ranks share the work.";
  static constexpr auto fields = std::tuple{
      field(
          &Section::strategy, "strategy",
          "none (one rank), ddp (the whole model on every rank), zero1 (optimizer state in pieces "
          "over the ranks), zero2 (gradients too), fsdp (parameters too), hsdp (fsdp within groups "
          "of ranks, ddp across them), or auto: ddp on several ranks.",
          MayChangeOnResume{}),
      field(&Section::sync_batch_norm, "sync_batch_norm",
            "BatchNorm sees the batches of all ranks together, as one rank would that has them.",
            MayChangeOnResume{}),
      field(&Section::sync_batch_norm_group_size, "sync_batch_norm_group_size",
            "sync_batch_norm: so many neighbouring ranks share their statistics; null: all ranks.",
            AtLeast{2}, AtMost{1'000'000, "no run has more ranks"}, MayChangeOnResume{}),
      field(&Section::timeout, "timeout",
            "Seconds that ranks wait in a collective for one that does not come before the run is "
            "given up.",
            InRange{1, 1e6}, MayChangeOnResume{}),
      field(&Section::ddp, "ddp", "Options of ddp."),
      field(&Section::fsdp, "fsdp", "Options of zero1, zero2, fsdp and hsdp."),
      field(&Section::none, "none", "Options of none.")};
};

template <>
struct paceline::config::Schema<paceline::app::Recipe> {
  using Recipe = paceline::app::Recipe;
  static constexpr std::string_view name = "recipe";
  static constexpr std::string_view summary = "A training run.";
  static constexpr auto fields = std::tuple{
      field(&Recipe::run, "run", "What the run is called and what it repeats."),
      component(&Recipe::task, "task", "What is learnt of the data."),
      field(&Recipe::model, "model", "The network and the weights it starts from."),
      field(&Recipe::data, "data", "The samples, how they are augmented and batched."),
      field(&Recipe::train, "train", "How long, how precisely and in which pieces to train."),
      component(&Recipe::optimizer, "optimizer", "What turns gradients into updates."),
      component(&Recipe::schedule, "schedule", "The learning rate over time.", MayChangeOnResume{}),
      component(&Recipe::loss, "loss", "What is minimised.", MayChangeOnResume{}),
      field(&Recipe::parallel, "parallel", "How ranks share the work."),
      component_map(&Recipe::algorithms, "algorithms", "What changes the training loop, by name."),
      component_map(&Recipe::callbacks, "callbacks", "What watches the training loop, by name.",
                    MayChangeOnResume{}),
      field(&Recipe::checkpoint, "checkpoint", "When to save, and what to keep."),
      component_map(&Recipe::loggers, "loggers", "Where metrics go, by name.", MayChangeOnResume{}),
      field(&Recipe::phases, "phases",
            "Parts of the run that are trained one after the other, in the order written: a name "
            "with the keys of this recipe that are others in this phase, {warm: {train: "
            "{duration: 1ep}, model: {freeze: [stem]}}, whole: {}}. Each starts from the last "
            "weights of the one before, with start_from: best from its best.")};
};
