#pragma once

#include "paceline/data/dataset/field.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/plan.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What makes floats of images that come to the device as bytes.
struct BytePixels {
  NormalizeConfig normalization;
  bool channels_last = true;  ///< of the floats; the bytes always are
  bool erases = false;        ///< some of the normalised images may have to be erased in part
};

/// A field of all samples of a batch, one behind the other.
struct HostField {
  FieldSpec spec;
  std::shared_ptr<std::byte> memory;
  std::size_t bytes_of_sample = 0;

  /// Where that of sample `i` begins.
  std::byte* sample(std::int64_t i) const {
    return memory.get() + static_cast<std::size_t>(i) * bytes_of_sample;
  }
};

/// One rank's share of a batch in host memory.
struct HostBatch {
  std::vector<HostField> fields;
  std::vector<std::int64_t> indices;  ///< in the data set, for messages
  std::int64_t count = 0;             ///< samples of this rank; may be 0 in an epoch's last batch
  std::int64_t global_count = 0;      ///< samples of all ranks, as planned
  std::int64_t first_position = 0;    ///< of this rank's first sample in the epoch's order
  std::optional<BytePixels> byte_pixels;  ///< of kImagesField
  /// With byte_pixels that erase: of each sample, once it is normalised.
  std::vector<EraseSteps> erased;
  /// Samples that could not be read, each with what is wrong with it; in training others took
  /// their places, in evaluation they are missing.
  std::vector<std::string> skipped;

  /// Throws InternalError if there is no such field.
  const HostField& at(std::string_view name) const;
};

/// Bytes that `count` samples of these fields take, each field aligned to 64 bytes.
std::size_t batch_bytes(const std::vector<FieldSpec>& fields, std::int64_t count);

/// Room for `count` samples in memory of at least batch_bytes(), which the fields own.
std::vector<HostField> lay_out(const std::vector<FieldSpec>& fields, std::int64_t count,
                               const std::shared_ptr<void>& memory);

/// Leaves out the samples at `places`, which are sorted, and closes the gaps.
void remove_samples(HostBatch& batch, std::span<const std::int64_t> places);

}  // namespace paceline::data
