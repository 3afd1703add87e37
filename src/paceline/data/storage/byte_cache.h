#pragma once

#include "paceline/base/file.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace paceline::data {

/// Bytes in a folder of this machine, under keys, up to a total size; what was not used for longest
/// goes first. Any number of processes may share the folder: entries appear by renames, and nothing
/// is locked. Each entry is verified when it is read. Thread-safe.
///
/// The bound is kept for each of 64 parts of the folder, into which entries fall by their keys.
/// Each process looks at a part again after it has put a share of the room there, so that up to 16
/// of them keep the bound.
class ByteCache {
 public:
  ByteCache(std::filesystem::path folder, std::uint64_t max_bytes,
            std::shared_ptr<base::FileSystem> files = std::make_shared<base::RealFileSystem>());

  /// The smallest bound by which entries of this size are kept.
  static std::uint64_t least_room_for(std::uint64_t entry_bytes);

  /// Fills `target` with the entry of this key and size; false if there is none that is sound.
  bool get(std::string_view key, std::span<std::uint8_t> target) const;

  /// Keeps the bytes, unless they are more than a quarter of a part. Where the folder cannot be
  /// written it logs that once and keeps nothing from then on.
  void put(std::string_view key, std::span<const std::uint8_t> bytes);

 private:
  static constexpr std::size_t kParts = 64;
  struct Part {
    std::mutex mutex;
    std::int64_t room = 0;  ///< bytes until this process looks at the folder
  };

  std::filesystem::path folder_of(std::size_t part) const;
  /// Removes what is too much; gives the room for the next look.
  std::int64_t tidy(std::size_t part);

  std::filesystem::path folder_;
  std::int64_t part_bytes_;
  std::shared_ptr<base::FileSystem> files_;
  std::array<Part, kParts> parts_;
  std::atomic<bool> is_broken_ = false;
};

}  // namespace paceline::data
