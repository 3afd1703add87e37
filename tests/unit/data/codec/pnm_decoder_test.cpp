#include "paceline/data/codec/pnm_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(PnmDecoder, ScalesTextToBytes) {
  PixelBuffer buffer;
  EXPECT_EQ(packed(decode_pnm(bytes_of("P2 #x\n2 1\n3\n0 1"), buffer)),
            (std::vector<std::uint8_t>{0, 0, 0, 85, 85, 85}));
}

TEST(PnmDecoder, NamesWhatItCannotRead) {
  PixelBuffer buffer;
  const auto refuses = [&](const std::string& text, const char* problem) {
    EXPECT_THAT([&] { decode_pnm(bytes_of(text), buffer); },
                ThrowsMessage<base::DataError>(HasSubstr(problem)))
        << text;
  };
  refuses("P5 1 1 65535\nxx", "values up to 65535");
  refuses("P5 1 1 0\nx", "largest value is 0");
  refuses("P5 1\n", "a number is missing");
  refuses("P6 2 2 255\ntoo few", "truncated");
  refuses("P2 1 1 10\n11", "larger than its largest");
  refuses("P5 1000000 1000000 255\n", "image of 1000000 x 1000000");
  refuses("P5 12345678901 1 255\n", "more than nine digits");
}

}  // namespace
}  // namespace paceline::data
