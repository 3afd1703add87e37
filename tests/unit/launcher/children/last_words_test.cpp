#include "paceline/launcher/children/last_words.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(LastWords, AreTheLastErrorOrElseTheLastLine) {
  EXPECT_EQ(last_words("a\nx: error: first\nx: error: second\n  and more\n\n"),
            "second\n  and more");
  EXPECT_EQ(last_words("a\nb\n"), "b");
  EXPECT_EQ(last_words("alone"), "alone");
  EXPECT_EQ(last_words("\n"), "");
}

}  // namespace
}  // namespace paceline::launcher
