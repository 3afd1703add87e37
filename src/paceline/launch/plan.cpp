#include "paceline/launch/plan.h"

#include "paceline/base/error.h"
#include "paceline/base/plugin_path.h"
#include "paceline/launch/error_file.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launch/secret.h"

#include <algorithm>
#include <cstdint>

namespace paceline::launch {
namespace {

/// What the bare environment of Lightning's users says.
struct BareEnvironment {
  std::optional<int> world_size;
  std::optional<int> node_rank;
  std::optional<std::string> master_addr;
  std::optional<int> master_port;
};

BareEnvironment read_bare(const Environment& environment) {
  BareEnvironment bare;
  // With RANK beside it WORLD_SIZE is an outer launcher's and counts its processes, not ours.
  if (!environment.has("RANK")) bare.world_size = environment.get_int("WORLD_SIZE", 1, kMaxRanks);
  bare.node_rank = environment.get_int("NODE_RANK", 0, kMaxRanks - 1);
  bare.master_addr = environment.get("MASTER_ADDR");
  bare.master_port = environment.get_int("MASTER_PORT", 1, 65535);
  return bare;
}

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::int64_t num_ranks(int num_nodes, int nproc) { return std::int64_t{num_nodes} * nproc; }

/// "2 nodes x 4 ranks = 8 ranks"
std::string product(int num_nodes, int nproc) {
  return fmt::format("{} x {} = {}", count(num_nodes, "node"), count(nproc, "rank"),
                     count(num_ranks(num_nodes, nproc), "rank"));
}

std::string taken_for(int world_size, std::string_view what, int num_nodes, int nproc) {
  return fmt::format("WORLD_SIZE={} without RANK was taken for the number of {}: {}", world_size,
                     what, product(num_nodes, nproc));
}

struct Shape {
  int num_nodes = 1;
  int nproc = 1;
  std::string note;
};

/// --nnodes is known: WORLD_SIZE must be that or all ranks.
Shape shape_with_nnodes(int world_size, int num_nodes, std::optional<int> nproc) {
  if (world_size == num_nodes)
    return {num_nodes, nproc.value_or(1),
            taken_for(world_size, "nodes", num_nodes, nproc.value_or(1))};
  if (!nproc && world_size % num_nodes == 0) nproc = world_size / num_nodes;
  if (nproc && world_size == num_ranks(num_nodes, *nproc))
    return {num_nodes, *nproc, taken_for(world_size, "ranks", num_nodes, *nproc)};
  const std::string ranks =
      nproc ? fmt::format("all ranks ({})", product(num_nodes, *nproc)) : "a multiple of them";
  throw base::ConfigError(
      fmt::format("WORLD_SIZE={} in the environment fits neither the nodes (--nnodes {}) nor {}: "
                  "unset it, or correct it or the options",
                  world_size, num_nodes, ranks));
}

/// One machine: WORLD_SIZE can only be 1 (node) or all its ranks.
Shape shape_of_one_node(int world_size, int nproc) {
  if (world_size == nproc) return {1, nproc, taken_for(world_size, "ranks", 1, nproc)};
  if (world_size == 1) return {1, nproc, taken_for(world_size, "nodes", 1, nproc)};
  throw base::ConfigError(fmt::format(
      "WORLD_SIZE={} in the environment does not match {}: unset it, or give --nproc {} "
      "for that many ranks on this machine, or NODE_RANK and MASTER_ADDR (or --nnodes, "
      "--node-rank and --rdzv) for several machines",
      world_size, product(1, nproc), world_size));
}

/// Several machines of unknown number: only a WORLD_SIZE with one reading is accepted, because
/// every machine must come to the same answer.
Shape shape_of_nodes(int world_size, int nproc) {
  if (nproc == 1)
    return {world_size, 1,
            taken_for(world_size, "nodes, which is that of ranks too", world_size, 1)};
  if (world_size % nproc != 0)
    return {world_size, nproc, taken_for(world_size, "nodes", world_size, nproc)};
  throw base::ConfigError(
      fmt::format("WORLD_SIZE={} without RANK may count ranks ({}) or nodes ({}): say which with "
                  "--nnodes {} or --nnodes {}",
                  world_size, product(world_size / nproc, nproc), product(world_size, nproc),
                  world_size / nproc, world_size));
}

bool is_loopback(const std::optional<std::string>& address) {
  return address && (address->starts_with("127.") || *address == "localhost" || *address == "::1");
}

Shape decide_shape(const LaunchOptions& options, const BareEnvironment& bare,
                   const Machine& machine) {
  std::optional<int> nproc = options.nproc;
  if (options.nproc_auto) nproc = std::max(1, machine.gpus);
  if (!bare.world_size) return {options.nnodes.value_or(1), nproc.value_or(1), ""};
  if (options.nnodes) return shape_with_nnodes(*bare.world_size, *options.nnodes, nproc);
  const bool has_node_rank = bare.node_rank || options.node_rank;
  const auto& address = options.master_addr ? options.master_addr : bare.master_addr;
  if (!has_node_rank || is_loopback(address))
    return shape_of_one_node(*bare.world_size, nproc.value_or(1));
  return shape_of_nodes(*bare.world_size, nproc.value_or(1));
}

int decide_node_rank(const LaunchOptions& options, const BareEnvironment& bare, int num_nodes) {
  const auto given = options.node_rank ? options.node_rank : bare.node_rank;
  if (!given && num_nodes > 1)
    throw base::ConfigError(
        fmt::format("this machine's number among {} nodes is missing: give --node-rank 0 to {}, "
                    "another on each machine",
                    num_nodes, num_nodes - 1));
  const int node_rank = given.value_or(0);
  if (node_rank >= num_nodes)
    throw base::ConfigError(fmt::format(
        "{} {} is out of range: {} number from 0 to {} (--nnodes says how many there are)",
        options.node_rank ? "--node-rank" : "NODE_RANK", node_rank, count(num_nodes, "node"),
        num_nodes - 1));
  return node_rank;
}

void decide_meeting_point(const LaunchOptions& options, const BareEnvironment& bare,
                          const Machine& machine, LaunchPlan& plan) {
  plan.master_port = options.master_port ? options.master_port : bare.master_port;
  plan.port_origin = options.master_port ? "from the command line" : "from MASTER_PORT";
  if (plan.num_nodes == 1) {
    plan.master_addr = options.master_addr.value_or("127.0.0.1");
    return;
  }
  const auto address = options.master_addr ? options.master_addr : bare.master_addr;
  if (!address && plan.node_rank > 0)
    throw base::ConfigError(
        fmt::format("node {} of {} does not know where to meet the others: give --rdzv HOST:PORT "
                    "with an address "
                    "of node 0 (or MASTER_ADDR and MASTER_PORT)",
                    plan.node_rank, plan.num_nodes));
  plan.master_addr = address.value_or(machine.host_name);
  if (!plan.master_port) {
    plan.master_port = kDefaultMasterPort;
    plan.port_origin = "the default for several nodes";
  }
}

/// Machines of one run must derive the same id, so it is secret only if the user shares a secret.
/// The master's address is no part of it: one machine may call it by name, another by number.
std::string decide_run_id(const LaunchPlan& plan, const Environment& environment) {
  if (const auto given = environment.get("PACELINE_RUN_ID")) return *given;
  if (plan.num_nodes == 1) return random_run_id();
  return guarded_run_id(fmt::format("{}:{}", plan.rdzv_id, *plan.master_port),
                        read_secret(environment));
}

}  // namespace

LaunchPlan plan_launch(const LaunchOptions& options, const Environment& environment,
                       const Machine& machine) {
  const BareEnvironment bare = read_bare(environment);
  const Shape shape = decide_shape(options, bare, machine);
  if (num_ranks(shape.num_nodes, shape.nproc) > kMaxRanks)
    throw base::ConfigError(
        fmt::format("{} are more than the {} that a run may have: correct "
                    "--nnodes and --nproc",
                    product(shape.num_nodes, shape.nproc), kMaxRanks));
  LaunchPlan plan;
  plan.nproc = shape.nproc;
  plan.num_nodes = shape.num_nodes;
  plan.node_rank = decide_node_rank(options, bare, plan.num_nodes);
  plan.rdzv_id = options.rdzv_id.value_or("none");
  plan.threads_per_rank = std::max(1, machine.cores / plan.nproc);
  plan.grace_seconds = options.grace_seconds.value_or(
      environment.get_seconds(kGraceVariable, 0).value_or(kDefaultGraceSeconds));
  plan.rdzv_timeout_seconds = options.rdzv_timeout_seconds.value_or(
      environment.get_seconds(kRdzvTimeoutVariable, 1).value_or(kDefaultRdzvTimeoutSeconds));
  decide_meeting_point(options, bare, machine, plan);
  plan.run_id = decide_run_id(plan, environment);
  if (!shape.note.empty()) plan.notes.push_back(shape.note);
  if (options.nproc_auto)
    plan.notes.push_back(
        machine.gpus > 0 ? fmt::format("--nproc auto found {}", count(machine.gpus, "visible GPU"))
                         : "--nproc auto found no visible GPU: 1 rank");
  return plan;
}

bool is_one_rank(const LaunchOptions& options, const Environment& environment) {
  const RankInfo outer = read_rank_info(environment);
  if (outer.launched_by == LaunchedBy::kNobody) return false;
  const bool asks_to_launch = options.nproc_auto || options.nproc || options.nnodes;
  const bool asks_for_one =
      !options.nproc_auto && options.nproc.value_or(1) == 1 && options.nnodes.value_or(1) == 1;
  if (!asks_to_launch || (asks_for_one && outer.world_size == 1)) return true;
  if (outer.world_size == options.nnodes.value_or(1)) return false;
  throw base::ConfigError(fmt::format(
      "{} has already started this process as rank {} of {}, so it starts no ranks itself: drop "
      "--nproc and --nnodes, or let {} start one process per machine and give --nnodes {}",
      name_of(outer.launched_by), outer.rank, outer.world_size, name_of(outer.launched_by),
      outer.world_size));
}

void set_library_defaults(Environment& environment) {
  // Threads that spin while they wait would steal the other ranks' cores.
  environment.set_default("OMP_WAIT_POLICY", "passive");
  // A lost peer is told by our own error; LibTorch would print stack traces of its sockets besides,
  // and lines for all that a stranger sends to the store. NCCL's watchdog has only these to speak.
  environment.set_default("TORCH_CPP_LOG_LEVEL",
                          visible_gpus(environment) == 0 ? "FATAL" : "ERROR");
  // paceline keeps its own record of collectives; LibTorch's costs time at each of them.
  environment.set_default("TORCH_FR_BUFFER_SIZE", "0");
  // A program of a user's own lies elsewhere.
  for (const base::Plugin& plugin : {base::kRemotePlugin, base::kCudaPlugin}) {
    const std::filesystem::path path = base::plugin_path(plugin);
    if (std::error_code error; std::filesystem::exists(path, error))
      environment.set_default(plugin.variable, path.string());
  }
}

Environment rank_environment(const LaunchPlan& plan, int local_rank, int master_port,
                             const std::optional<std::filesystem::path>& error_dir,
                             Environment environment) {
  const int rank = plan.first_rank() + local_rank;
  const auto set = [&](std::string_view name, int value) {
    environment.set(name, std::to_string(value));
  };
  set("RANK", rank);
  set("LOCAL_RANK", local_rank);
  set("WORLD_SIZE", plan.world_size());
  set("LOCAL_WORLD_SIZE", plan.nproc);
  set("GROUP_RANK", plan.node_rank);
  set("GROUP_WORLD_SIZE", plan.num_nodes);
  set("NODE_RANK", plan.node_rank);
  set("ROLE_RANK", rank);
  set("ROLE_WORLD_SIZE", plan.world_size());
  environment.set("ROLE_NAME", "default");
  environment.set("MASTER_ADDR", plan.master_addr);
  set("MASTER_PORT", master_port);
  environment.set("TORCHELASTIC_RUN_ID", plan.rdzv_id);
  set("TORCHELASTIC_RESTART_COUNT", 0);
  set("TORCHELASTIC_MAX_RESTARTS", 0);
  environment.set("TORCHELASTIC_USE_AGENT_STORE", "False");
  if (error_dir) environment.set(kErrorFileVariable, error_file(*error_dir, rank));
  environment.set("PACELINE_RUN_ID", plan.run_id);
  environment.set(kGraceVariable, fmt::format("{}", plan.grace_seconds));
  environment.set(kRdzvTimeoutVariable, fmt::format("{}", plan.rdzv_timeout_seconds));
  environment.set_default("OMP_NUM_THREADS", std::to_string(plan.threads_per_rank));
  set_library_defaults(environment);
  return environment;
}

std::string rank_file_stem(int rank) { return fmt::format("rank_{:04}", rank); }

std::filesystem::path error_file(const std::filesystem::path& error_dir, int rank) {
  return error_dir / (rank_file_stem(rank) + "_error.json");
}

}  // namespace paceline::launch
