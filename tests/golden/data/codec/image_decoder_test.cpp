#include "paceline/data/codec/image_decoder.h"

#include "paceline/base/error.h"
#include "support/data/mutations.h"
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

std::vector<OddFile> read_odd_files(const std::string& name) {
  std::ifstream table(PACELINE_GOLDEN_DIR "/codec/" + name);
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
  const std::vector<OddFile> files = read_odd_files("pixels.tsv");
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

TEST(ImageDecoderGolden, DecodesOtherFormatsAsPillowDoes) {
  const std::vector<OddFile> files = read_odd_files("other_formats.tsv");
  ASSERT_GT(files.size(), 30u);
  ImageDecoder decoder;
  PixelBuffer buffer;
  for (const OddFile& file : files) {
    const auto bytes = other_format(file.name);
    ASSERT_EQ(decoder.open(bytes), file.size) << file.name;
    const PixelView image = decoder.decode(whole(file.size), buffer);
    EXPECT_EQ(hash_of_pixels(packed(image)), file.hash) << file.name;
  }
}

TEST(ImageDecoderGolden, EveryTruncationOfOtherFormatsIsAnErrorOrTheSamePixels) {
  ImageDecoder decoder;
  PixelBuffer buffer;
  for (const OddFile& file : read_odd_files("other_formats.tsv")) {
    const auto bytes = other_format(file.name);
    int same = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto part = std::span(bytes).first(size);
      try {
        ASSERT_EQ(decoder.open(part), file.size) << file.name;
        same += hash_of_pixels(packed(decoder.decode(whole(file.size), buffer))) == file.hash;
      } catch (const base::DataError&) {
      }
    }
    EXPECT_LE(same, 60) << file.name << ": what follows the pixels may be missing, little else";
  }
}

TEST(ImageDecoderGoldenFuzz, DamagedOtherFormatsAreDecodedOrRefused) {
  ImageDecoder decoder;
  PixelBuffer buffer;
  const std::vector<OddFile> files = read_odd_files("other_formats.tsv");
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    const auto sound = other_format(files[random() % files.size()].name);
    std::string bytes(sound.begin(), sound.end());
    mutate(bytes, random);
    const std::vector<std::uint8_t> damaged(bytes.begin(), bytes.end());
    try {
      const ImageSize size = decoder.open(damaged);
      if (std::int64_t{size.height} * size.width <= 1'000'000)
        packed(decoder.decode(whole(size), buffer));
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

// Parts, too: no more of a turned file is decoded than of another.
TEST(ImageDecoderGolden, TurnsImagesAsPillowDoes) {
  const std::vector<OddFile> files = read_odd_files("orientations.tsv");
  ASSERT_EQ(files.size(), 21u);
  ImageDecoder decoder;
  PixelBuffer buffer;
  PixelBuffer part_buffer;
  std::mt19937 random(11);
  for (const OddFile& file : files) {
    SCOPED_TRACE(file.name);
    const auto bytes = read_bytes(PACELINE_GOLDEN_DIR "/codec/orientations/" + file.name);
    ASSERT_EQ(decoder.open(bytes, ExifRule::kApply), file.size);
    const PixelView image = decoder.decode(whole(file.size), buffer);
    EXPECT_EQ(hash_of_pixels(packed(image)), file.hash);
    for (int i = 0; i < 20; ++i) {
      const Box box = random_box(file.size, random);
      decoder.open(bytes, ExifRule::kApply);
      ASSERT_EQ(packed(decoder.decode(box, part_buffer)), packed(image.part(box)));
    }
  }
}

}  // namespace
}  // namespace paceline::data
