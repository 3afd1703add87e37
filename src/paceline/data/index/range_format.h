#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace paceline::data {

// The file of a RangeIndex: header, sources, checksums of blocks, samples, text (source paths,
// class names, what was left out and the fingerprint, then the samples' names on end).
struct RangeHeader {
  std::array<char, 8> magic{};
  std::uint64_t key = 0;
  std::uint64_t num_sources = 0;
  std::uint64_t num_samples = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t classes_offset = 0;  ///< in the text: class names, each followed by '\0'
  std::uint64_t left_out_offset = 0;
  std::uint64_t fingerprint_offset = 0;
  std::uint64_t names_offset = 0;
  std::uint64_t num_left_out = 0;
  std::uint64_t checksum = 0;  ///< of all but the samples and their names; stands last here
};

struct RangeSource {
  std::uint64_t size = 0;  ///< 0 of a folder
  std::int64_t changed = 0;
  std::uint64_t path_offset = 0;
  std::uint32_t path_length = 0;
  std::uint32_t is_folder = 0;
};

struct RangeSample {
  std::uint64_t offset = 0;  ///< of a whole file: its FileFacts::changed
  std::uint32_t size = 0;
  std::uint32_t source = 0;
  std::uint32_t label = 0;
  std::uint32_t name_end = 0;  ///< in the names; where the next one begins
};

inline constexpr std::array<char, 8> kRangeMagic = {'P', 'L', 'R', 'A', 'N', 'G', 'E', '3'};
inline constexpr std::size_t kBlockSamples = 1024;

inline std::size_t count_blocks(std::size_t num_samples) {
  return (num_samples + kBlockSamples - 1) / kBlockSamples;
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace paceline::data
