#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace paceline::data {

// A shard of the packed format, version 1, little-endian:
//
//   ShardHeader | the samples' payloads, one after another | padding to 8 bytes |
//   ShardRecord for each sample | the samples' names, one after another | ShardFooter
//
// What is needed to read any sample lies at the end, so that a shard is written in one pass and can
// be read by ranges from far away.

inline constexpr std::uint32_t kShardVersion = 1;
inline constexpr std::array<char, 8> kShardMagic = {'P', 'A', 'C', 'E', 'S', 'H', 'R', 'D'};

/// What the payload of a sample is.
enum class PayloadKind : std::uint8_t {
  kFile = 0,    ///< an image file, or what else ImageDecoder knows by its first bytes
  kPixels = 1,  ///< 8-bit RGB, row by row: height * width * 3 bytes
  kFields = 2,  ///< arrays, one after another, as the manifest says
};

struct ShardHeader {
  std::array<char, 8> magic = kShardMagic;
  std::uint32_t version = kShardVersion;
  std::uint32_t number = 0;  ///< of the shard in its set
  std::uint64_t plan = 0;    ///< hash of what the set is made of and how (PackPlan)
  std::array<std::uint8_t, 40> reserved = {};
};

struct ShardRecord {
  std::uint64_t offset = 0;  ///< of the payload in the file
  std::uint64_t hash = 0;    ///< XXH3 of the payload
  std::uint32_t size = 0;    ///< of the payload, in bytes
  std::uint32_t label = 0;
  std::uint32_t name_end = 0;  ///< in the names; it begins where the one before ends
  std::uint16_t width = 0;     ///< of the image, in pixels
  std::uint16_t height = 0;
  PayloadKind kind = PayloadKind::kFile;
  std::array<std::uint8_t, 7> reserved = {};
};

struct ShardFooter {
  std::uint64_t num_samples = 0;
  std::uint64_t records_offset = 0;
  std::uint64_t names_size = 0;
  std::uint64_t plan = 0;
  std::uint64_t tail_hash = 0;  ///< XXH3 of records and names
  std::uint32_t number = 0;
  std::uint32_t version = kShardVersion;
  std::array<char, 8> magic = kShardMagic;
};

static_assert(sizeof(ShardHeader) == 64 && std::is_trivially_copyable_v<ShardHeader>);
static_assert(sizeof(ShardRecord) == 40 && std::is_trivially_copyable_v<ShardRecord>);
static_assert(sizeof(ShardFooter) == 56 && std::is_trivially_copyable_v<ShardFooter>);

}  // namespace paceline::data
