#include "paceline/data/index/range_index_builder.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "support/temp_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RangeIndexBuilding : public ::testing::Test {
 protected:
  RangeIndexBuilding() { folder_.write("a.tar", "0123456789"); }
  TempFolder folder_;
};

TEST_F(RangeIndexBuilding, FingerprintFollowsNamesSizesLabelsClassesAndOrder) {
  const auto of = [&](std::uint64_t size, int label, const char* name, const char* class_name) {
    RangeIndexBuilder builder(folder_.path(), "");
    builder.add(builder.add_source("a.tar"), 0, size, label, name);
    return builder.finish({class_name}).fingerprint();
  };
  const std::string first = of(5, 0, "a", "c");
  EXPECT_EQ(of(5, 0, "a", "c"), first);
  EXPECT_NE(of(6, 0, "a", "c"), first);
  EXPECT_NE(of(5, 1, "a", "c"), first);
  EXPECT_NE(of(5, 0, "b", "c"), first);
  EXPECT_NE(of(5, 0, "a", "d"), first);
}

TEST_F(RangeIndexBuilding, RefusesWhatItCannotHold) {
  RangeIndexBuilder builder(folder_.path(), "");
  EXPECT_THROW(builder.add(0, 0, std::uint64_t{1} << 32, 0, "giant"), base::DataError);
  EXPECT_THAT([&] { builder.add_source("absent.tar"); },
              ThrowsMessage<base::DataError>(HasSubstr("absent.tar: no such file")));
}

// What runs have saved: it must stay what it is.
TEST_F(RangeIndexBuilding, FingerprintIsThatOfNamesSizesLabelsAndClasses) {
  RangeIndexBuilder builder(folder_.path(), "");
  const std::uint32_t source = builder.add_source("a.tar");
  builder.add(source, 3, 5, 1, "one.jpg");
  builder.add(source, 8, 2, 0, "two.jpg");
  const std::string classes("x\0y\0", 4);
  EXPECT_EQ(builder.finish({"x", "y"}).fingerprint(),
            fmt::format("ranges:2:{:016x}", base::xxh3("one.jpg\n5 1\ntwo.jpg\n2 0\n" + classes)));
}

TEST_F(RangeIndexBuilding, KeepsWhatIsGiven) {
  RangeIndexBuilder builder(folder_.path(), "");
  const std::uint32_t source = builder.add_source("far", {.is_folder = true, .changed = 7});
  builder.add_file(source, {.size = 3, .changed = -5}, 0, "in/1.jpg");
  builder.add_file(source, {.size = std::uint64_t{1} << 33}, 0, "giant.jpg");
  const RangeIndex index = builder.finish({"a"}, {2, "", "x, y"}, "mine");
  EXPECT_EQ(index.fingerprint(), "mine");
  EXPECT_EQ(index.left_out().count, 2);
  EXPECT_EQ(index.left_out().folder, folder_.path().string());
  EXPECT_EQ(index.left_out().first, "x, y");
  EXPECT_EQ(index.source_facts(source), (FileFacts{.is_folder = true, .changed = 7}));
  EXPECT_EQ(index.range(0).offset, 0u);
  EXPECT_EQ(index.facts(0), (FileFacts{.size = 3, .changed = -5}));
  EXPECT_EQ(index.facts(1).size, 0xffffffffu);
}

}  // namespace
}  // namespace paceline::data
