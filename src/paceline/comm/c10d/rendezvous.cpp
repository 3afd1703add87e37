#include "paceline/comm/c10d/rendezvous.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"
#include "paceline/comm/c10d/c10d_types.h"
#include "paceline/comm/c10d/run_store.h"
#include "paceline/comm/c10d/store_query.h"
#include "paceline/comm/deadline.h"
#include "paceline/comm/endpoint.h"

#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <netdb.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

/// Takes the place of libc's for the whole program. LibTorch's sockets ask for the name of every
/// peer they connect to, to show it in messages: where the name server does not answer, each
/// connection would stand still for 5 seconds or more. Addresses are shown as numbers instead.
extern "C" int getnameinfo(const sockaddr* address, socklen_t address_length, char* host,
                           socklen_t host_length, char* service, socklen_t service_length,
                           int flags) {
  static const auto of_libc =
      reinterpret_cast<decltype(&getnameinfo)>(dlsym(RTLD_NEXT, "getnameinfo"));
  if (of_libc == nullptr) return EAI_SYSTEM;
  if ((flags & NI_NAMEREQD) == 0) flags |= NI_NUMERICHOST;
  return of_libc(address, address_length, host, host_length, service, service_length, flags);
}

namespace paceline::comm {
namespace {

using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr const char* kFirstRankKey = "join/first";      // its world size, and why it has no GPU
constexpr const char* kCountKey = "join/count";          // of ranks that are there
constexpr const char* kConcludedKey = "join/concluded";  // counts those that had a verdict
constexpr const char* kVerdictKey = "join/verdict";      // of the first of them
std::string rank_key(int rank) { return fmt::format("join/rank/{}", rank); }

std::string master_host(const GroupOptions& options) {
  return options.num_nodes == 1 && options.serves_store ? "127.0.0.1" : options.master_addr;
}

StorePointer open_client_or_server(const std::string& address, const c10d::TCPStoreOptions& options,
                                   std::chrono::milliseconds timeout) {
  // A stranger on the port that accepts and stays silent would hold the constructor for ever.
  const auto open = [=]() -> StorePointer {
    return c10::make_intrusive<c10d::TCPStore>(address, options);
  };
  std::string cause = "it does not answer";
  try {
    if (auto store = within(timeout, open)) {
      return *store;
    }
  } catch (const std::exception& error) {
    cause = first_line(error);
  }
  if (const std::string limit = base::limit_named_in(cause); !limit.empty()) {
    throw base::CommError(fmt::format("cannot open the ranks' store at {}:{} ({}): {}", address,
                                      options.port, cause, limit));
  }
  throw base::CommError(
      fmt::format("what listens at {}:{} is not the store of a run ({}): choose another port with "
                  "--master-port (MASTER_PORT)",
                  address, options.port, cause));
}

Rendezvous open_store(const GroupOptions& options) {
  const std::string host = master_host(options);
  const auto port = static_cast<std::uint16_t>(options.master_port);
  c10d::TCPStoreOptions store_options;
  store_options.port = port;
  store_options.waitWorkers = false;
  store_options.timeout = options.connect_timeout;
  std::string description = fmt::format("{}:{}", host, port);
  if (options.rank == 0 && options.serves_store) {
    bool is_narrow = false;
    Socket listener = listen_on(host, port, is_narrow);
    if (!is_narrow) {
      description +=
          " (listening on all interfaces: this machine does not have the master's address)";
    }
    store_options.isServer = true;
    store_options.masterListenFd = listener.release();
  } else {
    await_listener(host, port, options.connect_timeout);
  }
  StorePointer store = open_client_or_server(resolve(host), store_options, options.connect_timeout);
  return {c10::make_intrusive<RunStore>(std::move(store), options.run_id), std::move(description)};
}

/// How the meeting ends: "" when all ranks are there, else why they cannot meet. The first who can
/// say so decides.
template <typename Verdict>
void conclude(c10d::Store& store, const Verdict& verdict) {
  if (store.add(kConcludedKey, 1) == 1) store.set(kVerdictKey, std::string(verdict()));
}

std::string missing_ranks(c10d::Store& store, const GroupOptions& options) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.world_size; ++rank) keys.push_back(rank_key(rank));
  const std::vector<std::size_t> missing = missing_keys(store, keys);
  if (missing.empty()) {
    return fmt::format(
        "all {} ranks came, but not within {:.3g} s, or one has left again: give them more time "
        "with --rdzv-timeout, and look at what the others say",
        options.world_size, std::chrono::duration<double>(options.connect_timeout).count());
  }
  return fmt::format(
      "{} of {} ranks came within {:.3g} s; missing: rank {}. Start them with the same port, "
      "--rdzv-id (PACELINE_RUN_ID) and PACELINE_SECRET, or give them more time with --rdzv-timeout",
      keys.size() - missing.size(), options.world_size,
      std::chrono::duration<double>(options.connect_timeout).count(), fmt::join(missing, ", "));
}

