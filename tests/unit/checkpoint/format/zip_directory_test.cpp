#include "paceline/checkpoint/format/zip_directory.h"

#include "unit/checkpoint/messages.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::HasSubstr;

template <class T>
void put(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// A zip archive, spelled by hand; what is not usual is set before it is written.
struct ZipOf {
  struct Entry {
    std::string name;
    std::string content;
    std::uint16_t method = 0;
    std::uint32_t size_told = 0;    ///< if not that of the content
    std::int64_t header_told = -1;  ///< likewise
    std::string local_name = {};    ///< likewise
  };
  std::vector<Entry> entries;
  bool has_zip64 = false;
  std::string comment = {};

  std::string bytes() const {
    std::string file;
    std::string directory;
    for (const Entry& entry : entries) {
      const auto header = static_cast<std::uint32_t>(file.size());
      const auto size =
          entry.size_told ? entry.size_told : static_cast<std::uint32_t>(entry.content.size());
      put(file, std::uint32_t{0x04034b50});
      file.append(22, '\0');
      put(file, static_cast<std::uint16_t>(entry.name.size()));
      put(file, std::uint16_t{3});
      file += (entry.local_name.empty() ? entry.name : entry.local_name) + "pad" + entry.content;
      put(directory, std::uint32_t{0x02014b50});
      directory.append(4, '\0');
      put(directory, std::uint16_t{0});
      put(directory, entry.method);
      directory.append(8, '\0');
      for (int i = 0; i < 2; ++i) put(directory, has_zip64 ? 0xffffffffu : size);
      put(directory, static_cast<std::uint16_t>(entry.name.size()));
      put(directory, static_cast<std::uint16_t>(has_zip64 ? 28 : 0));
      directory.append(10, '\0');
      put(directory, has_zip64 ? 0xffffffffu
                               : static_cast<std::uint32_t>(
                                     entry.header_told >= 0 ? entry.header_told : header));
      directory += entry.name;
      if (!has_zip64) continue;
      put(directory, std::uint16_t{1});
      put(directory, std::uint16_t{24});
      for (const std::uint64_t wide :
           {std::uint64_t{size}, std::uint64_t{size}, std::uint64_t{header}})
        put(directory, wide);
    }
    const std::uint64_t begin = file.size();
    file += directory;
    if (has_zip64) add_end64(file, begin, directory.size());
    put(file, std::uint32_t{0x06054b50});
    file.append(6, '\0');
    put(file, static_cast<std::uint16_t>(has_zip64 ? 0xffff : entries.size()));
    put(file, has_zip64 ? 0xffffffffu : static_cast<std::uint32_t>(directory.size()));
    put(file, has_zip64 ? 0xffffffffu : static_cast<std::uint32_t>(begin));
    put(file, static_cast<std::uint16_t>(comment.size()));
    return file + comment;
  }

 private:
  void add_end64(std::string& file, std::uint64_t begin, std::uint64_t size) const {
    const std::uint64_t at = file.size();
    put(file, std::uint32_t{0x06064b50});
    file.append(28, '\0');
    put(file, std::uint64_t{entries.size()});
    put(file, size);
    put(file, begin);
    put(file, std::uint32_t{0x07064b50});
    put(file, std::uint32_t{0});
    put(file, at);
    put(file, std::uint32_t{1});
  }
};

std::map<std::string, std::string> contents_of(const std::string& file) {
  std::map<std::string, std::string> contents;
  for (const auto& [name, entry] : read_zip_directory(file, "file.zip"))
    contents[name] = file.substr(entry.bytes.begin, entry.bytes.size());
  return contents;
}

std::string refusal_of(const std::string& file) {
  const std::string message = message_of([&] { contents_of(file); });
  EXPECT_THAT(message, HasSubstr("file.zip"));
  return message;
}

const std::map<std::string, std::string> kTwo{{"a/one", "first"}, {"a/two", ""}};

TEST(ZipDirectory, TellsWhereContentsLie) {
  ZipOf zip{{{"a/one", "first"}, {"a/two", ""}}};
  EXPECT_EQ(contents_of(zip.bytes()), kTwo);
  zip.comment = "written by hand";
  EXPECT_EQ(contents_of(zip.bytes()), kTwo);
  zip.has_zip64 = true;
  EXPECT_EQ(contents_of(zip.bytes()), kTwo);
}

TEST(ZipDirectory, EveryTruncationIsAnError) {
  for (const bool has_zip64 : {false, true}) {
    const std::string whole = ZipOf{{{"a/one", "first"}}, has_zip64}.bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) refusal_of(whole.substr(0, size));
  }
}

TEST(ZipDirectory, CompressedEntriesAreTold) {
  const std::string file = ZipOf{{{"one", "first", 8}, {"two", "second"}}}.bytes();
  const auto entries = read_zip_directory(file, "file.zip");
  EXPECT_TRUE(entries.at("one").is_compressed);
  EXPECT_FALSE(entries.at("two").is_compressed);
}

TEST(ZipDirectory, WhatLiesIsRefused) {
  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first", 0, 6}}}.bytes()), HasSubstr("6 bytes"));
  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first", 0, 0, 1}}}.bytes()), HasSubstr("is not where"));
  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first", 0, 0, 1u << 30}}}.bytes()),
              HasSubstr("truncated"));
  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first", 0, 0, -1, "two"}}}.bytes()),
              HasSubstr("another name"));
  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first"}, {"one", "second"}}}.bytes()),
              HasSubstr("two entries named 'one'"));

  EXPECT_THAT(refusal_of(ZipOf{{{"one", "first", 0, 20}, {"two", "second"}}}.bytes()),
              HasSubstr("'one' and 'two' overlap"));
  std::string other_count = ZipOf{{{"one", "first"}}}.bytes();
  other_count[other_count.size() - 12] = 2;
  EXPECT_THAT(refusal_of(other_count), HasSubstr("1 entries, its end says 2"));
}

}  // namespace
}  // namespace paceline::checkpoint
