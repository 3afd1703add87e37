#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

struct gzFile_s;

namespace paceline::data {

/// The bytes of a file from its start on, unpacked if it is gzipped. For one thread.
class GzipInput {
 public:
  /// `name` stands for the file in messages. Throws DataError if it cannot be opened.
  GzipInput(const std::filesystem::path& path, std::string name);

  /// Fills `bytes`; throws DataError if the file is damaged or holds fewer.
  void read(std::span<std::uint8_t> bytes);
  void skip(std::uint64_t count);
  /// Reads what is left, so that the checksum at the end of a gzipped file is looked at.
  void finish();
  /// More bytes than this the file cannot hold, whatever a header says.
  std::uint64_t most_bytes() const { return most_bytes_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  std::size_t read_some(std::span<std::uint8_t> bytes);

  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::uint64_t most_bytes_ = 0;
};

}  // namespace paceline::data
