#pragma once

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/comm/communicator.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/loader/sampler.h"
#include "paceline/data/loader/work_slots.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/nn/network.h"
#include "paceline/tensor/device.h"
#include "paceline/train/task.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::base {
class Interruption;
}  // namespace paceline::base

namespace paceline::app {

struct Registries;  // app/recipe/builtin.h

/// The transforms of training images from number `first_batch` on, counted over all epochs.
struct PipelineChange {
  std::int64_t first_batch = 0;
  std::shared_ptr<const data::TransformPipeline> pipeline;
};

/// The size of training images from optimizer step `first_step` on, as the network sees them.
/// `wanted` pixels are the shorter side by the recipe.
struct ImageSizeChange {
  std::int64_t first_step = 0;
  int wanted = 0;
  data::ImageSize size;
};

/// One split of the data with its loader.
struct DataPart {
  std::unique_ptr<data::Dataset> dataset;
  /// What a host's batches are made by, but for changes.
  std::shared_ptr<const data::SampleMaker> maker;
  /// Of labelled images; null if the data set makes its samples by itself.
  std::shared_ptr<const data::TransformPipeline> pipeline;
  std::vector<PipelineChange> pipeline_changes;  ///< of progressive resizing by the loader
  std::vector<ImageSizeChange> image_sizes;      ///< of progressive resizing; empty: all the same
  std::shared_ptr<const data::Sampler> sampler;  ///< null until choose_sampler()
  std::unique_ptr<data::DataLoader> loader;      ///< null until make_loader()
};

/// The sizes of a sample's fields, by name.
nn::SampleSizes sample_sizes(std::span<const data::FieldSpec> fields);
/// Tells the task what the samples share. Throws as Task::check_samples() and take_constants()
/// unless it can learn from all samples of a split, those of other sizes later in the run included.
void meet_samples(train::Task& task, const DataPart& part);

/// What people call the samples: "images", or "samples" of something else.
std::string_view word_for_samples(std::span<const data::FieldSpec> fields);

/// "32 x 32 pixels", or the sizes of each field that is no image, for people.
std::string describe_fields(std::span<const data::FieldSpec> fields);

/// This process's place among the ranks, as far as data matters.
struct DataPlace {
  int rank = 0;
  int world_size = 1;
  int num_threads = 1;                                ///< that this rank has for all its work
  tensor::Device* device = nullptr;                   ///< that batches are copied to; nullptr: none
  std::shared_ptr<const data::WorkSlots> slots = {};  ///< of data.pool: node
  data::HostAllocator batch_memory = {};              ///< of batches that stay in host memory
};

/// This rank's place. Every rank must call it. Throws DataError.
DataPlace data_place(const Recipe& recipe, comm::Communicator& communicator, int num_threads,
                     tensor::Device& device);

/// Opens one split, by data.val_path or data.val_share if they are given; of the training split,
/// data.subset. `interruption` ends waits for other machines; it outlives the data set, and a null
/// one never comes. Throws DataError (AbsentPartError where only the split is missing),
/// ConfigError, Interrupted.
std::unique_ptr<data::Dataset> open_dataset(const Recipe& recipe, const Registries& registries,
                                            data::Split split,
                                            const base::Interruption* interruption);

/// Opens one split, unless the caller has done so, and builds its transforms. Throws DataError,
/// ConfigError, also for settings of images that data which are none would ignore, Interrupted.
DataPart open_data(const Recipe& recipe, const Registries& registries, data::Split split,
                   const base::Interruption* interruption,
                   std::unique_ptr<data::Dataset> opened = nullptr);

/// Opens the validation part, with labels by the names that `class_names` gives them. Nothing if
/// the run evaluates nothing: by train.eval_every, or because the data have no such part, of which
/// rank 0 warns. Throws as open_data().
std::optional<DataPart> open_validation(const Recipe& recipe, const Registries& registries,
                                        std::span<const std::string> class_names, int rank,
                                        const base::Interruption* interruption);

/// Has rank 0 look at samples of the splits that the run opens, if the data set wants that before
/// the first step. Every rank must call it. Throws DataError on all of them.
void check_samples(const Recipe& recipe, const Registries& registries, bool has_validation,
                   comm::Communicator& communicator, const base::Interruption* interruption);

/// The transforms of a split, by the recipe or as usual for its data set. Throws ConfigError.
std::vector<data::TransformConfig> transforms_of(const DataSection& section,
                                                 const Registries& registries, data::Split split);

/// The transforms of a split, made for the images of this data set: where they do not fix a size,
/// that of the first image, which the others must have, too. Throws ConfigError, DataError.
std::shared_ptr<const data::TransformPipeline> make_pipeline(const DataSection& section,
                                                             const Registries& registries,
                                                             data::Split split,
                                                             const data::Dataset& dataset);

/// What a data set is, for people and for comparison: its size and fingerprint.
std::string describe(const data::Dataset& dataset);

/// Warns of files among the samples that are none, and of classes that are hardly meant to be:
/// hidden folders, and parts of a data set. For one rank of a run.
void warn_of_content(const data::Dataset& dataset);

/// Says by the recipe which training sample comes when, and returns how many an epoch has. Throws
/// ConfigError, DataError.
std::int64_t choose_sampler(DataPart& part, const Recipe& recipe, const Registries& registries);

/// Gives the training split smaller images at first, if the recipe wants that; those that are made
/// after the loader only get their sizes written down. Throws ConfigError.
void add_progressive_resizing(DataPart& part, const Recipe& recipe, const Registries& registries,
                              const config::StepLengths& lengths);

/// How many samples of a data set an epoch or an evaluation may skip: data.max_skipped.
std::int64_t max_skipped(const DataSection& section, const data::Dataset& dataset);

/// Chooses the sampler of the training split, unless that is done. Rank 0 warns of what the data
/// set left out.
void make_loader(DataPart& part, const Recipe& recipe, const Registries& registries,
                 std::int64_t global_batch_size, data::Split split, const DataPlace& place);

}  // namespace paceline::app
