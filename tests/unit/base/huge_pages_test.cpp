#include "paceline/base/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::uintptr_t address(const std::shared_ptr<std::byte>& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.get());
}

/// What the kernel notes of the mapping that holds an address: "rd wr mr mw me ac hg".
std::string flags_at(std::uintptr_t wanted) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-')
      is_here = begin <= wanted && wanted < end;
    if (is_here && line.starts_with("VmFlags:")) return line;
  }
  return "";
}

TEST(HugePages, AsksForThemWhereMemoryFillsSome) {
  const auto memory = allocate_huge_pages(2 * kHugePage + 100);
  EXPECT_EQ(address(memory) % kHugePage, 0u);
  EXPECT_NE(flags_at(address(memory)).find(" hg"), std::string::npos) << flags_at(address(memory));
  EXPECT_NE(flags_at(address(memory) + 2 * kHugePage - 1).find(" hg"), std::string::npos);
  for (std::size_t i = 0; i < 2 * kHugePage + 100; i += 4096) memory.get()[i] = std::byte{1};
}

TEST(HugePages, WholePagesAreGivenBackAndHoldZeros) {
  constexpr std::size_t kPage = 4096;
  const auto memory = allocate_huge_pages(kHugePage);
  const std::span<std::byte> bytes(memory.get(), kHugePage);
  std::ranges::fill(bytes, std::byte{7});
  release_pages(memory.get() + 100, 3 * kPage);
  for (std::size_t i = 0; i < kHugePage; ++i) {
    const bool is_released = i >= kPage && i < 3 * kPage;
    ASSERT_EQ(bytes[i], is_released ? std::byte{0} : std::byte{7}) << i;
  }
  release_pages(memory.get(), 10);  // no whole page
  EXPECT_EQ(bytes[0], std::byte{7});
}

TEST(HugePages, TakesNoneForLess) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kHugePage - 1}) {
    const auto memory = allocate_huge_pages(size);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(address(memory) % 64, 0u);
    EXPECT_EQ(flags_at(address(memory)).find(" hg"), std::string::npos);
  }
}

TEST(HugePages, SaysThatMemoryIsNotEnough) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers end a process that asks for that much";
#endif
  EXPECT_THROW(allocate_huge_pages(std::size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace paceline::base
