#include "paceline/data/codec/jpeg/scan_decoder.h"

#include "support/data/jpeg_images.h"

#include <cstring>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

/// All coefficients of a file by libjpeg, as long as the object lives.
class LibjpegCoefficients {
 public:
  explicit LibjpegCoefficients(const std::vector<std::uint8_t>& file) {
    decoder_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&decoder_);
    jpeg_mem_src(&decoder_, file.data(), file.size());
    jpeg_read_header(&decoder_, TRUE);
    arrays_ = jpeg_read_coefficients(&decoder_);
  }
  ~LibjpegCoefficients() { jpeg_destroy_decompress(&decoder_); }
  LibjpegCoefficients(const LibjpegCoefficients&) = delete;
  LibjpegCoefficients& operator=(const LibjpegCoefficients&) = delete;

  const JCOEF* block(std::size_t component, int row, int column) {
    const auto any = reinterpret_cast<j_common_ptr>(&decoder_);
    return (*decoder_.mem->access_virt_barray)(any, arrays_[component],
                                               static_cast<JDIMENSION>(row), 1, FALSE)[0][column];
  }

 private:
  jpeg_decompress_struct decoder_{};
  jpeg_error_mgr errors_{};
  jvirt_barray_ptr* arrays_ = nullptr;
};

/// Where a block's last coefficient other than zero is followed by zeros only, in zigzag order.
int end_of(const std::int16_t* values) {
  int end = kBlockSize;
  while (end > 1 && values[kZigzag[static_cast<std::size_t>(end - 1)]] == 0) --end;
  return end;
}

/// Compares the row's blocks with libjpeg's.
void expect_equal(CoefficientRow& row, const Header& header, int mcu_row,
                  LibjpegCoefficients& expected) {
  for (std::size_t i = 0; i < header.num_components; ++i) {
    const Component& component = header.components[i];
    for (int line = 0; line < component.rows; ++line) {
      for (int x = 0; x < row.line_length(i); ++x) {
        const Block& block = row.line(i, line)[x];
        const JCOEF* wanted = expected.block(i, mcu_row * component.rows + line,
                                             row.first_column() * component.columns + x);
        ASSERT_EQ(std::memcmp(block.values, wanted, sizeof(JBLOCK)), 0)
            << "component " << i << " MCU row " << mcu_row << " line " << line << " block " << x;
        ASSERT_GE(block.end, end_of(block.values));
      }
    }
  }
}

class ScanOf : public testing::TestWithParam<JpegKind> {
 protected:
  void SetUp() override {
    file_ = make_jpeg({75, 131}, GetParam(), 3);
    ASSERT_TRUE(parse_header(file_, header_));
    ASSERT_TRUE(decoder_.start(header_, file_));
  }

  std::vector<std::uint8_t> file_;
  Header header_;
  ScanDecoder decoder_;
};

TEST_P(ScanOf, HasLibjpegsCoefficients) {
  LibjpegCoefficients expected(file_);
  CoefficientRow row;
  row.resize(header_, 0, header_.mcu_columns());
  for (int y = 0; y < header_.mcu_rows(); ++y) {
    ASSERT_TRUE(decoder_.read(y, row));
    expect_equal(row, header_, y, expected);
  }
  EXPECT_EQ(decoder_.next_mcu(), header_.mcu_rows() * header_.mcu_columns());
}

TEST_P(ScanOf, PassesOverWhatIsNotWanted) {
  LibjpegCoefficients expected(file_);
  CoefficientRow row;
  std::mt19937 random(5);
  for (int i = 0; i < 30; ++i) {
    const int first = static_cast<int>(random() % static_cast<unsigned>(header_.mcu_columns()));
    row.resize(
        header_, first,
        1 + static_cast<int>(random() % static_cast<unsigned>(header_.mcu_columns() - first)));
    ASSERT_TRUE(decoder_.start(header_, file_));
    for (int y = static_cast<int>(random() % 3); y < header_.mcu_rows();
         y += 1 + static_cast<int>(random() % 3)) {
      ASSERT_TRUE(decoder_.read(y, row));
      expect_equal(row, header_, y, expected);
    }
  }
}

TEST_P(ScanOf, CanStartAtAnyMcu) {
  const int count = header_.mcu_rows() * header_.mcu_columns();
  std::vector<EntryPoint> entries;
  for (int mcu = 0; mcu < count; ++mcu) {
    entries.push_back(decoder_.position());
    ASSERT_TRUE(decoder_.skip(1));
  }
  const EntryPoint end = decoder_.position();
  EXPECT_EQ(file_[(end.bit + 7) / 8], 0xFF);
  EXPECT_EQ(file_[(end.bit + 7) / 8 + 1], 0xD9);

  entries.push_back(end);

  LibjpegCoefficients expected(file_);
  CoefficientRow row;
  for (int mcu = 0; mcu < count; ++mcu) {
    const int column = mcu % header_.mcu_columns();
    const int num_mcus = std::min(2, header_.mcu_columns() - column);
    const EntryPoint& entry = entries[static_cast<std::size_t>(mcu)];
    row.resize(header_, column, num_mcus);
    for (const EntryPoint* last :
         {&entries[static_cast<std::size_t>(mcu + num_mcus)], static_cast<EntryPoint*>(nullptr)}) {
      ASSERT_TRUE(decoder_.seek(mcu, entry, last));
      EXPECT_EQ(decoder_.position(), entry);
      ASSERT_TRUE(decoder_.decode(row));
      expect_equal(row, header_, mcu / header_.mcu_columns(), expected);
    }
  }
}

TEST_P(ScanOf, EndsWithItsData) {
  ASSERT_TRUE(decoder_.skip(header_.mcu_rows() * header_.mcu_columns()));
  EXPECT_FALSE(decoder_.skip(40));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScanOf, testing::ValuesIn(common_jpeg_kinds()));

TEST(ScanDecoder, RefusesEntryPointsOutsideOfTheData) {
  const auto file = make_jpeg({20, 20}, {}, 1);
  Header header;
  ASSERT_TRUE(parse_header(file, header));
  ScanDecoder decoder;
  ASSERT_TRUE(decoder.start(header, file));
  EXPECT_FALSE(decoder.seek(0, {.bit = 8 * header.scan_begin - 1}));
  EXPECT_FALSE(decoder.seek(0, {.bit = 8 * file.size()}));
  EXPECT_FALSE(decoder.seek(9, {.bit = 8 * header.scan_begin}));
  EXPECT_FALSE(decoder.seek(-1, {.bit = 8 * header.scan_begin}));
  EXPECT_TRUE(decoder.seek(0, {.bit = 8 * header.scan_begin}));
}

}  // namespace
}  // namespace paceline::data::jpeg
