#pragma once

#include "paceline/data/dataset.h"
#include "paceline/data/range_index.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::data {

/// Encoded images that lie as ranges of bytes in larger files, as tars hold them. The files are
/// opened when they are first read.
class RangeDataset final : public Dataset {
 public:
  /// Labels are numbers below the index's classes.
  explicit RangeDataset(RangeIndex index);
  ~RangeDataset() override;

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::string name(std::int64_t index) const override { return std::string(index_.name(index)); }
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override { return index_.fingerprint(); }

 private:
  class OpenFiles;

  RangeIndex index_;
  std::vector<std::string> classes_;
  std::unique_ptr<OpenFiles> files_;
};

}  // namespace paceline::data
