#pragma once

#include "paceline/data/storage/input_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::data {

/// A regular file in a tar: its bytes are [offset, offset + size) of the file that holds the tar.
struct TarMember {
  std::string name;  ///< as stored, without "./" before it
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Lists the regular files of an uncompressed tar in their order, by hopping from header to header:
/// contents are not read (of remote files what lies between headers that are close together is,
/// since a round trip costs more). Knows the ustar, GNU, pax and V7 formats; links, folders and
/// devices are passed over. Checksums are verified; damage, truncation and sparse files throw
/// DataError with the file and the offset. The format: POSIX.1-2017, pax, "Extended description";
/// GNU tar manual, "Basic Tar Format". For compressed archives there is read_archive_members().
class TarReader {
 public:
  /// `file` must outlive the reader.
  explicit TarReader(const InputFile& file) : TarReader(file, 0, file.size()) {}
  /// A tar that is part of a file, as a member of another one is.
  TarReader(const InputFile& file, std::uint64_t offset, std::uint64_t size);

  /// The next regular file; false at the end of the archive.
  bool next(TarMember& member);
  /// The content of a member; cheapest of the one that next() gave last.
  std::string read(const TarMember& member);

  static constexpr std::size_t kBlockBytes = 512;

 private:
  struct Header;
  struct Extension;

  const Header& read_header();
  void verify(const Header& header) const;
  std::uint64_t body_size(const Header& header, const Extension& extension) const;
  void read_extension(const Header& header, Extension& extension);
  static std::string name_of(const Header& header, const Extension& extension);
  std::string read_extension_text(std::uint64_t size);
  void fill_buffer(std::uint64_t offset, std::uint64_t size);
  void skip(std::uint64_t body);
  std::uint64_t parse_number(const char* field, std::size_t width) const;
  void parse_pax(const std::string& records, Extension& extension) const;
  void parse_pax_record(const std::string& record, Extension& extension) const;
  [[noreturn]] void fail(const std::string& problem) const;

  const InputFile& file_;
  const bool is_remote_;
  std::uint64_t position_;      ///< of the next header
  std::uint64_t last_hop_ = 0;  ///< bytes between the last two headers
  std::uint64_t end_;
  std::uint64_t buffer_offset_ = 0;
  std::size_t buffer_size_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace paceline::data
