#include "paceline/loggers/new_part.h"

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

TEST(NewPartWriter, TakesEverySoManythStep) {
  NewPartWriter writer({.every = 2});
  for (std::int64_t step = 1; step <= 5; ++step) {
    Record record;
    record.at.step = step;
    writer.write(record);
  }
  EXPECT_EQ(writer.num_written(), 2);
}

TEST(NewPartWriter, IsMadeForARun) {
  EXPECT_EQ(make(NewPartConfig{}, SinkContext{})->name(), "new_part");
}

}  // namespace
}  // namespace paceline::loggers
