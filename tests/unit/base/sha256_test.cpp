#include "paceline/base/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

// The examples of FIPS 180-2, appendix B.
TEST(Sha256, HasThePublishedDigests) {
  Sha256Stream stream;
  EXPECT_EQ(stream.hex_digest(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  stream.update("a");
  stream.update("bc");
  EXPECT_EQ(stream.hex_digest(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256Stream longer;
  for (int i = 0; i < 1000; ++i) longer.update(std::string(1000, 'a'));
  EXPECT_EQ(longer.hex_digest(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, GoesOnAfterADigest) {
  Sha256Stream once;
  once.update("abc");
  Sha256Stream twice;
  twice.update("ab");
  twice.hex_digest();
  twice.update("c");
  EXPECT_EQ(once.hex_digest(), twice.hex_digest());
}

}  // namespace
}  // namespace paceline::base
