#include "paceline/checkpoint/bulk_copy.h"

#include <cstddef>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

TEST(BulkCopy, CopiesExactlyWhatItWasTold) {
  std::string from(5'000'000, '\0');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31 + i / 251);
  struct Range {
    std::size_t to, from, size;
  };
  const Range ranges[] = {
      {0, 7, 0},       {1, 0, 1},       {5, 9, 63},     {101, 3, 200},
      {1003, 64, 128}, {2048, 1, 4096}, {7000, 11, 65}, {100'001, 500, 4'500'000}};
  std::string to(from.size(), 'x');
  std::string expected = to;
  BulkCopy copies;
  for (const Range& range : ranges) {
    copies.add(to.data() + range.to, from.data() + range.from, range.size);
    expected.replace(range.to, range.size, from, range.from, range.size);
  }
  copies.run();
  EXPECT_TRUE(to == expected);
  from.assign(from.size(), 'y');
  copies.run();
  EXPECT_TRUE(to == expected) << "what was done is forgotten";
}

}  // namespace
}  // namespace paceline::checkpoint
