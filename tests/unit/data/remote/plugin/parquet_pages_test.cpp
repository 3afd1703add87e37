#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/remote/remote_plugin.h"
#include "support/data/mutations.h"
#include "support/data/parquet_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::filesystem::path parquet_page_file(const std::string& name) {
  return std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet" / name;
}

/// A file's listing, and its rows as they are read from whole pages and one by one.
struct PagesOfFile {
  ParquetListing listing;
  std::vector<ListedRow> rows;
  std::vector<ListedRow> single_rows;  ///< of pages with places

  explicit PagesOfFile(const std::string& path) {
    const auto file = std::make_shared<const LocalFile>(path);
    listing = load_remote_plugin().list_parquet(file, {"image", "label"});
    const auto images = load_remote_plugin().open_parquet(file, "image");
    std::vector<std::uint8_t> bytes;
    for (const ParquetPage& page : listing.pages) {
      const DecodedParquetPage decoded = images->decode(*file, page.offset, page.size);
      for (const auto value : decoded.values) rows.push_back(listed_row(0, "", value));
      for (std::size_t i = 0; decoded.places != nullptr && i < decoded.values.size(); ++i) {
        const ParquetStretch stretch = images->stretch_of(*decoded.places, i);
        bytes.resize(stretch.size);
        file->read(stretch.offset, bytes);
        images->unpack(*decoded.places, i, bytes);
        single_rows.push_back(listed_row(0, "", bytes));
      }
    }
  }
};

std::vector<ListedRow> listed_images(const std::string& name) {
  std::vector<ListedRow> rows = read_listing(parquet_page_file("listing.tsv")).at(name);
  for (ListedRow& row : rows) row = {0, "", row.size, row.crc32};
  return rows;
}

// Which forms can be read by single images.
TEST(ParquetPages, ReadsSingleImagesWhereItCan) {
  for (const char* name :
       {"none.parquet", "none_v2_index.parquet", "snappy.parquet", "snappy_v2_index.parquet",
        "dictionary.parquet", "fallback.parquet", "fallback_index.parquet", "fragments.parquet",
        "fragments_dictionary.parquet", "fragments_v2.parquet"}) {
    const PagesOfFile file(parquet_page_file(name));
    EXPECT_EQ(file.rows, listed_images(name)) << name;
    EXPECT_EQ(file.single_rows, listed_images(name)) << name;
  }
  for (const char* name : {"zstd.parquet", "gzip_v2_index.parquet", "lz4.parquet",
                           "delta_byte_array.parquet", "delta_length_byte_array.parquet"}) {
    const PagesOfFile file(parquet_page_file(name));
    EXPECT_EQ(file.rows, listed_images(name)) << name;
    EXPECT_TRUE(file.single_rows.empty()) << name;
  }
}

// The walk over headers gives what the file's own index does.
TEST(ParquetPages, AreFoundWithAndWithoutAnIndex) {
  const PagesOfFile walked(parquet_page_file("fallback.parquet"));
  const PagesOfFile indexed(parquet_page_file("fallback_index.parquet"));
  ASSERT_EQ(walked.listing.pages.size(), indexed.listing.pages.size());
  EXPECT_GT(walked.listing.pages.size(), 2u);
  // Headers are shorter in files with an index, so the pages lie elsewhere.
  for (std::size_t i = 0; i < walked.listing.pages.size(); ++i)
    EXPECT_EQ(walked.listing.pages[i].num_rows, indexed.listing.pages[i].num_rows);
}

TEST(ParquetPages, AreCheckedWhereTheFileHasChecksums) {
  const MemoryFile memory;
  std::string bytes = base::read_file(parquet_page_file("checksums.parquet"));
  EXPECT_EQ(PagesOfFile(memory.write(bytes)).rows, listed_images("checksums.parquet"));
  bytes[500] = static_cast<char>(bytes[500] ^ 1);  // within an image
  EXPECT_THAT([&] { PagesOfFile(memory.write(bytes)); },
              testing::ThrowsMessage<base::DataError>(testing::HasSubstr("CRC")));
}

TEST(ParquetPagesFuzz, GiveADataErrorAtWorst) {
  const MemoryFile memory;
  const std::vector<std::string> names = {"dictionary.parquet",      "fallback_index.parquet",
                                          "snappy_v2_index.parquet", "zstd.parquet",
                                          "huggingface.parquet",     "delta_byte_array.parquet"};
  std::vector<std::string> sound;
  for (const std::string& name : names) sound.push_back(base::read_file(parquet_page_file(name)));
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = sound[random() % sound.size()];
    mutate(bytes, random);
    try {
      const PagesOfFile file(memory.write(bytes));
      ASSERT_LE(file.rows.size(), 100u);
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

}  // namespace
}  // namespace paceline::data
