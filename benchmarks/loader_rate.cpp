// Images a second of the loader: loader_rate FOLDER BATCHES [augment] [bytes] [floats] [threads=N]
//
// FOLDER is an image folder, tars of classes (ILSVRC2012), WebDataset's tars, Parquet files, a
// packed data set (RandomResizedCrop 224, flip, normalise; `augment`: ColorJitter and RandAugment
// before it) or CIFAR-10 (pad, crop, flip, normalise). One thread unless said; `bytes`: without
// normalisation. Prints {"images_per_s": ..., "images_per_cpu_s": ...}.

#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/sources/cifar.h"
#include "paceline/data/sources/dataset_name.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/imagenet/ilsvrc2012.h"
#include "paceline/data/sources/webdataset.h"
#include "paceline/data/transforms/named/color/color_jitter.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pl = paceline::data;

namespace {

constexpr int kWarmUpBatches = 2;

/// What is loaded, and how.
struct Work {
  std::unique_ptr<pl::Dataset> dataset;
  std::vector<pl::TransformConfig> transforms;
  pl::LoaderOptions options{.seed = 1, .num_threads = 1};
  pl::ImageForm form = {};
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Config>
std::unique_ptr<pl::Dataset> open_training_split(const std::string& folder) {
  Config config;
  config.path = folder;
  return pl::open(config, pl::Split::kTrain);
}

std::unique_ptr<pl::Dataset> open_photos(const std::string& name, const std::string& folder) {
  if (name == "packed") return open_training_split<pl::PackedConfig>(folder);
  if (name == "ilsvrc2012") return open_training_split<pl::Ilsvrc2012Config>(folder);
  if (name == "webdataset") return open_training_split<pl::WebDatasetConfig>(folder);
  if (name == "parquet") return open_training_split<pl::ParquetConfig>(folder);
  return open_training_split<pl::ImageFolderConfig>(folder);
}

Work work_on(const std::string& folder, bool augments) {
  Work work;
  const std::string name = pl::dataset_name(folder);
  if (name == "cifar10") {
    work.dataset = pl::open(pl::Cifar10Config{.path = folder}, pl::Split::kTrain);
    work.transforms = pl::cifar_train();
    work.options.global_batch_size = 512;
    return work;
  }
  work.dataset = open_photos(name, folder);
  work.transforms = {pl::RandomResizedCropConfig{.size = 224}, pl::RandomHorizontalFlipConfig{}};
  if (augments) {
    work.transforms.emplace_back(
        pl::ColorJitterConfig{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1});
    work.transforms.emplace_back(pl::RandAugmentConfig{});
  }
  work.transforms.emplace_back(pl::NormalizeConfig{});
  work.options.global_batch_size = 32;
  return work;
}

Work parse(const std::vector<std::string>& arguments) {
  const auto has = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  Work work = work_on(arguments.at(0), has("augment"));
  work.form.as_bytes = has("bytes");
  constexpr std::string_view kThreads = "threads=";
  for (const std::string& argument : arguments) {
    if (argument.starts_with(kThreads))
      work.options.num_threads = std::stoi(argument.substr(kThreads.size()));
  }
  return work;
}

void measure(const Work& work, int batches) {
  const pl::TransformPipeline pipeline(work.transforms);
  const auto loader =
      pl::make_data_loader(*work.dataset, pl::make_images(pipeline, work.form), work.options);
  for (int i = 0; i < kWarmUpBatches; ++i) loader->next();
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_seconds();
  double images = 0;
  for (int i = 0; i < batches; ++i) images += static_cast<double>(loader->next()->count);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::printf("{\"images_per_s\": %.2f, \"images_per_cpu_s\": %.2f}\n", images / elapsed.count(),
              images / (cpu_seconds() - cpu_begin));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: loader_rate FOLDER BATCHES [augment] [bytes] [floats] [threads=N]\n");
    return 2;
  }
  measure(parse({argv + 1, argv + argc}), std::atoi(argv[2]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
