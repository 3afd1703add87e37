#include "paceline/comm/gloo/gloo_backend.h"

#include "paceline/comm/c10d/run_store.h"
#include "support/counting_store.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

/// The names that `nm` shows of the symbols which the module's objects define.
std::string defined_symbols() {
  const std::string command = "nm -C --defined-only " PACELINE_BINARY_DIR "/libpaceline_comm.a";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) {
    text += part.data();
  }
  return text;
}

TEST(GlooBackend, ConnectsManyRanksWithFewOperationsOfTheStoreEach) {
  constexpr int kRanks = 32;
  const test::CountedStores stores(kRanks);
  std::vector<c10::intrusive_ptr<c10d::Backend>> ranks(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto store = c10::make_intrusive<RunStore>(stores.of(rank), "an id");
      ranks[static_cast<std::size_t>(rank)] =
          make_gloo_backend(store, rank, kRanks, "127.0.0.1", std::chrono::minutes(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(stores.most_operations(), 3);
  EXPECT_LE(stores.bytes(), kRanks * kRanks * 300);
}

// The declarations under shim/ are ours, so nothing may be generated from them: virtual tables and
// type information must be those of libtorch_cpu.
TEST(GlooShim, DefinesNoTablesOfGloo) {
  const std::string symbols = defined_symbols();
  ASSERT_NE(symbols.find("paceline::comm::make_gloo_backend"), std::string::npos)
      << "nm shows no make_gloo_backend in " PACELINE_BINARY_DIR "/libpaceline_comm.a";
  for (const char* kind : {"vtable for ", "typeinfo for ", "typeinfo name for "}) {
    for (const char* name : {"gloo::", "c10d::ProcessGroupGloo"}) {
      EXPECT_EQ(symbols.find(std::string(kind) + name), std::string::npos) << kind << name;
    }
  }
}

}  // namespace
}  // namespace paceline::comm
