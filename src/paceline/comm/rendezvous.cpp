#include "paceline/comm/rendezvous.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"
#include "paceline/comm/c10d_types.h"
#include "paceline/comm/deadline.h"
#include "paceline/comm/endpoint.h"
#include "paceline/comm/run_store.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace paceline::comm {
namespace {

using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr const char* kWorldSizeKey = "join/world_size";
constexpr const char* kCountKey = "join/count";
constexpr const char* kCompleteKey = "join/complete";
constexpr const char* kRefusedKey = "join/refused";  // why the ranks cannot meet
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

/// Sleeps between looks at the store rather than wait on it: its own waits cannot be told from its
/// failures and print warnings. False when the key has not come by the deadline; throws what
/// another rank refuses to meet for.
bool comes(const StorePointer& store, const std::string& key, int world_size,
           Clock::time_point deadline) {
  const auto longest_pause = std::chrono::milliseconds(2 + world_size / 10);  // spares a busy store
  auto pause = std::chrono::milliseconds(1);
  while (!store->check({key})) {
    if (store->check({kRefusedKey})) throw base::CommError(store->get_to_str(kRefusedKey));
    if (Clock::now() + pause > deadline) {
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
  return true;
}

[[noreturn]] void report_missing(const StorePointer& store, const GroupOptions& options) {
  std::vector<int> missing;
  for (int rank = 0; rank < options.world_size; ++rank) {
    if (!store->check({rank_key(rank)})) {
      missing.push_back(rank);
    }
  }
  throw base::CommError(fmt::format(
      "{} of {} ranks came within {:.3g} s; missing: rank {}. Start them with the same port, "
      "--rdzv-id (PACELINE_RUN_ID) and PACELINE_SECRET, or give them more time with --rdzv-timeout",
      options.world_size - std::ssize(missing), options.world_size,
      std::chrono::duration<double>(options.connect_timeout).count(), fmt::join(missing, ", ")));
}

void join(const StorePointer& store, const GroupOptions& options) {
  const auto deadline = Clock::now() + options.connect_timeout;
  if (options.rank == 0) {
    store->set(kWorldSizeKey, std::to_string(options.world_size));
  } else if (!comes(store, kWorldSizeKey, options.world_size, deadline)) {
    report_missing(store, options);
  }
  if (const std::string size = store->get_to_str(kWorldSizeKey);
      size != std::to_string(options.world_size)) {
    const std::string reason = fmt::format("rank {} was started with WORLD_SIZE {}, rank 0 with {}",
                                           options.rank, options.world_size, size);
    store->set(kRefusedKey, reason);  // or the others would wait for this rank
    throw base::CommError(reason);
  }
  if (store->add(rank_key(options.rank), 1) != 1) {
    throw base::CommError(
        fmt::format("another process has joined as rank {} before this one; give each its own RANK "
                    "(NODE_RANK per node), and several runs on one port each a --rdzv-id",
                    options.rank));
  }
  if (store->add(kCountKey, 1) == options.world_size) {
    store->set(kCompleteKey, std::string("yes"));
  }
  if (!comes(store, kCompleteKey, options.world_size, deadline)) {
    report_missing(store, options);
  }
}

}  // namespace

Rendezvous meet(const GroupOptions& options) {
  Rendezvous rendezvous = open_store(options);
  try {
    join(rendezvous.store, options);
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
