#include "paceline/data/loader/sample_reader.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/data/loader/work_slots.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>
#include <utility>

namespace paceline::data {
namespace {

/// Bad samples in a row after which skipping gives up: the data set is broken, not a file of it.
constexpr int kMaxBadInARow = 8;

std::shared_ptr<const Sampler> sampler_of(const Dataset& dataset, const LoaderOptions& options) {
  if (!options.is_training || dataset.size() == 0) return nullptr;
  if (options.sampler) return options.sampler;
  return make(ShuffleConfig{}, dataset, options.seed);
}

/// Whether a maker writes a class index there. Asked of each sample: types are compared sooner than
/// names.
bool is_class_index(const FieldSpec& field) {
  return field.type == FieldType::kInt64 && field.sizes.empty() && field.name == kLabelsField;
}

/// The loss would find out, but not whose label it is.
void check_label(const SampleMaker& maker, int num_classes, std::span<std::byte* const> targets) {
  if (num_classes == 0) return;
  const std::vector<FieldSpec>& fields = maker.fields();
  const auto field = std::ranges::find_if(fields, is_class_index);
  if (field == fields.end()) return;
  std::int64_t label = 0;
  std::memcpy(&label, targets[static_cast<std::size_t>(field - fields.begin())], sizeof(label));
  if (label >= 0 && label < num_classes) return;
  throw base::DataError(
      fmt::format("its label is {}, expected 0 to {}, as the data set has {} "
                  "classes",
                  label, num_classes - 1, num_classes));
}

/// Whether an error is the sample's fault: a stop or a wrong setting is not.
bool is_of_sample(const base::Error& error) {
  return error.exit_code() == base::ExitCode::kData ||
         error.exit_code() == base::ExitCode::kInternal;
}

}  // namespace

SampleReader::SampleReader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      num_classes_(dataset.has_label_lists() ? 0 : dataset.num_classes()),
      seed_(options.seed),
      on_error_(options.on_error),
      sampler_(sampler_of(dataset, options)) {}

std::int64_t SampleReader::places_per_epoch() const {
  return sampler_ ? sampler_->places_per_epoch() : dataset_.size();
}

void SampleReader::fill_indices(const SamplePlace& first, std::span<std::int64_t> indices) const {
  if (sampler_) {
    sampler_->fill(first.epoch, first.place, indices);
  } else {
    std::iota(indices.begin(), indices.end(), first.place);
  }
}

void SampleReader::will_read(const SamplePlace& first, std::int64_t count) const {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  fill_indices(first, indices);
  dataset_.will_read(indices);
}

void SampleReader::expect(std::span<const std::int64_t> later, ReaderScratch& scratch) const {
  scratch.transform.next_sample =
      later.empty() ? Prefetch() : Prefetch(dataset_.memory_of(later.front()));
}

EraseSteps SampleReader::make(std::int64_t index, const SamplePlace& place,
                              const SampleMaker& maker, ReaderScratch& scratch) const {
  const base::SystemClock clock;
  double start = std::exchange(scratch.idle_since_s, ReaderScratch::kUnknown);
  if (start == ReaderScratch::kUnknown) start = clock.monotonic_s();
  const double decoded_before = scratch.transform.decode_seconds();
  scratch.transform.next_sample.advance();
  if (scratch.sample.bytes.capacity() > PixelBuffer::kMostKept) scratch.sample.bytes = {};
  // Who waits for the network leaves the slot to others.
  SlotLease* const lease = dataset_.reads_ahead() ? scratch.lease : nullptr;
  if (lease != nullptr) lease->leave();
  dataset_.get(index, scratch.sample);
  if (lease != nullptr) lease->take();
  scratch.transform.next_sample.advance();
  const double read = clock.monotonic_s();
  const DrawKey key{.seed = seed_,
                    .epoch = place.epoch,
                    .position = static_cast<std::uint64_t>(place.place),
                    .sample = static_cast<std::uint64_t>(index)};
  EraseSteps erased = maker.make(scratch.sample, key, scratch.transform, scratch.targets);
  check_label(maker, num_classes_, scratch.targets);
  scratch.transform.next_sample.advance();
  const double decode_s = scratch.transform.decode_seconds() - decoded_before;
  const double end = clock.monotonic_s();
  scratch.idle_since_s = end;
  scratch.times += {.read_s = read - start,
                    .decode_s = decode_s,
                    .transform_s = end - read - decode_s,
                    .samples = 1};
  return erased;
}

ReadSample SampleReader::read(std::int64_t index, const SamplePlace& place,
                              const SampleMaker& maker, ReaderScratch& scratch) const {
  ReadSample result;
  result.index = index;
  for (int bad_samples = 1;; ++bad_samples) {
    try {
      result.erased = make(result.index, place, maker, scratch);
      return result;
    } catch (const base::ConfigError& error) {  // what the recipe does to a good image
      throw base::ConfigError(describe_problem(dataset_, result.index, error.what()));
    } catch (const base::Error& error) {
      if (!is_of_sample(error)) throw;
      result.skipped.push_back(describe_problem(dataset_, result.index, error.what()));
    } catch (const std::bad_alloc&) {
      scratch.transform = TransformScratch();  // whose buffers may be what takes the memory
      result.skipped.push_back(
          describe_problem(dataset_, result.index, "there is not enough memory for it"));
    } catch (const std::exception& error) {
      result.skipped.push_back(describe_problem(dataset_, result.index, error.what()));
    }
    const std::string& message = result.skipped.back();
    if (on_error_ == OnError::kFail)
      throw base::DataError(message + "; mend or remove the file, or set data.on_error to skip");
    if (bad_samples == kMaxBadInARow)
      throw base::DataError(fmt::format(
          "data.on_error is skip, but {} samples in a row could not be read; the last one: {}",
          bad_samples, message));
    if (!sampler_) return result;
    result.index = sampler_->replacement(seed_, place.epoch, place.place, bad_samples);
  }
}

}  // namespace paceline::data
