#include "paceline/dataset_tools/prepare/md5.h"

#include <string_view>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// RFC 1321, appendix A.5.
TEST(Md5, HasTheValuesOfItsStandard) {
  Md5 md5;
  EXPECT_EQ(md5.finish(), "d41d8cd98f00b204e9800998ecf8427e");
  md5.update(bytes_of("message digest"));
  EXPECT_EQ(md5.finish(), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(Md5, TakesPieces) {
  Md5 md5;
  for (const char* piece : {"1234567890123456789012345678901234567890123456789012345", "", "678901",
                            "2345678901234567890"})
    md5.update(bytes_of(piece));
  EXPECT_EQ(md5.finish(), "57edf4a22be3c955ac49da2e2107b67a");
}

}  // namespace
}  // namespace paceline::dataset_tools
