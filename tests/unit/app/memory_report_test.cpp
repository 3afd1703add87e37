#include "paceline/app/memory_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;

MemoryEstimate example() {
  MemoryEstimate estimate{.strategy = ParallelStrategy::kFsdp,
                          .parameters = 1024,
                          .gradients = 512,
                          .optimizer = 2048,
                          .activations = 3 << 20};
  estimate.batches.global_batch_size = 24;
  estimate.batches.world_size = 2;
  estimate.batches.grad_accum_steps = 4;
  return estimate;
}

TEST(MemoryReport, ATableHasARowForEachStrategy) {
  EXPECT_THAT(memory_table({{example()}}),
              ElementsAre("strategy  ranks  samples   parameters    gradients    optimizer   "
                          "algorithms  activations"
                          "    transient        input          sum",
                          "fsdp          2        3      1.0 KiB        512 B      2.0 KiB         "
                          " 0 B      3.0 MiB"
                          "          0 B          0 B      3.0 MiB"));
}

TEST(MemoryReport, JsonHasBytes) {
  const auto json = nlohmann::json::parse(memory_json({{example()}}));
  const auto& row = json.at("strategies").at(0);
  EXPECT_EQ(row.at("strategy"), "fsdp");
  EXPECT_EQ(row.at("ranks"), 2);
  EXPECT_EQ(row.at("samples_per_microbatch"), 3);
  EXPECT_EQ(row.at("optimizer"), 2048);
  EXPECT_EQ(row.at("total"), 3584 + (3 << 20));
}

TEST(MemoryReport, ALineTellsTheLargestPartsFirst) {
  EXPECT_EQ(describe_parts(example()),
            "activations 3.0 MiB, optimizer 2.0 KiB, parameters 1.0 KiB, gradients 512 B");
}

}  // namespace
}  // namespace paceline::app
