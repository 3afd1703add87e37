#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"

#include <cstdint>
#include <memory>

namespace paceline::data {

/// How fast a loader is when nobody waits for anything else.
struct LoaderRate {
  int num_threads = 1;
  double samples_per_s = 0;
  StageTimes stages;
};

/// Loads about `num_samples` training samples and throws them away. Of `options` the size of
/// batches is not used. What an earlier call read may lie in memory now: give another seed to read
/// other samples.
LoaderRate measure_loader(const Dataset& dataset, std::shared_ptr<const SampleMaker> maker,
                          LoaderOptions options, std::int64_t num_samples);

}  // namespace paceline::data
