#include "paceline/data/formats/inflate.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kZlib = 15;
constexpr int kGzip = 15 + 16;

std::vector<std::uint8_t> deflate_text(const std::string& text, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<std::uint8_t> bytes(deflateBound(&stream, text.size()));
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string inflate_text(std::span<const std::uint8_t> bytes, std::size_t max_bytes = 1 << 30) {
  const auto inflated = inflate_bytes(bytes, max_bytes, "the file");
  return {inflated.begin(), inflated.end()};
}

TEST(InflateBytes, TakesZlibAndGzip) {
  for (const std::string& text :
       {std::string(), std::string("short"), std::string(3'000'000, 'x') + "end"}) {
    EXPECT_EQ(inflate_text(deflate_text(text, kZlib)), text);
    EXPECT_EQ(inflate_text(deflate_text(text, kGzip)), text);
  }
}

TEST(InflateBytes, TakesSeveralMembers) {
  std::vector<std::uint8_t> bytes = deflate_text("one, ", kGzip);
  const std::vector<std::uint8_t> second = deflate_text("two", kGzip);
  bytes.insert(bytes.end(), second.begin(), second.end());
  EXPECT_EQ(inflate_text(bytes), "one, two");
}

TEST(InflateBytes, RefusesDamageTruncationAndBombs) {
  const std::vector<std::uint8_t> sound = deflate_text("some text that is long enough", kGzip);
  for (std::size_t size = 0; size < sound.size(); ++size) {
    EXPECT_THROW(inflate_text(std::span(sound).first(size)), base::DataError) << size;
  }
  std::vector<std::uint8_t> bytes = sound;
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT([&] { inflate_text(bytes); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("the file"), HasSubstr("damaged"))));
  EXPECT_THAT([&] { inflate_text(deflate_text(std::string(5'000'000, 'x'), kZlib), 1'000'000); },
              ThrowsMessage<base::DataError>(HasSubstr("more than 1000000 bytes")));
}

}  // namespace
}  // namespace paceline::data
