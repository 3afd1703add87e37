#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include "paceline/base/error.h"
#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <turbojpeg.h>

namespace paceline::data::jpeg {
namespace {

class LibjpegCrop : public testing::TestWithParam<JpegKind> {};

// It is the way of damaged files of the common kind, too.
TEST_P(LibjpegCrop, HasThePixelsOfAFullDecode) {
  const ImageSize size = {83, 109};
  const auto file = make_jpeg(size, GetParam(), 4);
  LibjpegDecoder decoder;
  PixelBuffer full_buffer;
  PixelBuffer crop_buffer;
  decoder.open(file);
  const PixelView full = decoder.decode(whole(size), full_buffer);
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const Box box = random_box(size, random);
    decoder.open(file);
    ASSERT_EQ(packed(decoder.decode(box, crop_buffer)), packed(full.part(box)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LibjpegCrop, testing::ValuesIn(common_jpeg_kinds()));

/// The same picture with its last scan so many times more.
std::vector<std::uint8_t> with_more_scans(const std::vector<std::uint8_t>& file, int more) {
  const std::vector<std::uint8_t> start_of_scan = {0xFF, 0xDA};
  const auto last =
      std::find_end(file.begin(), file.end(), start_of_scan.begin(), start_of_scan.end());
  const std::vector<std::uint8_t> scan(last, file.end() - 2);
  std::vector<std::uint8_t> many(file.begin(), last);
  for (int i = 0; i <= more; ++i) many.insert(many.end(), scan.begin(), scan.end());
  many.insert(many.end(), {0xFF, 0xD9});
  return many;
}

TEST(LibjpegDecoder, RefusesAFileOfTooManyScans) {
  const auto file = golden_image("progressive.jpg");
  LibjpegDecoder decoder;
  PixelBuffer buffer;
  const ImageSize size = decoder.open(file);
  decoder.decode(whole(size), buffer);
  const auto many = with_more_scans(file, 400);
  decoder.open(many);
  EXPECT_THAT(
      [&] { decoder.decode(whole(size), buffer); },
      ::testing::ThrowsMessage<base::DataError>(::testing::HasSubstr("more than 100 scans")));
}

TEST(LibjpegDecoder, RefusesManyScansOfALargeImage) {
  // One colour: its scans take few bytes, and passes over 36 million pixels all the same.
  const ImageSize size = {6000, 6000};
  tjhandle const encoder = tjInitCompress();
  const std::vector<std::uint8_t> pixels(std::size_t{6000} * 6000, 99);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  ASSERT_EQ(tjCompress2(encoder, pixels.data(), size.width, 0, size.height, TJPF_GRAY, &bytes,
                        &count, TJSAMP_GRAY, 80, TJFLAG_PROGRESSIVE),
            0);
  const std::vector<std::uint8_t> file(bytes, bytes + count);
  tjFree(bytes);
  tjDestroy(encoder);
  LibjpegDecoder decoder;
  PixelBuffer buffer;
  const Box corner{0, 0, 8, 8};
  decoder.open(file);
  EXPECT_EQ(decoder.decode(corner, buffer).row(0)[0], 99) << "as many as encoders make";
  const auto many = with_more_scans(file, 60);
  decoder.open(many);
  EXPECT_THAT([&] { decoder.decode(corner, buffer); },
              ::testing::ThrowsMessage<base::DataError>(::testing::AllOf(
                  ::testing::HasSubstr("36000000 pixels"), ::testing::HasSubstr("baseline"))));
}

TEST(LibjpegDecoder, RefusesCoefficientsThatTakeTooMuchMemory) {
  auto file = golden_image("progressive.jpg");
  const std::vector<std::uint8_t> start_of_frame = {0xFF, 0xC2};
  const auto frame =
      std::search(file.begin(), file.end(), start_of_frame.begin(), start_of_frame.end());
  ASSERT_NE(frame, file.end());
  const std::uint8_t side[] = {13'000 >> 8, 13'000 & 255};  // 13,000 x 13,000 pixels
  std::copy(side, side + 2, frame + 5);
  std::copy(side, side + 2, frame + 7);
  std::fill_n(frame + 11, 1, std::uint8_t{0x11});  // with whole colours
  LibjpegDecoder decoder;
  PixelBuffer buffer;
  EXPECT_EQ(decoder.open(file), (ImageSize{13'000, 13'000}));
  EXPECT_THAT(
      [&] {
        decoder.decode({0, 0, 8, 8}, buffer);
      },
      ::testing::ThrowsMessage<base::DataError>(
          ::testing::AllOf(::testing::HasSubstr("967 MiB"), ::testing::HasSubstr("at most 512 MiB"),
                           ::testing::HasSubstr("jpegtran"))));
}

}  // namespace
}  // namespace paceline::data::jpeg
