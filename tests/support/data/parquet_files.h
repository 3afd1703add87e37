#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

namespace paceline::data {

/// A row of listing.tsv, which make_parquet.py writes beside its files.
struct ListedRow {
  std::int64_t label = 0;
  std::string name;
  std::size_t size = 0;
  std::uint32_t crc32 = 0;

  friend bool operator==(const ListedRow&, const ListedRow&) = default;
};

template <class Bytes>
ListedRow listed_row(std::int64_t label, const std::string& name, const Bytes& image) {
  return {label, name, image.size(),
          static_cast<std::uint32_t>(crc32(0, image.data(), static_cast<uInt>(image.size())))};
}

/// The rows of each file.
inline std::map<std::string, std::vector<ListedRow>> read_listing(
    const std::filesystem::path& file) {
  std::map<std::string, std::vector<ListedRow>> listing;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream fields(line);
    std::string name;
    std::size_t row = 0;
    ListedRow listed;
    fields >> name >> row >> listed.label >> listed.name >> listed.size >> listed.crc32;
    if (!fields || listing[name].size() != row) throw std::runtime_error("bad line: " + line);
    listing[name].push_back(listed);
  }
  return listing;
}

}  // namespace paceline::data
