#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/loader/sampler.h"
#include "paceline/data/transforms/pipeline.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

class SlotLease;  // data/loader/work_slots.h

/// A place in the order of all epochs.
struct SamplePlace {
  std::uint64_t epoch = 0;
  std::int64_t place = 0;
};

/// What a thread reuses from sample to sample.
struct ReaderScratch {
  static constexpr double kUnknown = -1;

  SlotLease* lease = nullptr;  ///< taken, and left while a sample is waited for; nullptr: none
  StoredSample sample;
  TransformScratch transform;
  std::vector<std::byte*> targets;  ///< of the sample at hand, for each of its fields
  /// When the sample before was done, if nothing but this one was worked on since, else kUnknown: a
  /// clock that is asked three times a sample shows where the images are small.
  double idle_since_s = kUnknown;
  StageTimes times;  ///< of all samples so far, bad ones left out
};

/// The sample that was read for a place.
struct ReadSample {
  std::int64_t index = 0;            ///< in the data set
  EraseSteps erased;                 ///< as SampleMaker::make()
  std::vector<std::string> skipped;  ///< samples that could not be read, and what is wrong
};

/// Reads, decodes and transforms the sample of one place, and deals with samples that are bad:
/// whatever goes wrong with one, lack of memory for it too.
/// Immutable; any number of threads may use it, each with a scratch of its own.
class SampleReader {
 public:
  /// The data set must outlive it. Uses of the options the seed, is_training, the sampler and
  /// on_error.
  SampleReader(const Dataset& dataset, const LoaderOptions& options);

  std::int64_t places_per_epoch() const;

  /// Which samples stand at the places from `first` on.
  void fill_indices(const SamplePlace& first, std::span<std::int64_t> indices) const;

  /// During the next read() the first of `later` is moved towards the processor if it lies in
  /// memory.
  void expect(std::span<const std::int64_t> later, ReaderScratch& scratch) const;

  /// Whether hints are of use.
  bool reads_ahead() const { return dataset_.reads_ahead(); }
  /// Hints that the samples of `count` places from `first` on will be read.
  void will_read(const SamplePlace& first, std::int64_t count) const;
  /// Takes all hints back.
  void will_read_no_more() const { dataset_.will_read_no_more(); }

  /// Has the fields of sample `index`, which stands at `place`, written to the
  /// scratch's targets. In evaluation a skipped sample leaves nothing there. Throws DataError by
  /// OnError's rules. A label that is no class of the data set makes a sample bad.
  ReadSample read(std::int64_t index, const SamplePlace& place, const SampleMaker& maker,
                  ReaderScratch& scratch) const;

 private:
  EraseSteps make(std::int64_t index, const SamplePlace& place, const SampleMaker& maker,
                  ReaderScratch& scratch) const;

  const Dataset& dataset_;
  int num_classes_;  ///< that labels count from 0 to; 0: there are none, or lists of them
  std::uint64_t seed_;
  OnError on_error_;
  std::shared_ptr<const Sampler> sampler_;  ///< none in evaluation
};

}  // namespace paceline::data
