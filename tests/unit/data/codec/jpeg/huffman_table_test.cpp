#include "paceline/data/codec/jpeg/huffman_table.h"

#include "support/data/jpeg_images.h"

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

Header header_of(const JpegKind& kind) {
  Header header;
  EXPECT_TRUE(parse_header(make_jpeg({64, 64}, kind, 1), header));
  return header;
}

/// What the symbols of a table's index are, one at a time, until two or the end of a block
/// are taken or the next code is not within the index.
struct Reading {
  std::uint32_t step = progress::kUnknown;
  int num_symbols = 0;
  int last_value_bits = 0;
};

Reading read_symbols(const CodeFinder& finder, std::uint32_t bits) {
  constexpr int kMaxSymbols = 2;
  Reading reading;
  std::uint32_t places = 0;
  int length = 0;
  while (reading.num_symbols < kMaxSymbols && length < AcTable::kBits) {
    const int left = AcTable::kBits - length;
    const std::uint32_t prefix = (bits << (32 - left)) >> 16;
    const int code_length = finder.length(prefix);
    if (code_length == 0 || code_length > left) break;
    const unsigned symbol = finder.symbol(prefix, code_length);
    const bool is_end = symbol % 16 == 0 && symbol != 0xF0;
    length += code_length + static_cast<int>(symbol % 16);
    places += is_end ? 0 : symbol / 16 + 1;
    reading.step =
        places * progress::kPlace + static_cast<unsigned>(length) + (is_end ? progress::kEnded : 0);
    reading.last_value_bits = static_cast<int>(symbol % 16);
    ++reading.num_symbols;
    if (is_end) break;
  }
  return reading;
}

class AcTableOf : public testing::TestWithParam<bool> {};

TEST_P(AcTableOf, TakesTheSymbolsThatFit) {
  const Header header = header_of({.has_own_codes = GetParam()});
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
    const auto table = std::make_unique<AcTable>();
    ASSERT_TRUE(table->build(header.ac_codes[index]));
    int pairs = 0;
    for (std::uint32_t bits = 0; bits < table->steps.size(); ++bits) {
      const Reading expected = read_symbols(table->finder, bits);
      ASSERT_EQ(table->steps[bits], expected.step) << bits;
      ASSERT_EQ(table->last_num_bits[bits], expected.last_value_bits) << bits;
      pairs += expected.num_symbols == 2 ? 1 : 0;
    }
    EXPECT_GT(pairs, 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, AcTableOf, testing::Bool());

HuffmanCode code_of(std::initializer_list<int> counts) {
  HuffmanCode code;
  std::ranges::copy(counts, code.counts.begin());
  code.is_defined = true;
  return code;
}

TEST(CodeFinder, RefusesWhatLibjpegRefuses) {
  CodeFinder finder;
  EXPECT_TRUE(finder.build(code_of({1, 1})));
  EXPECT_TRUE(finder.build(code_of({})));
  EXPECT_FALSE(finder.build(code_of({2})));        // a code of ones only
  EXPECT_FALSE(finder.build(code_of({1, 2})));     // likewise
  EXPECT_FALSE(finder.build(code_of({0, 0, 9})));  // more codes than there is room for
}

TEST(CodeFinder, FindsNoCodeWhereThereIsNone) {
  CodeFinder finder;
  ASSERT_TRUE(finder.build(code_of({1, 1})));
  EXPECT_EQ(finder.length(0x7FFF), 1);
  EXPECT_EQ(finder.length(0x8000), 2);
  EXPECT_EQ(finder.length(0xC000), 0);
}

template <class Table>
bool can_build(std::uint8_t symbol) {
  HuffmanCode code = code_of({0, 2});
  code.symbols[1] = symbol;
  return std::make_unique<Table>()->build(code);
}

TEST(HuffmanTables, RefuseValuesOfMoreBitsThanThereCanBe) {
  EXPECT_TRUE(can_build<DcTable>(11));
  EXPECT_FALSE(can_build<DcTable>(12));
  EXPECT_FALSE(can_build<DcTable>(0x10));
  EXPECT_TRUE(can_build<AcTable>(0x2A));
  EXPECT_FALSE(can_build<AcTable>(0x2B));
}

TEST(TableCache, KeepsTheTablesOfTheLastCodes) {
  TableCache<DcTable> cache;
  const DcTable* first = cache.find(code_of({0, 1}));
  const DcTable* second = cache.find(code_of({0, 2}));
  EXPECT_NE(first, second);
  EXPECT_EQ(cache.find(code_of({0, 1})), first);
  EXPECT_EQ(cache.find(code_of({2})), nullptr);
  EXPECT_EQ(cache.find(code_of({2})), nullptr);
  for (int count = 1; count < 20; ++count) {
    const DcTable* table = cache.find(code_of({0, 0, 0, 0, 0, count}));
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->finder.limits[6], static_cast<std::uint32_t>(count) << 10);
  }
}

TEST(SignedValue, IsNegativeWithALeadingZero) {
  EXPECT_EQ(signed_value(0, 0), 0);
  EXPECT_EQ(signed_value(0, 1), -1);
  EXPECT_EQ(signed_value(1, 1), 1);
  EXPECT_EQ(signed_value(0, 3), -7);
  EXPECT_EQ(signed_value(3, 3), -4);
  EXPECT_EQ(signed_value(4, 3), 4);
}

}  // namespace
}  // namespace paceline::data::jpeg
