#include "paceline/launch/outcome.h"

#include <csignal>
#include <vector>

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

const std::vector kTerminated{SIGTERM};
const std::vector kInterrupted{SIGINT};

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
  EXPECT_EQ(decide_outcome(ends, {}).exit_code, 0);
  EXPECT_FALSE(decide_outcome(ends, {}).culprit);
  EXPECT_EQ(decide_outcome(ends, kTerminated).exit_code, 0);
}

TEST(OutcomeTest, TheFirstFailureDecides) {
  const std::vector<RankEnd> ends{{.rank = 2},
                                  {.rank = 1, .status = exited(3)},
                                  {.rank = 0, .status = killed_by(SIGTERM), .told_to_stop = true},
                                  {.rank = 3, .status = exited(5)}};
  const Outcome outcome = decide_outcome(ends, {});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.culprit, 1u);
}

TEST(OutcomeTest, ALostPeerIsAConsequence) {
  std::vector<RankEnd> ends{{.rank = 0, .status = exited(4)},
                            {.rank = 1, .status = killed_by(SIGSEGV)}};
  EXPECT_EQ(decide_outcome(ends, {}).exit_code, 139);
  EXPECT_EQ(decide_outcome(ends, {}).culprit, 1u);
  ends[1].told_to_stop = true;
  EXPECT_EQ(decide_outcome(ends, {}).exit_code, 4) << "it only ended because it was told to";
}

TEST(OutcomeTest, AForwardedSignal) {
  const std::vector<RankEnd> stopped{{.rank = 0, .status = exited(143)},
                                     {.rank = 1, .status = killed_by(SIGTERM)}};
  EXPECT_EQ(decide_outcome(stopped, kTerminated).exit_code, 143);
  EXPECT_FALSE(decide_outcome(stopped, kTerminated).culprit);
  const std::vector<RankEnd> hung{{.rank = 0, .status = exited(130)},
                                  {.rank = 1, .status = killed_by(SIGKILL), .killed = true}};
  EXPECT_EQ(decide_outcome(hung, kInterrupted).exit_code, 130);
  const std::vector<RankEnd> failed{{.rank = 0, .status = exited(143)},
                                    {.rank = 1, .status = exited(5)}};
  EXPECT_EQ(decide_outcome(failed, kTerminated).exit_code, 5)
      << "the checkpoint could not be written";
  EXPECT_EQ(decide_outcome(failed, kTerminated).culprit, 1u);
}

TEST(OutcomeTest, OneSignalAheadOfAnother) {
  const std::vector signals{SIGUSR1, SIGTERM};
  const std::vector<RankEnd> saved{{.rank = 0, .status = exited(138)},
                                   {.rank = 1, .status = killed_by(SIGTERM)}};
  EXPECT_EQ(decide_outcome(saved, signals).exit_code, 138);
  EXPECT_FALSE(decide_outcome(saved, signals).culprit);
  const std::vector<RankEnd> deaf{{.rank = 0, .status = killed_by(SIGTERM)}};
  EXPECT_EQ(decide_outcome(deaf, signals).exit_code, 143);
  const std::vector<RankEnd> hung{{.rank = 0, .status = killed_by(SIGKILL), .killed = true}};
  EXPECT_EQ(decide_outcome(hung, signals).exit_code, 138);
}

}  // namespace
}  // namespace paceline::launch
