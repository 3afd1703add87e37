#pragma once

#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/transforms/array_transform.h"

#include <cstddef>
#include <span>
#include <vector>

namespace paceline::data {

/// Samples of arrays as they are stored (Dataset::stored_fields()), moved by transforms of which
/// each draws once for all fields of a sample. A number `labels` of any integer type becomes int64
/// and is what the data set says of the sample.
class ArrayMaker final : public SampleMaker {
 public:
  /// Throws ConfigError for a transform that is for images alone, or does not suit the sizes.
  explicit ArrayMaker(std::vector<FieldSpec> stored,
                      const std::vector<TransformConfig>& transforms = {});

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  EraseSteps make(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
                  std::span<std::byte* const> targets) const override;

 private:
  std::vector<FieldSpec> stored_;
  std::vector<FieldSpec> fields_;
  ArrayTransforms transforms_;
};

}  // namespace paceline::data
