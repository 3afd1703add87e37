#include "paceline/checkpoint/finite_check.h"

#include "paceline/base/error.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Shards = std::vector<tensor::StateShard>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What find_non_finite says on each of three ranks after `change` was applied to its shards.
std::vector<std::string> answers(Layout layout,
                                 const std::function<void(Shards&, int rank)>& change) {
  std::vector<std::string> texts(3);
  test::run_ranks(3, [&](comm::Communicator& communicator) {
    const int rank = communicator.rank();
    Shards shards = shards_of(whole_model(1), layout, rank, 3);
    change(shards, rank);
    texts[static_cast<std::size_t>(rank)] = find_non_finite(shards, communicator);
  });
  return texts;
}

void fill_last(const tensor::StateShard& shard, double value) {
  shard.data.view({-1})[-1].fill_(value);
}

TEST(FindNonFinite, IsSilentAboutNumbersHoweverLarge) {
  EXPECT_THAT(answers(Layout::kReplicated, [](Shards&, int) {}), Each(""));
  EXPECT_THAT(answers(Layout::kSharded,
                      [](Shards& shards, int) {
                        shards[0].data.fill_(std::numeric_limits<float>::max());
                        shards[1].data.fill_(std::numeric_limits<double>::lowest());
                      }),
              Each(""));
}

TEST(FindNonFinite, NamesOnAllRanksWhatAnyRankHolds) {
  EXPECT_THAT(answers(Layout::kShardedChannelsLast,
                      [](Shards& shards, int rank) {
                        if (rank == 1) fill_last(shards[0], kNan);
                        if (rank == 2) fill_last(shards[1], -kInfinity);
                      }),
              Each("2 of its tensors hold NaN or infinite values: conv.weight, fc.weight"));
}

TEST(FindNonFinite, OppositeInfinitiesDoNotCancel) {
  EXPECT_THAT(answers(Layout::kReplicated,
                      [](Shards& shards, int) {
                        shards[1].data[0][0] = kInfinity;
                        fill_last(shards[1], -kInfinity);
                      }),
              Each("1 of its tensors holds NaN or infinite values: fc.weight"));
}

TEST(FindNonFinite, ABufferMayHoldInfinitiesAndNoNan) {
  EXPECT_THAT(answers(Layout::kReplicated,
                      [](Shards& shards, int) {
                        shards[1].is_buffer = shards[2].is_buffer = true;
                        fill_last(shards[1], -kInfinity);
                        fill_last(shards[2], kNan);
                      }),
              Each(AllOf(HasSubstr("1 of its tensors"), HasSubstr("momentum_buffer"))));
}

TEST(LoadCheckpoint, RefusesTheStateOfARunThatHadDiverged) {
  const auto path = std::filesystem::path(PACELINE_GOLDEN_DIR) / "version-2-diverged";
  EXPECT_THAT([&] { expect_loads(path, 5, Layout::kReplicated, 3); },
              ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr(path.string()), HasSubstr("fc.weight"), HasSubstr("earlier"))));
}

/// What refuse_non_finite says of a shard of this dtype with one such value among 10,000 ones.
std::string refusal(at::ScalarType dtype, double value, bool is_buffer, bool is_dense = true) {
  const at::Tensor data = at::ones({2, 10'000}, dtype);
  data[0][7000] = value;
  const Shards shards{{.name = "weight",
                       .data = is_dense ? data : data.t().slice(0, 0, 9999),
                       .shape = data.sizes().vec(),
                       .is_buffer = is_buffer}};
  try {
    refuse_non_finite(shards);
  } catch (const base::DivergedError& error) {
    return error.what();
  }
  return {};
}

TEST(RefuseNonFinite, KnowsEveryDtypeThatIsTrained) {
  const std::string expected =
      fmt::format("1 of its tensors holds NaN or infinite values: weight; {}", kDivergenceCure);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const bool is_dense : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, dense: {}", toString(dtype), is_dense));
      for (const double value : {kNan, -kNan, kInfinity, -kInfinity})
        EXPECT_EQ(refusal(dtype, value, false, is_dense), expected) << value;
      for (const double value : {0.0, -0.0, -65504.0, 1e-7})
        EXPECT_EQ(refusal(dtype, value, false, is_dense), "") << value;
      EXPECT_EQ(refusal(dtype, -kInfinity, true, is_dense), "");
      EXPECT_EQ(refusal(dtype, -kNan, true, is_dense), expected);
    }
  }
  EXPECT_EQ(refusal(at::kFloat, std::numeric_limits<float>::max(), false), "");
  EXPECT_EQ(refusal(at::kDouble, std::numeric_limits<double>::lowest(), false), "");
  EXPECT_EQ(refusal(at::kLong, 3, false), "");
}

TEST(SaveCheckpoint, RefusesAStateThatIsNotFiniteAsADivergence) {
  const test::TempFolder folder;
  test::UnsyncedFileSystem files;
  for (const Layout layout : {Layout::kReplicated, Layout::kSharded}) {
    auto model = whole_model(1);
    model[1].tensor[2][3] = kNan;
    EXPECT_THAT([&] { save_model(folder.path(), 1, model, 0.5, layout, 2, files); },
                ThrowsMessage<base::DivergedError>(
                    AllOf(HasSubstr("at step 1 was not saved"), HasSubstr("fc.weight"))));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

}  // namespace
}  // namespace paceline::checkpoint
