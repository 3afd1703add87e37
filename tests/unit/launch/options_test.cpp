#include "paceline/launch/options.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

LaunchOptions parse_options(const Arguments& arguments) {
  return extract_launch_options(arguments).options;
}

std::string option_error(const Arguments& arguments) {
  try {
    parse_options(arguments);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LaunchOptionsTest, TakesItsOwnAndLeavesTheRest) {
  const Arguments arguments{"recipe.yaml", "--nproc", "4",        "train.duration=1ep",
                            "--resume",    "auto",    "--detach", "--",
                            "--nproc",     "9"};
  const ExtractedOptions extracted = extract_launch_options(arguments);
  EXPECT_EQ(extracted.options.nproc, 4);
  EXPECT_TRUE(extracted.options.detach);
  EXPECT_THAT(extracted.rest, ElementsAre("recipe.yaml", "train.duration=1ep", "--resume", "auto",
                                          "--", "--nproc", "9"));
}

TEST(LaunchOptionsTest, TorchrunsSpellings) {
  const LaunchOptions options =
      parse_options({"--nproc_per_node=8", "--nnodes", "2", "--node_rank", "1", "--master_addr",
                     "10.0.0.1", "--master-port=29501", "--rdzv_id", "job7"});
  EXPECT_EQ(options.nproc, 8);
  EXPECT_EQ(options.nnodes, 2);
  EXPECT_EQ(options.node_rank, 1);
  EXPECT_EQ(options.master_addr, "10.0.0.1");
  EXPECT_EQ(options.master_port, 29501);
  EXPECT_EQ(options.rdzv_id, "job7");
  EXPECT_EQ(parse_options({"--nproc-per-node", "3"}).nproc, 3);
}

TEST(LaunchOptionsTest, NoAbbreviations) {
  const Arguments arguments{"--npro", "4"};
  EXPECT_THAT(extract_launch_options(arguments).rest, ElementsAre("--npro", "4"));
}

TEST(LaunchOptionsTest, TheLastOneWins) {
  EXPECT_EQ(parse_options({"--nproc", "2", "--nproc_per_node", "3"}).nproc, 3);
  EXPECT_EQ(parse_options({"--nproc", "auto", "--nproc", "3"}).nproc_auto, false);
  EXPECT_TRUE(parse_options({"--nproc", "3", "--nproc", "auto"}).nproc_auto);
}

TEST(LaunchOptionsTest, Rendezvous) {
  EXPECT_EQ(parse_options({"--rdzv", "node0:1234"}).master_addr, "node0");
  EXPECT_EQ(parse_options({"--rdzv", "node0:1234"}).master_port, 1234);
  EXPECT_EQ(parse_options({"--rdzv_endpoint=node0"}).master_port, 29500);
  EXPECT_EQ(parse_options({"--rdzv", "[fe80::1]:77"}).master_addr, "fe80::1");
  EXPECT_EQ(parse_options({"--rdzv", "[fe80::1]:77"}).master_port, 77);
  for (const char* wrong : {"fe80::1:77", "[::1]29400", "[::1] :29400", "[]:29400", ":29500",
                            "host:", "[fe80::1", "host:0", "host:70000", "host:x"})
    EXPECT_THAT(option_error({"--rdzv", wrong}), HasSubstr("--rdzv")) << wrong;
}

TEST(LaunchOptionsTest, WrongValuesNameTheOption) {
  for (const char* wrong : {"0", "-2", "two", "1.5", "", "100000"})
    EXPECT_THAT(option_error({std::string("--nproc=") + wrong}), HasSubstr("--nproc")) << wrong;
  EXPECT_THAT(option_error({"--nproc", "0"}), HasSubstr("from 1"));
  EXPECT_THAT(option_error({"--nproc_per_node", "gpu"}), HasSubstr("auto"));
  EXPECT_THAT(option_error({"--nproc"}), HasSubstr("--nproc needs a value"));
  EXPECT_THAT(option_error({"--nproc", "--", "x"}), HasSubstr("needs a value"));
  EXPECT_THAT(option_error({"--detach=yes"}), HasSubstr("takes no value"));
  EXPECT_THAT(option_error({"--grace", "-1"}), HasSubstr("seconds"));
  EXPECT_THAT(option_error({"--grace", "nan"}), HasSubstr("seconds"));
  EXPECT_THAT(option_error({"--node-rank", "-1"}), HasSubstr("--node-rank"));
}

TEST(LaunchOptionsTest, TheTimeToMeet) {
  EXPECT_EQ(parse_options({"--rdzv-timeout", "900"}).rdzv_timeout_seconds, 900);
  EXPECT_EQ(parse_options({"--rdzv_timeout=1.5"}).rdzv_timeout_seconds, 1.5);
  EXPECT_EQ(parse_options({"--rdzv_conf=join_timeout=60"}).rdzv_timeout_seconds, 60);
  EXPECT_EQ(parse_options({"--rdzv-conf", "timeout=900,join_timeout=60"}).rdzv_timeout_seconds, 60);
  EXPECT_EQ(parse_options({"--rdzv-conf", "join_timeout=60,timeout=900"}).rdzv_timeout_seconds, 60);
  EXPECT_EQ(parse_options({"--rdzv-conf", "timeout=900"}).rdzv_timeout_seconds, 900);
  EXPECT_THAT(option_error({"--rdzv-timeout", "0"}), HasSubstr("--rdzv-timeout must be a number of "
                                                               "seconds from 1"));
  EXPECT_THAT(option_error({"--rdzv-conf", "last_call_timeout=3"}), HasSubstr("last_call_timeout"));
  EXPECT_THAT(option_error({"--rdzv-conf", "join_timeout=x"}), HasSubstr("join_timeout must be"));
}

TEST(LaunchOptionsTest, WordsOfTorchrunThatChangeNothing) {
  EXPECT_EQ(parse_options({"--standalone", "--no-python", "--rdzv-backend", "c10d", "--nproc", "3",
                           "--max-restarts=0"})
                .nproc,
            3);
  EXPECT_THAT(option_error({"--rdzv-backend", "etcd"}), HasSubstr("--rdzv HOST:PORT"));
  EXPECT_THAT(option_error({"--max_restarts=3"}), HasSubstr("--resume auto"));
}

TEST(LaunchOptionsTest, FindsAnOptionOfTheRank) {
  const Arguments arguments{"r.yaml", "--run-dir", "a", "--run_dir=b", "--", "--run-dir", "c"};
  EXPECT_EQ(find_option_value(arguments, "--run-dir"), "b");
  EXPECT_EQ(find_option_value(arguments, "--resume"), std::nullopt);
}

TEST(LaunchOptionsTest, HelpListsEveryNameWithinTheLine) {
  const std::string help = launch_options_help();
  for (const LaunchOption& option : launch_options())
    for (const std::string_view name : option.names)
      EXPECT_THAT(help, HasSubstr(std::string(name)));
  std::size_t start = 0;
  for (std::size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1)
    EXPECT_LE(end - start, 100u) << help.substr(start, end - start);
}

}  // namespace
}  // namespace paceline::launch
