// Images a second of the loader: loader_rate FOLDER BATCHES
//
// RandomResizedCrop 224, flip, normalise; one thread. Prints {"images_per_s": ...}.

#include "paceline/data/builtin_datasets.h"
#include "paceline/data/loader.h"
#include "paceline/data/transforms/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace pl = paceline::data;

namespace {

constexpr int kBatchSize = 32;
constexpr int kWarmUpBatches = 2;

double images_per_second(const char* folder, int batches) {
  const auto dataset = pl::open(pl::ImageFolderConfig{.path = folder}, pl::Split::kTrain);
  const pl::TransformPipeline pipeline({pl::RandomResizedCropConfig{.size = 224},
                                        pl::RandomHorizontalFlipConfig{}, pl::NormalizeConfig{}});
  const auto loader = pl::make_data_loader(
      *dataset, pipeline, {.seed = 1, .global_batch_size = kBatchSize, .num_threads = 1});
  for (int i = 0; i < kWarmUpBatches; ++i) loader->next();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < batches; ++i) loader->next();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return kBatchSize * batches / elapsed.count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: loader_rate FOLDER BATCHES\n");
    return 2;
  }
  std::printf("{\"images_per_s\": %.2f}\n", images_per_second(argv[1], std::atoi(argv[2])));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
