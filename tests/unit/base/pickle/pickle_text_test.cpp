#include "paceline/base/pickle/pickle_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

TEST(PickleText, UnquotesWhatPythonQuotes) {
  EXPECT_EQ(unquote_python(R"('a\n\x41\\\'')"), "a\nA\\'");
  EXPECT_EQ(unquote_python(R"("it's")"), "it's");
  for (const char* wrong : {"", "'", "a", "'a\"", R"('\q')", R"('\x4')", R"('\')"})
    EXPECT_EQ(unquote_python(wrong), std::nullopt) << wrong;
}

TEST(PickleText, DecodesRawUnicode) {
  EXPECT_EQ(decode_raw_unicode("k\xe4se \\u20ac \\U0001f600 \\n"),
            "k\u00e4se \u20ac \U0001f600 \\n");
  for (const char* wrong : {"\\u20a", "\\u20ag", "\\U00110000"})
    EXPECT_EQ(decode_raw_unicode(wrong), std::nullopt) << wrong;
}

TEST(PickleText, EncodesLatin1) {
  EXPECT_EQ(encode_latin1("k\u00e4se"), "k\xe4se");
  EXPECT_EQ(encode_latin1("\u20ac"), std::nullopt);
  EXPECT_EQ(encode_latin1("\xc3"), std::nullopt);
}

TEST(PickleText, ParsesIntegersOfUpTo64Bits) {
  EXPECT_EQ(parse_decimal("-70000L"), -70000);
  EXPECT_EQ(parse_decimal("01"), 1);
  EXPECT_EQ(parse_decimal("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* wrong : {"", "L", "9223372036854775808", "7x"})
    EXPECT_EQ(parse_decimal(wrong), std::nullopt) << wrong;
  EXPECT_EQ(parse_little_endian(std::string_view("\x00\x01", 2)), 256);
  EXPECT_EQ(parse_little_endian("\xff"), -1);
  EXPECT_EQ(parse_little_endian(""), 0);
  EXPECT_EQ(parse_little_endian("123456789"), std::nullopt);
}

}  // namespace
}  // namespace paceline::base
