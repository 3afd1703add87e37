#include "paceline/checkpoint/format/zip_writer.h"

#include "paceline/checkpoint/format/zip_directory.h"

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

TEST(ZipWriter, WritesWhatTheDirectoryTells) {
  const base::TempDir dir;
  const auto path = dir.path() / "file.zip";
  const std::map<std::string, std::string> contents{
      {"a/empty", ""}, {"a/one", "first"}, {"a/longer_name", std::string(1000, 'x')}};
  base::RealFileSystem files;
  const auto file = files.create(path);
  ZipWriter writer(*file);
  for (const auto& [name, content] : contents) writer.add(name, content);
  writer.finish();
  file->close();
  const std::string bytes = base::read_file(path);
  const auto entries = read_zip_directory(bytes, path);
  ASSERT_EQ(entries.size(), contents.size());
  for (const auto& [name, entry] : entries) {
    EXPECT_EQ(entry.bytes.begin % ZipWriter::kAlignment, 0u) << name;
    EXPECT_EQ(bytes.substr(entry.bytes.begin, entry.bytes.size()), contents.at(name));
  }
}

TEST(ZipWriter, ChecksumsAreThoseOfZip) {
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);  // the CRC-32's check value
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414fa339u);
}

}  // namespace
}  // namespace paceline::checkpoint
