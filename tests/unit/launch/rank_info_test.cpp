#include "paceline/launch/rank_info.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string, std::less<>>;

RankInfo read_variables(Variables variables) {
  return read_rank_info(Environment(std::move(variables)));
}

std::string read_error(Variables variables) {
  try {
    read_variables(std::move(variables));
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RankInfoTest, AloneWithoutALauncher) {
  const RankInfo info = read_variables({{"MASTER_ADDR", "stale"}, {"WORLD_SIZE", "4"}});
  EXPECT_EQ(info.launched_by, LaunchedBy::kNobody);
  EXPECT_EQ(info.world_size, 1);
  EXPECT_EQ(info.master_addr, "127.0.0.1");
  EXPECT_EQ(info.run_id.size(), 32u);
  EXPECT_NE(info.run_id, read_variables({}).run_id);
}

TEST(RankInfoTest, Torchrun) {
  const RankInfo info = read_variables({{"RANK", "5"},
                                        {"WORLD_SIZE", "8"},
                                        {"LOCAL_RANK", "1"},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"GROUP_RANK", "1"},
                                        {"GROUP_WORLD_SIZE", "2"},
                                        {"MASTER_ADDR", "n0"},
                                        {"MASTER_PORT", "29400"},
                                        {"TORCHELASTIC_RUN_ID", "job"},
                                        {"TORCHELASTIC_RESTART_COUNT", "2"},
                                        {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(info.launched_by, LaunchedBy::kTorchrun);
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.local_rank, 1);
  EXPECT_EQ(info.world_size, 8);
  EXPECT_EQ(info.local_world_size, 4);
  EXPECT_EQ(info.node_rank, 1);
  EXPECT_EQ(info.num_nodes, 2);
  EXPECT_EQ(info.master_addr, "n0");
  EXPECT_EQ(info.master_port, 29400);
  EXPECT_EQ(info.run_id, "job/2");
  EXPECT_TRUE(info.store_is_served);
}

TEST(RankInfoTest, OpenMpiOnOneMachineAgreesOnAPort) {
  const auto rank = [](const char* number) {
    return read_variables({{"OMPI_COMM_WORLD_RANK", number},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", number},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                           {"PMIX_NAMESPACE", "prterun-host-77@1"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_NTASKS", "1"},
                           {"SLURM_LOCALID", "0"},
                           {"SLURM_STEP_ID", "0"}});
  };
  EXPECT_EQ(rank("1").launched_by, LaunchedBy::kOpenMpi);
  EXPECT_EQ(rank("1").rank, 1);
  EXPECT_EQ(rank("0").master_port, rank("1").master_port);
  EXPECT_GE(rank("0").master_port, 15000);
  EXPECT_EQ(rank("0").run_id, rank("1").run_id);
  EXPECT_EQ(rank("1").num_nodes, 1);
}

TEST(RankInfoTest, MpiOnSeveralMachinesNeedsAnAddress) {
  const Variables variables{{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_THAT(read_error(variables), HasSubstr("MASTER_ADDR"));
  Variables with_address = variables;
  with_address["MASTER_ADDR"] = "n0";
  EXPECT_EQ(read_variables(with_address).node_rank, 1);
  EXPECT_EQ(read_variables(with_address).num_nodes, 2);
}

TEST(RankInfoTest, Mpich) {
  const RankInfo info = read_variables(
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(info.launched_by, LaunchedBy::kMpich);
  EXPECT_EQ(info.local_rank, 1);
}

TEST(RankInfoTest, Slurm) {
  Variables variables{{"SLURM_PROCID", "5"},
                      {"SLURM_NTASKS", "6"},
                      {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "2"},
                      {"SLURM_NNODES", "3"},
                      {"SLURM_JOB_ID", "4711"},
                      {"SLURM_STEP_ID", "0"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                      {"SLURM_STEP_NODELIST", "gpu[07-08,11]"}};
  const RankInfo info = read_variables(variables);
  EXPECT_EQ(info.launched_by, LaunchedBy::kSlurm);
  EXPECT_EQ(info.rank, 5);
  EXPECT_EQ(info.local_world_size, 2);
  EXPECT_EQ(info.node_rank, 2);
  EXPECT_EQ(info.num_nodes, 3);
  EXPECT_EQ(info.master_addr, "gpu07");
  EXPECT_EQ(info.run_id, "slurm-4711.0.0");
  variables["SLURM_STEP_TASKS_PER_NODE"] = "1,3,2";
  EXPECT_EQ(read_variables(variables).local_world_size, 2);
}

TEST(RankInfoTest, ABatchScriptAndAnInteractiveShellAreNoSrun) {
  Variables variables{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}};
  EXPECT_EQ(read_variables(variables).launched_by, LaunchedBy::kNobody);
  variables["SLURM_STEP_ID"] = "4294967290";
  EXPECT_EQ(read_variables(variables).launched_by, LaunchedBy::kNobody);
}

TEST(RankInfoTest, ContradictionsNameTheVariable) {
  EXPECT_THAT(read_error({{"RANK", "0"}}), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(read_error({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK"));
  EXPECT_THAT(read_error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(
      read_error(
          {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "2"}}),
      HasSubstr("local rank 3 of 2"));
}

TEST(RankInfoTest, TimesAndSlurmWhoeverHasStartedIt) {
  const RankInfo plain = read_rank_info(Environment());
  EXPECT_EQ(plain.grace_seconds, 30);
  EXPECT_EQ(plain.rdzv_timeout_seconds, 300);
  EXPECT_FALSE(plain.is_under_slurm);
  const RankInfo told = read_rank_info(Environment(
      {{"PACELINE_GRACE", "7.5"}, {"PACELINE_RDZV_TIMEOUT", "60"}, {"SLURM_JOB_ID", "1"}}));
  EXPECT_EQ(told.grace_seconds, 7.5);
  EXPECT_EQ(told.rdzv_timeout_seconds, 60);
  EXPECT_TRUE(told.is_under_slurm);
  EXPECT_THROW(read_variables({{"PACELINE_RDZV_TIMEOUT", "soon"}}), base::ConfigError);
}

TEST(RankInfoTest, ASecretGuardsTheRunsIdOnSeveralMachines) {
  Variables variables{{"RANK", "1"},
                      {"WORLD_SIZE", "2"},
                      {"LOCAL_WORLD_SIZE", "1"},
                      {"MASTER_ADDR", "10.0.0.1"},
                      {"TORCHELASTIC_RUN_ID", "job"}};
  const RankInfo open = read_rank_info(Environment(variables));
  EXPECT_EQ(open.run_id, "job");
  EXPECT_TRUE(open.can_be_guessed);
  variables["PACELINE_SECRET"] = "0123456789abcdef";
  const RankInfo guarded = read_rank_info(Environment(variables));
  EXPECT_EQ(guarded.run_id.find("job"), std::string::npos);
  EXPECT_FALSE(guarded.can_be_guessed);
  variables["RANK"] = "0";
  EXPECT_EQ(read_rank_info(Environment(variables)).run_id, guarded.run_id);
  variables["PACELINE_RUN_ID"] = "by paceline";
  EXPECT_EQ(read_rank_info(Environment(variables)).run_id, "by paceline");
}

TEST(RankInfoTest, FirstSlurmHost) {
  EXPECT_EQ(first_slurm_host("a"), "a");
  EXPECT_EQ(first_slurm_host("a,b[1-2]"), "a");
  EXPECT_EQ(first_slurm_host("n[3,5-7],m"), "n3");
  EXPECT_EQ(first_slurm_host("r[1-2]-n[03-04]"), "r1-n03");
  EXPECT_EQ(first_slurm_host(""), "");
}

}  // namespace
}  // namespace paceline::launch
