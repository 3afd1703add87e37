#include "paceline/data/dataset/file_dataset.h"

#include <vector>

namespace paceline::data {

void FileDataset::will_read(std::span<const std::int64_t> indices) const {
  if (!ahead().is_on()) return;
  std::vector<ReadAheadPart> parts;
  for (const std::int64_t index : indices) {
    if (const auto part = part_of(index)) parts.push_back(*part);
  }
  ahead().expect(parts);
}

}  // namespace paceline::data
