#pragma once

#include "paceline/base/file.h"
#include "paceline/base/sha256.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace paceline::pretrained {

/// A file that is being downloaded, under a name that nobody takes for the whole. What an earlier
/// process has left of it is gone on with. All throws FileError.
class PartialFile {
 public:
  /// Reads what is there, for its checksum.
  PartialFile(base::FileSystem& files, std::filesystem::path path);

  std::uint64_t size() const { return size_; }  ///< in bytes, so far
  void append(std::string_view bytes);
  /// Calls it with the size after each append().
  void watch(std::function<void(std::uint64_t size)> watcher) { watcher_ = std::move(watcher); }
  /// Throws away what is there.
  void restart();
  /// Of what is there, as 64 hexadecimal digits.
  std::string sha256() const { return sum_.hex_digest(); }
  /// What is there is the whole, and gets its name once it is on disk.
  void become(const std::filesystem::path& target);
  /// Removes it.
  void discard();

 private:
  base::FileSystem& files_;
  std::filesystem::path path_;
  std::unique_ptr<base::OutputFile> output_;
  std::uint64_t size_ = 0;
  base::Sha256Stream sum_;
  std::function<void(std::uint64_t size)> watcher_ = [](std::uint64_t) {};
};

/// The SHA-256 of a file, as 64 hexadecimal digits. Throws FileError.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace paceline::pretrained
