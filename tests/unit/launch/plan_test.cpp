#include "paceline/launch/plan.h"

#include "paceline/base/error.h"
#include "paceline/launch/rank_info.h"

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;
using Variables = std::map<std::string, std::string, std::less<>>;

constexpr int kCores = 8;

LaunchPlan make_plan(const Arguments& arguments, Variables variables = {}, int gpus = 0) {
  return plan_launch(extract_launch_options(arguments).options, Environment(std::move(variables)),
                     {.cores = kCores, .gpus = gpus, .host_name = "here"});
}

std::string plan_error(const Arguments& arguments, Variables variables = {}) {
  try {
    make_plan(arguments, std::move(variables));
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlanTest, OneMachine) {
  const LaunchPlan alone = make_plan({});
  EXPECT_EQ(alone.world_size(), 1);
  EXPECT_EQ(alone.threads_per_rank, kCores);
  EXPECT_EQ(alone.master_addr, "127.0.0.1");
  EXPECT_EQ(alone.master_port, std::nullopt);
  EXPECT_TRUE(alone.notes.empty());
  EXPECT_NE(alone.run_id, make_plan({}).run_id);
  EXPECT_EQ(make_plan({"--nproc", "3"}).threads_per_rank, 2);
  EXPECT_EQ(make_plan({"--nproc", "16"}).threads_per_rank, 1);
}

TEST(PlanTest, AutoCountsGpus) {
  EXPECT_EQ(make_plan({"--nproc", "auto"}, {}, 4).nproc, 4);
  EXPECT_EQ(make_plan({"--nproc", "auto"}, {}, 0).nproc, 1);
  EXPECT_THAT(make_plan({"--nproc", "auto"}, {}, 0).notes,
              testing::ElementsAre(HasSubstr("no visible GPU")));
}

TEST(PlanTest, SeveralMachines) {
  const Arguments arguments{"--nproc", "4", "--nnodes", "2", "--node-rank", "1", "--rdzv", "n0:77"};
  const LaunchPlan second = make_plan(arguments);
  EXPECT_EQ(second.world_size(), 8);
  EXPECT_EQ(second.first_rank(), 4);
  EXPECT_EQ(second.master_addr, "n0");
  EXPECT_EQ(second.master_port, 77);
  EXPECT_EQ(second.run_id, make_plan(arguments).run_id) << "machines must derive the same id";
  Arguments spelled_otherwise = arguments;
  spelled_otherwise.back() = "10.0.0.1:77";
  EXPECT_EQ(second.run_id, make_plan(spelled_otherwise).run_id) << "node 0 has several names";
  EXPECT_EQ(make_plan(arguments, {{"PACELINE_RUN_ID", "secret"}}).run_id, "secret");
  const auto guarded = make_plan(arguments, {{"PACELINE_SECRET", "0123456789abcdef"}}).run_id;
  EXPECT_EQ(guarded, make_plan(arguments, {{"PACELINE_SECRET", "0123456789abcdef"}}).run_id);
  EXPECT_NE(guarded, make_plan(arguments, {{"PACELINE_SECRET", "another secret text"}}).run_id);
  EXPECT_EQ(guarded.find("n0"), std::string::npos) << "it tells nothing of what it is made from";
  EXPECT_THAT(plan_error({"--nnodes", "2", "--rdzv", "n0:77"}), HasSubstr("--node-rank"));
  EXPECT_THAT(plan_error({"--nnodes", "2", "--node-rank", "2"}), HasSubstr("out of range"));
  EXPECT_THAT(plan_error({"--nnodes", "2", "--node-rank", "1"}), HasSubstr("--rdzv"));
  EXPECT_EQ(make_plan({"--nnodes", "2", "--node-rank", "0"}).master_addr, "here");
}

TEST(PlanTest, SeveralRunsOnOnePortAreApart) {
  const auto id = [](const char* port, const char* name) {
    return make_plan(
               {"--nnodes", "2", "--node-rank", "0", "--master-port", port, "--rdzv-id", name})
        .run_id;
  };
  EXPECT_NE(id("77", "a"), id("77", "b"));
  EXPECT_NE(id("77", "a"), id("78", "a"));
}

TEST(PlanTest, NoMoreRanksThanThereMayBe) {
  const std::string most = std::to_string(kMaxRanks);
  EXPECT_THAT(plan_error({"--nproc", most, "--nnodes", most, "--node-rank", "0"}),
              HasSubstr("more than the " + most));
  EXPECT_THAT(plan_error({"--nproc", most, "--nnodes", "2", "--node-rank", "0"}),
              HasSubstr("--nnodes and --nproc"));
  EXPECT_THAT(
      plan_error({"--nproc", most, "--nnodes", most, "--node-rank", "0"}, {{"WORLD_SIZE", "4"}}),
      HasSubstr("WORLD_SIZE=4"));
}

/// WORLD_SIZE without RANK: what it was taken for, or that it was refused.
struct WorldSizeCase {
  const char* name;
  Arguments arguments;
  Variables variables;
  int num_nodes;  ///< 0: refused
  int nproc;
  const char* text;  ///< in the note or in the error
};

const Variables& node_variables(const char* world_size) {
  static std::map<std::string, Variables> cases;
  return cases[world_size] = {{"MASTER_ADDR", "10.0.0.1"},
                              {"MASTER_PORT", "29501"},
                              {"NODE_RANK", "0"},
                              {"WORLD_SIZE", world_size}};
}

class WorldSizeTest : public testing::TestWithParam<WorldSizeCase> {};

TEST_P(WorldSizeTest, IsDecidedByArithmetic) {
  const WorldSizeCase& given = GetParam();
  if (given.num_nodes == 0) {
    EXPECT_THAT(plan_error(given.arguments, given.variables), HasSubstr(given.text));
    return;
  }
  const LaunchPlan result = make_plan(given.arguments, given.variables);
  EXPECT_EQ(result.num_nodes, given.num_nodes);
  EXPECT_EQ(result.nproc, given.nproc);
  EXPECT_THAT(result.notes, testing::ElementsAre(HasSubstr(given.text)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, WorldSizeTest,
    testing::Values(
        WorldSizeCase{
            "OneRankPerNode", {}, node_variables("2"), 2, 1, "2 nodes x 1 rank = 2 ranks"},
        WorldSizeCase{"FewerThanRanksAreNodes",
                      {"--nproc", "4"},
                      node_variables("2"),
                      2,
                      4,
                      "number of nodes"},
        WorldSizeCase{
            "NoMultipleIsNodes", {"--nproc", "2"}, node_variables("3"), 3, 2, "number of nodes"},
        WorldSizeCase{"AMultipleHasTwoReadings",
                      {"--nproc", "4"},
                      node_variables("8"),
                      0,
                      0,
                      "may count ranks"},
        WorldSizeCase{"EqualHasTwoReadings",
                      {"--nproc", "2"},
                      node_variables("2"),
                      0,
                      0,
                      "--nnodes 1 or --nnodes 2"},
        WorldSizeCase{"NnodesSaysRanks",
                      {"--nproc", "4", "--nnodes", "2"},
                      node_variables("8"),
                      2,
                      4,
                      "number of ranks: 2 nodes x 4 ranks = 8 ranks"},
        WorldSizeCase{"NnodesSaysNodes",
                      {"--nproc", "4", "--nnodes", "2"},
                      node_variables("2"),
                      2,
                      4,
                      "number of nodes: 2 nodes x 4 ranks = 8 ranks"},
        WorldSizeCase{"NnodesGivesRanksPerNode",
                      {"--nnodes", "2"},
                      node_variables("8"),
                      2,
                      4,
                      "number of ranks"},
        WorldSizeCase{"NnodesFitsNeither",
                      {"--nproc", "4", "--nnodes", "2"},
                      node_variables("6"),
                      0,
                      0,
                      "2 nodes x 4 ranks = 8 ranks"},
        WorldSizeCase{
            "NoMultipleOfNnodes", {"--nnodes", "2"}, node_variables("5"), 0, 0, "WORLD_SIZE=5"},
        WorldSizeCase{
            "OneMachineRanks", {"--nproc", "2"}, {{"WORLD_SIZE", "2"}}, 1, 2, "number of ranks"},
        WorldSizeCase{
            "OneMachineNodes", {"--nproc", "2"}, {{"WORLD_SIZE", "1"}}, 1, 2, "number of nodes"},
        WorldSizeCase{"OneMachineMismatch",
                      {"--nproc", "2"},
                      {{"WORLD_SIZE", "3"}},
                      0,
                      0,
                      "WORLD_SIZE=3 in the environment does not match 1 node x 2 ranks = 2 ranks"},
        WorldSizeCase{"LoopbackIsOneMachine",
                      {"--nproc", "2"},
                      {{"WORLD_SIZE", "2"}, {"NODE_RANK", "0"}, {"MASTER_ADDR", "localhost"}},
                      1,
                      2,
                      "number of ranks"},
        WorldSizeCase{"NotANumber", {}, {{"WORLD_SIZE", "all"}}, 0, 0, "WORLD_SIZE"}),
    [](const auto& entry) { return entry.param.name; });

TEST(PlanTest, WorldSizeBesideRankIsTheOuterLaunchers) {
  EXPECT_EQ(make_plan({"--nproc", "2"}, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}).world_size(), 2);
}

TEST(PlanTest, NodeRankMustExist) {
  Variables variables = node_variables("2");
  variables["NODE_RANK"] = "2";
  EXPECT_THAT(plan_error({}, variables), HasSubstr("NODE_RANK 2 is out of range"));
}

TEST(PlanTest, AnOuterLauncherMakesItOneRank) {
  const Environment outer({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n0"}});
  const auto is_one = [&](const Arguments& arguments, const Environment& environment) {
    return is_one_rank(extract_launch_options(arguments).options, environment);
  };
  EXPECT_FALSE(is_one({}, Environment()));
  EXPECT_FALSE(
      is_one({}, Environment({{"MASTER_ADDR", "n0"}, {"WORLD_SIZE", "2"}, {"NODE_RANK", "0"}})));
  EXPECT_TRUE(is_one({}, outer));
  EXPECT_THROW(is_one({"--nproc", "4"}, outer), base::ConfigError);
  EXPECT_FALSE(is_one({"--nproc", "4", "--nnodes", "2"}, outer)) << "one process per machine";
  const Environment single({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_TRUE(is_one({"--nproc", "1"}, single));
  EXPECT_FALSE(is_one({"--nproc", "2"}, single));
}

TEST(RankEnvironmentTest, WhatARankGetsIsWhatItReads) {
  const LaunchPlan two_nodes = make_plan(
      {"--nproc", "4", "--nnodes", "2", "--node-rank", "1", "--rdzv", "n0:77", "--rdzv-id", "j"});
  const Environment environment = rank_environment(two_nodes, 2, 77, "/logs", Environment());
  const RankInfo info = read_rank_info(environment);
  EXPECT_EQ(info.launched_by, LaunchedBy::kPaceline);
  EXPECT_EQ(info.rank, 6);
  EXPECT_EQ(info.local_rank, 2);
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.local_world_size, 4);
  EXPECT_EQ(info.node_rank, 1);
  EXPECT_EQ(info.num_nodes, 2);
  EXPECT_EQ(info.master_addr, "n0");
  EXPECT_EQ(info.master_port, 77);
  EXPECT_EQ(info.run_id, two_nodes.run_id);
  EXPECT_FALSE(info.store_is_served);
  EXPECT_EQ(environment.get("TORCHELASTIC_RUN_ID"), "j");
  EXPECT_EQ(environment.get("TORCHELASTIC_ERROR_FILE"), "/logs/rank_0006_error.json");
  EXPECT_EQ(environment.get("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(environment.get("OMP_WAIT_POLICY"), "passive");
}

TEST(RankEnvironmentTest, TimesReachTheRanks) {
  const auto info_with = [](const Arguments& options, const Variables& variables) {
    const LaunchPlan plan = make_plan(options, variables);
    return read_rank_info(rank_environment(plan, 0, 77, std::nullopt, Environment()));
  };
  const RankInfo given = info_with({"--grace", "7", "--rdzv-timeout", "900"}, {});
  EXPECT_EQ(given.grace_seconds, 7);
  EXPECT_EQ(given.rdzv_timeout_seconds, 900);
  const RankInfo inherited = info_with({}, {{"PACELINE_GRACE", "8"}});
  EXPECT_EQ(inherited.grace_seconds, 8);
  EXPECT_EQ(inherited.rdzv_timeout_seconds, 300);
}

TEST(RankEnvironmentTest, TheUsersThreadSettingsStay) {
  const Environment environment =
      rank_environment(make_plan({"--nproc", "2"}), 0, 77, std::nullopt,
                       Environment({{"OMP_NUM_THREADS", "5"}, {"OMP_WAIT_POLICY", "active"}}));
  EXPECT_EQ(environment.get("OMP_NUM_THREADS"), "5");
  EXPECT_EQ(environment.get("OMP_WAIT_POLICY"), "active");
  EXPECT_FALSE(environment.has("TORCHELASTIC_ERROR_FILE"));
}

}  // namespace
}  // namespace paceline::launch
