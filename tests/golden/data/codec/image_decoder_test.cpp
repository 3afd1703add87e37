#include "paceline/data/codec/image_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// One line of pixels.tsv; without a hash, Pillow refuses the file.
struct OddFile {
  std::string name;
  ImageSize size;
  std::string hash;
};

std::vector<OddFile> read_odd_files() {
  std::ifstream table(PACELINE_GOLDEN_DIR "/codec/pixels.tsv");
  std::vector<OddFile> files;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    OddFile file;
    words >> file.name >> file.size.height >> file.size.width >> file.hash;
    files.push_back(file);
  }
  return files;
}

/// As make_odd_files.py has it.
std::string hash_of_pixels(const std::vector<std::uint8_t>& pixels) {
  std::uint64_t hash = 0;
  for (const std::uint8_t value : pixels) hash = hash * 0x9E3779B97F4A7C15ull + value + 1;
  return fmt::format("{:016x}", hash);
}

TEST(ImageDecoderGolden, DecodesOddFilesAsPillowDoes) {
  const std::vector<OddFile> files = read_odd_files();
  ASSERT_GT(files.size(), 35u);
  ImageDecoder decoder;
  PixelBuffer buffer;
  PixelBuffer part_buffer;
  std::mt19937 random(9);
  for (const OddFile& file : files) {
    SCOPED_TRACE(file.name);
    const auto bytes = read_bytes(PACELINE_GOLDEN_DIR "/codec/images/" + file.name);
    if (file.hash.empty()) {
      EXPECT_THROW(decoder.decode(whole(decoder.open(bytes)), buffer), base::DataError);
      continue;
    }
    ASSERT_EQ(decoder.open(bytes), file.size);
    const PixelView image = decoder.decode(whole(file.size), buffer);
    EXPECT_EQ(hash_of_pixels(packed(image)), file.hash);
    for (int i = 0; i < 20; ++i) {
      const Box box = random_box(file.size, random);
      decoder.open(bytes);
      ASSERT_EQ(packed(decoder.decode(box, part_buffer)), packed(image.part(box)));
    }
  }
}

}  // namespace
}  // namespace paceline::data
