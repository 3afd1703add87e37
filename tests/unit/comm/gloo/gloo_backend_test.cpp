#include "paceline/comm/gloo/gloo_backend.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

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
