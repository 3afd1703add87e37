#pragma once

#include "paceline/data/dataset/file_dataset.h"
#include "paceline/data/index/open_sources.h"
#include "paceline/data/index/range_index.h"
#include "paceline/data/storage/read_ahead.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

/// Encoded images that lie as ranges of bytes in larger files, as tars hold them, or are whole
/// files. The larger files are opened when they are first read.
class RangeDataset final : public FileDataset {
 public:
  /// Labels are numbers below the index's classes.
  explicit RangeDataset(RangeIndex index, std::shared_ptr<const Storage> storage = local_storage());
  ~RangeDataset() override;
  RangeDataset(const RangeDataset&) = delete;
  RangeDataset& operator=(const RangeDataset&) = delete;

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::string name(std::int64_t index) const override { return std::string(index_.name(index)); }
  std::string describe(std::int64_t index) const override;
  LeftOut left_out() const override { return index_.left_out(); }
  std::string fingerprint() const override { return index_.fingerprint(); }

 private:
  ReadAhead& ahead() const override { return *read_ahead_; }
  std::optional<ReadAheadPart> part_of(std::int64_t index) const override;
  std::string path_of(std::int64_t index, std::uint32_t source) const;
  std::shared_ptr<const InputFile> open(std::int64_t index, std::uint32_t source) const;

  RangeIndex index_;
  std::vector<std::string> classes_;
  std::shared_ptr<const Storage> storage_;
  mutable OpenSources<InputFile> files_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

}  // namespace paceline::data