/// The store ends with rank 0, and the others may not have read why.
void say_farewell(const GroupOptions& options) {
  constexpr std::chrono::milliseconds kFarewell{500};
  if (options.rank == 0) std::this_thread::sleep_for(kFarewell);
}

/// Returns when the key is there; the first whose time is over tells all ranks who is missing.
/// Throws that verdict, or another that keeps the ranks from meeting.
void await(c10d::Store& store, const std::string& key, const GroupOptions& options,
           Clock::time_point deadline) {
  const auto left = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  };
  if (!await_key(store, key, left())) {
    const auto verdict = [&] { return missing_ranks(store, options); };
    conclude(store, verdict);
    constexpr std::chrono::seconds kSearch{10};  // of the rank that was first
    if (!await_key(store, kVerdictKey, kSearch)) throw base::CommError(verdict());
  } else if (key != kVerdictKey) {
    return;
  }
  const std::string verdict = store.get_to_str(kVerdictKey);
  if (verdict.empty()) return;
  say_farewell(options);
  throw base::CommError(verdict);
}

/// Empty if the rank has a GPU.
std::string why_no_gpu(const GroupOptions& options) {
  if (!options.device_fault.empty()) return options.device_fault;
  if (options.device != "cpu") return {};
  return options.why_no_gpu.empty() ? "none is visible" : options.why_no_gpu;
}

/// What keeps this rank from the others as its device goes; empty if nothing does. Said before any
/// of them asks NCCL, which would wait for those that cannot come. `of_first`: why rank 0 has no
/// GPU.
std::string device_problem(c10d::Store& store, const GroupOptions& options,
                           const std::string& of_first) {
  const std::string own = why_no_gpu(options);
  if (!options.device_fault.empty()) return fmt::format("rank {}: {}", options.rank, own);
  constexpr const char* kCure =
      "give each rank of the run a GPU, with the driver and the CUDA plug-in on every machine, or "
      "hide the GPUs from all ranks (CUDA_VISIBLE_DEVICES=)";
  if (own.empty() && !of_first.empty()) {
    return fmt::format("rank {} has a GPU, and rank 0 has none ({}): {}", options.rank, of_first,
                       kCure);
  }
  if (!own.empty() && of_first.empty()) {
    return fmt::format("rank {} has no GPU ({}), and rank 0 has one: {}", options.rank, own, kCure);
  }
  if (own.empty() && store.add("join/gpu/" + options.gpu_uuid, 1) != 1) {
    return fmt::format(
        "rank {} and another rank have the same GPU, {}: start one rank for each GPU, or look at "
        "CUDA_VISIBLE_DEVICES",
        options.rank, options.gpu_uuid);
  }
  return {};
}

/// Throws, and tells the others, who would wait for this rank.
[[noreturn]] void refuse(c10d::Store& store, const GroupOptions& options,
                         const std::string& reason) {
  conclude(store, [&] { return reason; });
  say_farewell(options);
  throw base::CommError(reason);
}

}  // namespace

void join(c10d::Store& store, const GroupOptions& options) {
  const auto deadline = Clock::now() + options.connect_timeout;
  const std::string own_size = std::to_string(options.world_size);
  if (options.rank == 0) store.set(kFirstRankKey, own_size + "\n" + why_no_gpu(options));
  if (store.add(rank_key(options.rank), 1) != 1) {
    throw base::CommError(
        fmt::format("another process has joined as rank {} before this one; give each its own RANK "
                    "(NODE_RANK per node), and several runs on one port each a --rdzv-id",
                    options.rank));
  }
  await(store, kFirstRankKey, options, deadline);
  const std::string first = store.get_to_str(kFirstRankKey);
  const std::size_t end = first.find('\n');
  if (const std::string size = first.substr(0, end); size != own_size) {
    refuse(store, options,
           fmt::format("rank {} was started with WORLD_SIZE {}, rank 0 with {}", options.rank,
                       own_size, size));
  }
  if (const auto problem = device_problem(store, options, first.substr(end + 1)); !problem.empty())
    refuse(store, options, problem);
  if (store.add(kCountKey, 1) == options.world_size) conclude(store, [] { return ""; });
  await(store, kVerdictKey, options, deadline);
}

Rendezvous meet(const GroupOptions& options) {
  Rendezvous rendezvous = open_store(options);
  try {
    join(*rendezvous.store, options);
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw base::CommError(
        fmt::format("rank {} lost the store at {} while the ranks were meeting: {}", options.rank,
                    rendezvous.description, first_line(error)));
  }
  return rendezvous;
}

}  // namespace paceline::comm
