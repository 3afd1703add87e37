#include "paceline/data/loader/loader_rate.h"

#include "paceline/base/clock.h"

#include <algorithm>
#include <utility>

namespace paceline::data {
namespace {

constexpr std::int64_t kBatchSize = 32;

}  // namespace

std::string_view name_of(LoaderStage stage) {
  switch (stage) {
    case LoaderStage::kRead:
      return "reading";
    case LoaderStage::kDecode:
      return "decoding";
    case LoaderStage::kTransform:
      return "transforms";
  }
  return "";
}

LoaderStage limiting_stage(const StageTimes& times) {
  if (times.read_s >= std::max(times.decode_s, times.transform_s)) return LoaderStage::kRead;
  return times.decode_s >= times.transform_s ? LoaderStage::kDecode : LoaderStage::kTransform;
}

std::string_view cure_of(LoaderStage stage) {
  switch (stage) {
    case LoaderStage::kRead:
      return "use a faster disk or one that is near, or `paceline data pack`";
    case LoaderStage::kDecode:
      return "`paceline data pack --mode coefficients`, or more data.num_threads";
    case LoaderStage::kTransform:
      return "a smaller data.image_size, fewer transforms, or more data.num_threads";
  }
  return "";
}

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
