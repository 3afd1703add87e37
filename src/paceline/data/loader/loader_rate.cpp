#include "paceline/data/loader/loader_rate.h"

#include "paceline/base/clock.h"

#include <algorithm>
#include <utility>

namespace paceline::data {
namespace {

constexpr std::int64_t kBatchSize = 32;

}  // namespace

LoaderRate measure_loader(const Dataset& dataset, std::shared_ptr<const SampleMaker> maker,
                          LoaderOptions options, std::int64_t num_samples) {
  options.global_batch_size = std::min(kBatchSize, dataset.size());
  const auto loader = make_data_loader(dataset, std::move(maker), options);
  loader->next();  // threads and buffers are there now
  const StageTimes warm_up = loader->counts().stages;
  const std::int64_t batches = std::max<std::int64_t>(1, num_samples / options.global_batch_size);
  const double start = base::SystemClock().monotonic_s();
  std::int64_t samples = 0;
  for (std::int64_t i = 0; i < batches; ++i) samples += loader->next()->count;
  LoaderRate rate;
  rate.num_threads = options.num_threads;
  rate.samples_per_s = static_cast<double>(samples) / (base::SystemClock().monotonic_s() - start);
  rate.stages = loader->counts().stages - warm_up;
  return rate;
}

}  // namespace paceline::data
