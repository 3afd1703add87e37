#include "paceline/launch/outcome.h"

#include <csignal>
#include <vector>

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

constexpr int exited(int code) { return code << 8; }
constexpr int killed_by(int signal) { return signal; }

TEST(OutcomeTest, DescribesAStatus) {
  EXPECT_EQ(exit_code_of_status(exited(3)), 3);
  EXPECT_EQ(exit_code_of_status(killed_by(SIGKILL)), 137);
  EXPECT_EQ(describe_status(exited(3)), "exit code 3");
  EXPECT_EQ(describe_status(killed_by(SIGSEGV)), "killed by SIGSEGV (signal 11)");
}

TEST(OutcomeTest, AllWell) {
  const std::vector<RankEnd> ends{{.rank = 1}, {.rank = 0}};
  EXPECT_EQ(decide_outcome(ends, std::nullopt).exit_code, 0);
  EXPECT_FALSE(decide_outcome(ends, std::nullopt).culprit);
  EXPECT_EQ(decide_outcome(ends, SIGTERM).exit_code, 0);
}

TEST(OutcomeTest, TheFirstFailureDecides) {
  const std::vector<RankEnd> ends{{.rank = 2},
                                  {.rank = 1, .status = exited(3)},
                                  {.rank = 0, .status = killed_by(SIGTERM), .told_to_stop = true},
                                  {.rank = 3, .status = exited(5)}};
  const Outcome outcome = decide_outcome(ends, std::nullopt);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.culprit, 1u);
}

TEST(OutcomeTest, ALostPeerIsAConsequence) {
  std::vector<RankEnd> ends{{.rank = 0, .status = exited(4)},
                            {.rank = 1, .status = killed_by(SIGSEGV)}};
  EXPECT_EQ(decide_outcome(ends, std::nullopt).exit_code, 139);
  EXPECT_EQ(decide_outcome(ends, std::nullopt).culprit, 1u);
  ends[1].told_to_stop = true;
  EXPECT_EQ(decide_outcome(ends, std::nullopt).exit_code, 4)
      << "it only ended because it was told to";
}

TEST(OutcomeTest, AForwardedSignal) {
  const std::vector<RankEnd> stopped{{.rank = 0, .status = exited(143)},
                                     {.rank = 1, .status = killed_by(SIGTERM)}};
  EXPECT_EQ(decide_outcome(stopped, SIGTERM).exit_code, 143);
  EXPECT_FALSE(decide_outcome(stopped, SIGTERM).culprit);
  const std::vector<RankEnd> hung{{.rank = 0, .status = exited(130)},
                                  {.rank = 1, .status = killed_by(SIGKILL), .killed = true}};
  EXPECT_EQ(decide_outcome(hung, SIGINT).exit_code, 130);
  const std::vector<RankEnd> failed{{.rank = 0, .status = exited(143)},
                                    {.rank = 1, .status = exited(5)}};
  EXPECT_EQ(decide_outcome(failed, SIGTERM).exit_code, 5) << "the checkpoint could not be written";
  EXPECT_EQ(decide_outcome(failed, SIGTERM).culprit, 1u);
}

}  // namespace
}  // namespace paceline::launch
