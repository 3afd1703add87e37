// Images a second of the loader: loader_rate FOLDER BATCHES
//
// FOLDER is an image folder or a packed data set. RandomResizedCrop 224, flip, normalise; one
// thread. Prints {"images_per_s": ..., "images_per_cpu_s": ...}.

#include "paceline/data/builtin_datasets.h"
#include "paceline/data/dataset_name.h"
#include "paceline/data/loader.h"
#include "paceline/data/transforms/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>

namespace pl = paceline::data;

namespace {

constexpr int kBatchSize = 32;
constexpr int kWarmUpBatches = 2;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::unique_ptr<pl::Dataset> open(const char* folder) {
  if (pl::dataset_name(folder) == "packed")
    return pl::open(pl::PackedConfig{.path = folder}, pl::Split::kTrain);
  return pl::open(pl::ImageFolderConfig{.path = folder}, pl::Split::kTrain);
}

void measure(const char* folder, int batches) {
  const auto dataset = open(folder);
  const pl::TransformPipeline pipeline({pl::RandomResizedCropConfig{.size = 224},
                                        pl::RandomHorizontalFlipConfig{}, pl::NormalizeConfig{}});
  const auto loader = pl::make_data_loader(
      *dataset, pipeline, {.seed = 1, .global_batch_size = kBatchSize, .num_threads = 1});
  for (int i = 0; i < kWarmUpBatches; ++i) loader->next();
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_seconds();
  for (int i = 0; i < batches; ++i) loader->next();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double images = kBatchSize * batches;
  std::printf("{\"images_per_s\": %.2f, \"images_per_cpu_s\": %.2f}\n", images / elapsed.count(),
              images / (cpu_seconds() - cpu_begin));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: loader_rate FOLDER BATCHES\n");
    return 2;
  }
  measure(argv[1], std::atoi(argv[2]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
