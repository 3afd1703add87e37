#include "paceline/data/archive_reader.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;

void write_tar_gz(const std::filesystem::path& path) {
  archive* const writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_pax_restricted(writer);
  ASSERT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK);
  for (const std::string name : {"top/one", "top/deep/two", "three"}) {
    const std::string content = "content of " + name + std::string(3'000'000, 'x');
    archive_entry* const header = archive_entry_new();
    archive_entry_set_pathname(header, name.c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(header, AE_IFREG);
    archive_write_header(writer, header);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(header);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

TEST(ReadArchiveMembers, GivesThoseAskedForByBaseName) {
  const TempFolder folder;
  write_tar_gz(folder.path() / "a.tar.gz");
  const auto members = read_archive_members(folder.path() / "a.tar.gz", {"two", "three", "four"});
  ASSERT_EQ(members.size(), 2u);
  const auto& two = members.at("two");
  EXPECT_EQ(std::string(two.begin(), two.begin() + 23), "content of top/deep/two");
  EXPECT_EQ(two.size(), 3'000'023u);
}

TEST(ReadArchiveMembers, NamesADamagedOrMissingArchive) {
  const TempFolder folder;
  for (const char* name : {"text.tar.gz", "absent.tar.gz"}) {
    if (std::string(name) == "text.tar.gz") folder.write(name, "no archive");
    try {
      read_archive_members(folder.path() / name, {"a"});
      FAIL();
    } catch (const base::DataError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
    }
  }
}

}  // namespace
}  // namespace paceline::data
