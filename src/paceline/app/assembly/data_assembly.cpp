#include "paceline/app/assembly/data_assembly.h"

#include "paceline/app/assembly/batch_resizing.h"
#include "paceline/app/assembly/local_ranks.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/usual_transforms.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/dataset/class_alignment.h"
#include "paceline/data/dataset/subset.h"
#include "paceline/data/dataset/val_share.h"
#include "paceline/data/loader/array_maker.h"
#include "paceline/data/remote/remote_storage.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <array>
#include <utility>

#include <c10/core/CPUAllocator.h>

namespace paceline::app {
namespace {

/// Of the first image that can be read, where bad ones are skipped.
data::InputSize first_image_size(const data::Dataset& dataset, const DataSection& section) {
  for (std::int64_t index = 0;; ++index) {
    try {
      data::StoredSample sample;
      dataset.get(index, sample);
      const data::ImageSize size = sample.width > 0
                                       ? data::ImageSize{sample.height, sample.width}
                                       : data::ImageDecoder().open(sample.bytes, section.exif);
      return {size, dataset.describe(index), ""};
    } catch (const base::DataError& error) {
      if (section.on_error == data::OnError::kFail || index + 1 == dataset.size())
        throw base::DataError(data::describe_problem(dataset, index, error.what()));
    }
  }
}

/// Settings of images would be ignored for what is none.
void refuse_image_settings(const DataSection& section, bool are_arrays) {
  std::vector<std::string> keys;
  if (section.image_size) keys.emplace_back("data.image_size");
  if (section.progressive_resizing.start_size)
    keys.emplace_back("data.progressive_resizing.start_size");
  if (section.augmentation != data::Augmentation::kWeak) keys.emplace_back("data.augmentation");
  if (section.exif != data::ExifRule::kIgnore) keys.emplace_back("data.exif");
  if (!are_arrays && !section.train_transforms.empty()) keys.emplace_back("data.train_transforms");
  if (!are_arrays && !section.eval_transforms.empty()) keys.emplace_back("data.eval_transforms");
  if (keys.empty()) return;
  throw base::ConfigError(fmt::format(
      "{}: only for images, and the samples of {} are none: it would change nothing; take it out",
      base::join(keys, ", "), section.source.name));
}

data::ImageForm image_form(const Recipe& recipe, const data::Dataset& dataset, bool as_bytes) {
  return {.as_bytes = as_bytes,
          .channels_last = recipe.train.channels_last,
          .num_targets = dataset.has_label_lists() ? dataset.num_classes() : 0};
}

/// Of transforms that draw one of several views, which evaluations would not repeat.
void refuse_views(const data::TransformPipeline& pipeline) {
  if (pipeline.num_views() == 1) return;
  throw base::ConfigError(fmt::format(
      "data.eval_transforms: {} views are made of an image, of which an evaluation would see one "
      "at random; write center_crop in place of five_crop or ten_crop",
      pipeline.num_views()));
}

std::vector<data::TransformConfig> written_transforms(const DataSection& section,
                                                      const Registries& registries,
                                                      data::Split split) {
  std::vector<data::TransformConfig> transforms;
  const bool is_training = split == data::Split::kTrain;
  for (const auto& component : is_training ? section.train_transforms : section.eval_transforms)
    transforms.emplace_back(registries.transforms.build(component));
  return transforms;
}

/// By LibTorch's allocator, which counts what it gives out.
std::shared_ptr<void> allocate_as_tensor(std::size_t size_bytes) {
  auto memory = std::make_shared<at::DataPtr>(c10::GetCPUAllocator()->allocate(size_bytes));
  return {memory, memory->get()};
}

}  // namespace

DataPlace data_place(const Recipe& recipe, comm::Communicator& communicator, int num_threads,
                     tensor::Device& device) {
  DataPlace place{communicator.rank(), communicator.world_size(), num_threads, &device};
  if (recipe.data.pool == LoaderPool::kNode)
    place.slots = common_slots(communicator, recipe.data.num_threads.value_or(num_threads));
  return place;
}

std::unique_ptr<data::Dataset> open_dataset(const Recipe& recipe, const Registries& registries,
                                            data::Split split,
                                            const base::Interruption* interruption) {
  const DataSection& section = recipe.data;
  const bool is_training = split == data::Split::kTrain;
  auto dataset = registries.datasets.build(section.source)
                     ->open(section.val_share ? data::Split::kTrain : split,
                            data::make_storage(section.remote, interruption), section.val_path);
  if (section.val_share) {
    const auto part = is_training ? data::SharePart::kKept : data::SharePart::kHeldOut;
    dataset = data::take_share(std::move(dataset), *section.val_share, section.subset_seed, part);
  }
  const auto subset_size = data::parse_subset_size(section.subset);
  if (!is_training || !subset_size) return dataset;
  return data::make_subset(std::move(dataset), *subset_size, section.subset_seed);
}

std::optional<DataPart> open_validation(const Recipe& recipe, const Registries& registries,
                                        std::span<const std::string> class_names, int rank,
                                        const base::Interruption* interruption) {
  if (!recipe.train.eval_every) return std::nullopt;
  try {
    auto dataset = open_dataset(recipe, registries, data::Split::kVal, interruption);
    return open_data(recipe, registries, data::Split::kVal, interruption,
                     data::align_classes(std::move(dataset), class_names));
  } catch (const data::AbsentPartError& error) {
    if (recipe.data.val_path) throw;
    if (rank == 0) {
      base::log_warning(
          "no validation: {}. The run trains without; data.val_share=0.1 holds out a tenth of the "
          "training samples, data.val_path names others, and train.eval_every=null says that none "
          "are wanted",
          error.what());
    }
    return std::nullopt;
  }
}

DataPart open_data(const Recipe& recipe, const Registries& registries, data::Split split,
                   const base::Interruption* interruption, std::unique_ptr<data::Dataset> opened) {
  DataPart part;
  part.dataset = opened ? std::move(opened) : open_dataset(recipe, registries, split, interruption);
  const auto plan = registries.datasets.build(recipe.data.source);
  if (plan->make_samples) {
    refuse_image_settings(recipe.data, /*are_arrays=*/false);
    part.maker = plan->make_samples(*part.dataset, split);
  } else if (auto fields = part.dataset->stored_fields(); !fields.empty()) {
    refuse_image_settings(recipe.data, /*are_arrays=*/true);
    part.maker = std::make_shared<data::ArrayMaker>(
        std::move(fields), written_transforms(recipe.data, registries, split));
  } else {
    part.pipeline = make_pipeline(recipe.data, registries, split, *part.dataset);
    if (split == data::Split::kVal) refuse_views(*part.pipeline);
    part.maker = std::make_shared<data::ImageMaker>(
        part.pipeline, image_form(recipe, *part.dataset, /*as_bytes=*/false));
  }
  return part;
}

void check_samples(const Recipe& recipe, const Registries& registries, bool has_validation,
                   comm::Communicator& communicator, const base::Interruption* interruption) {
  const auto plan = registries.datasets.build(recipe.data.source);
  if (!plan->check_samples) return;
  std::vector<data::Split> splits{data::Split::kTrain};
  if (has_validation && !recipe.data.val_share) splits.push_back(data::Split::kVal);
  comm::first_rank_decides(communicator, [&] {
    plan->check_samples(splits, data::make_storage(recipe.data.remote, interruption),
                        recipe.data.val_path);
    return "";
  });
}

nn::SampleSizes sample_sizes(std::span<const data::FieldSpec> fields) {
  nn::SampleSizes sizes;
  for (const data::FieldSpec& field : fields) sizes.emplace(field.name, field.sizes);
  return sizes;
}

void meet_samples(train::Task& task, const DataPart& part) {
  task.take_constants(part.dataset->constants());
  train::SampleFacts samples{sample_sizes(part.maker->fields()), part.dataset->num_classes()};
  task.check_samples(samples);
  for (const ImageSizeChange& change : part.image_sizes) {
    std::vector<std::int64_t>& images = samples.sizes.at(std::string(data::kImagesField));
    images.at(1) = change.size.height;
    images.at(2) = change.size.width;
    task.check_samples(samples);
  }
}

std::string_view word_for_samples(std::span<const data::FieldSpec> fields) {
  const bool are_images =
      std::ranges::find(fields, data::kImagesField, &data::FieldSpec::name) != fields.end();
  return are_images ? "images" : "samples";
}

std::string describe_fields(std::span<const data::FieldSpec> fields) {
  std::vector<std::string> texts;
  for (const data::FieldSpec& field : fields) {
    if (field.sizes.empty()) continue;
    std::vector<std::string> sizes;
    for (const std::int64_t size : field.sizes) sizes.push_back(std::to_string(size));
    const bool is_image = field.name == data::kImagesField;
    if (is_image) sizes.erase(sizes.begin());
    texts.push_back(is_image ? base::join(sizes, " x ") + " pixels"
                             : fmt::format("{} {}", field.name, base::join(sizes, " x ")));
  }
  return base::join(texts, ", ");
}

std::vector<data::TransformConfig> transforms_of(const DataSection& section,
                                                 const Registries& registries, data::Split split) {
  auto written = written_transforms(section, registries, split);
  if (!written.empty()) return written;
  return usual_transforms(section, *registries.datasets.build(section.source), split);
}

std::shared_ptr<const data::TransformPipeline> make_pipeline(const DataSection& section,
                                                             const Registries& registries,
                                                             data::Split split,
                                                             const data::Dataset& dataset) {
  const auto transforms = transforms_of(section, registries, split);
  if (data::fixes_size(transforms) || dataset.size() == 0)
    return std::make_shared<data::TransformPipeline>(transforms, std::nullopt, section.exif);
  data::InputSize input = first_image_size(dataset, section);
  input.key = split == data::Split::kTrain ? "data.train_transforms" : "data.eval_transforms";
  return std::make_shared<data::TransformPipeline>(transforms, std::move(input), section.exif);
}

void warn_of_content(const data::Dataset& dataset) {
  constexpr std::array kParts{"train", "training", "val", "valid", "validation", "test"};
  const std::vector<std::string> names = dataset.class_names();
  for (const std::string& name : names) {
    if (name.starts_with('.'))
      base::log_warning("the class '{}' is a hidden folder: remove it if it is none", name);
  }
  if (!names.empty() && std::ranges::all_of(names, [&](const std::string& name) {
        return std::ranges::find(kParts, name) != kParts.end();
      }))
    base::log_warning(
        "the classes are called as the parts of a data set are ({}): data.path, or "
        "data.train_folder, names a folder above them",
        base::join_first(names, 3));
  const data::LeftOut left_out = dataset.left_out();
  if (left_out.count == 0) return;
  base::log_warning("{}: {} files are no images by their names or links, and are left out: {}{}",
                    left_out.folder, base::format_count(left_out.count), left_out.first,
                    left_out.count > data::LeftOut::kMostNamed ? ", ..." : "");
}

std::int64_t choose_sampler(DataPart& part, const Recipe& recipe, const Registries& registries) {
  part.sampler = registries.samplers.build(recipe.data.sampler, *part.dataset, recipe.run.seed);
  return part.sampler->places_per_epoch();
}

void add_progressive_resizing(DataPart& part, const Recipe& recipe, const Registries& registries,
                              const config::StepLengths& lengths) {
  const ProgressiveResizing& resizing = recipe.data.progressive_resizing;
  if (!resizing.start_size) return;
  PACELINE_CHECK(part.pipeline, "samples that are no images have no size to change");
  const auto transforms = transforms_of(recipe.data, registries, data::Split::kTrain);
  const data::ImageSize size = part.pipeline->output_size();
  const int shorter = std::min(size.height, size.width);
  for (const SizeChange& change : size_changes(resizing, shorter, lengths)) {
    if (resizing.is_after_loader()) {
      part.image_sizes.push_back(
          {change.first_step, change.size, resized_after_loader(size, change.size)});
      continue;
    }
    auto pipeline = part.pipeline;
    if (change.size != shorter)
      pipeline = std::make_shared<data::TransformPipeline>(
          with_size(transforms, grown_to(size, change.size)), std::nullopt, recipe.data.exif);
    part.image_sizes.push_back({change.first_step, change.size, pipeline->output_size()});
    part.pipeline_changes.push_back({change.first_step, std::move(pipeline)});
  }
}

std::string describe(const data::Dataset& dataset) {
  return fmt::format("{} {}, {}", dataset.size(),
                     dataset.stored_fields().empty() ? "images" : "samples", dataset.fingerprint());
}

std::int64_t max_skipped(const DataSection& section, const data::Dataset& dataset) {
  constexpr std::int64_t kFewSamples = 10;  // that even a small set may lack
  return section.max_skipped.value_or(std::max(kFewSamples, dataset.size() / 100));
}

void make_loader(DataPart& part, const Recipe& recipe, const Registries& registries,
                 std::int64_t global_batch_size, data::Split split, const DataPlace& place) {
  if (place.rank == 0) warn_of_content(*part.dataset);
  data::LoaderOptions options;
  options.seed = recipe.run.seed;
  options.is_training = split == data::Split::kTrain;
  if (options.is_training && !part.sampler) choose_sampler(part, recipe, registries);
  options.sampler = part.sampler;
  options.global_batch_size = global_batch_size;
  options.drop_last = recipe.data.drop_last;
  options.rank = place.rank;
  options.world_size = place.world_size;
  options.num_threads = recipe.data.num_threads.value_or(place.num_threads);
  // With common slots a rank may work with as many threads of the others as it has itself.
  options.slots = place.slots;
  if (place.slots && place.world_size > 1) options.num_threads *= 2;
  options.prefetch_batches = recipe.data.prefetch_batches;
  options.on_error = recipe.data.on_error;
  const bool is_copied = place.device != nullptr && place.device->is_asynchronous();
  const data::ImageForm form = image_form(recipe, *part.dataset, /*as_bytes=*/is_copied);
  for (const PipelineChange& change : part.pipeline_changes) {
    options.maker_changes.push_back(
        {change.first_batch, std::make_shared<data::ImageMaker>(change.pipeline, form)});
  }
  auto maker = part.maker;
  if (is_copied) {
    if (part.pipeline) maker = std::make_shared<data::ImageMaker>(part.pipeline, form);
    options.allocator = [device = place.device](std::size_t size_bytes) {
      return device->allocate_host(size_bytes);
    };
  } else {
    options.allocator = place.batch_memory ? place.batch_memory : allocate_as_tensor;
  }
  part.loader = data::make_data_loader(*part.dataset, std::move(maker), options);
}

}  // namespace paceline::app
