#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/storage/read_ahead.h"

#include <cstdint>
#include <optional>
#include <span>

namespace paceline::data {

/// A data set whose samples are read from files, ahead of time where that is of use: it makes parts
/// of a read-ahead of the hints, which get() takes.
class FileDataset : public Dataset {
 public:
  bool reads_ahead() const final { return ahead().is_on(); }
  void will_read(std::span<const std::int64_t> indices) const final;
  void will_read_no_more() const final { ahead().forget(); }

 private:
  /// The read-ahead is the last member of the data set that owns it: its threads use the others.
  virtual ReadAhead& ahead() const = 0;
  /// What get(index) will take; nothing if it will need nothing.
  virtual std::optional<ReadAheadPart> part_of(std::int64_t index) const = 0;
};

}  // namespace paceline::data
