#pragma once

#include "paceline/comm/c10d/bootstrap.h"
#include "support/free_port.h"

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace paceline::comm {

/// Options for a run on the loopback address whose time-outs suit a test.
inline GroupOptions test_options(int world_size) {
  GroupOptions options;
  options.world_size = world_size;
  options.master_port = test::free_port();
  options.run_id = "test";
  options.connect_timeout = std::chrono::seconds(20);
  options.timeout = std::chrono::seconds(20);
  options.failure_grace = std::chrono::seconds(1);
  return options;
}

/// Runs `body` on one thread per rank, each with its own sockets, and returns what each rank threw,
/// "" for nothing. `body` connects by itself.
inline std::vector<std::string> errors_of(const GroupOptions& options,
                                          const std::function<void(const GroupOptions&)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(options.world_size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.world_size; ++rank) {
    threads.emplace_back([&, rank] {
      GroupOptions own = options;
      own.rank = rank;
      try {
        body(own);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

}  // namespace paceline::comm
