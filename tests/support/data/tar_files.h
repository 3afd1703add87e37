#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

namespace paceline::data {

/// Names and contents.
using TarContent = std::vector<std::pair<std::string, std::string>>;

/// Writes a tar by libarchive; `format` as libarchive calls it: ustar, gnutar, pax, v7tar. A name
/// that ends in '/' makes a folder.
inline std::filesystem::path write_tar(const std::filesystem::path& path, const TarContent& members,
                                       const std::string& format = "ustar") {
  std::filesystem::create_directories(path.parent_path());
  archive* const writer = archive_write_new();
  bool is_good = archive_write_set_format_by_name(writer, format.c_str()) == ARCHIVE_OK &&
                 archive_write_open_filename(writer, path.c_str()) == ARCHIVE_OK;
  for (const auto& [name, content] : members) {
    archive_entry* const header = archive_entry_new();
    archive_entry_set_pathname(header, name.c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(header, name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(header, 0644);
    is_good = is_good && archive_write_header(writer, header) == ARCHIVE_OK &&
              archive_write_data(writer, content.data(), content.size()) ==
                  static_cast<la_ssize_t>(content.size());
    archive_entry_free(header);
  }
  is_good = archive_write_close(writer) == ARCHIVE_OK && is_good;
  archive_write_free(writer);
  if (!is_good) throw std::runtime_error("cannot write " + path.string());
  return path;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The files of a folder, to be written as a tar.
inline TarContent folder_content(const std::filesystem::path& folder) {
  TarContent content;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    content.emplace_back(entry.path().filename().string(), read_text(entry.path()));
  }
  return content;
}

/// The bytes of a tar with these members.
inline std::string tar_bytes(const std::filesystem::path& scratch, const TarContent& members,
                             const std::string& format = "ustar") {
  return read_text(write_tar(scratch, members, format));
}

}  // namespace paceline::data
