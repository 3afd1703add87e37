#include "paceline/comm/c10d/gpu_backends.h"

#include "support/fake_gpu_backend.h"

#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using test::FakeGpuBackend;
using test::Journal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

c10::intrusive_ptr<FakeGpuBackend> backend_of(const std::string& name, Journal& journal) {
  return c10::make_intrusive<FakeGpuBackend>(name, 0, 2, journal);
}

TEST(GpuBackends, EndTogether) {
  Journal journal;
  GpuBackends backends(std::chrono::hours(1));
  EXPECT_TRUE(backends.empty());
  std::latch all_are_ending(2);  // NCCL's abort returns when no kernel of another group waits
  for (const std::string name : {"a", "b"}) {
    auto backend = backend_of(name, journal);
    backend->on_abort = [&] { all_are_ending.arrive_and_wait(); };
    backends.add(std::move(backend));
  }
  EXPECT_FALSE(backends.empty());
  EXPECT_THAT(backends.failure(), IsEmpty());
  backends.abort();
  backends.abort();
  EXPECT_THAT(journal.lines(), UnorderedElementsAre("a aborts", "b aborts"));
  EXPECT_THAT(backends.failure(), HasSubstr("another"));
}

TEST(GpuBackends, TellOfTheFailureBeforeAnythingEnds) {
  Journal journal;
  GpuBackends backends;
  auto backend = backend_of("a", journal);
  std::string failure;
  backend->on_abort = [&] { failure = backends.failure(); };
  backends.add(backend);
  backends.abort();
  EXPECT_THAT(failure, Not(IsEmpty())) << "what a kernel leaves when it is ended would be used";
}

TEST(GpuBackends, TellWhatNcclsWatchdogFound) {
  Journal journal;
  GpuBackends backends;
  auto backend = backend_of("a", journal);
  backends.add(backend);
  backend->error = c10d::ErrorType::TIMEOUT;
  EXPECT_THAT(backends.failure(), HasSubstr("longer than the time-out"));
  backend->error = c10d::ErrorType::COMM_ERROR;
  EXPECT_THAT(backends.failure(), HasSubstr("lost its connection"));
}

TEST(GpuBackends, OneThatIsAddedAfterTheEndEndsAtOnce) {
  Journal journal;
  GpuBackends backends;
  backends.abort();
  backends.add(backend_of("late", journal));
  EXPECT_THAT(journal.lines(), ElementsAre("late aborts"));
}

TEST(GpuBackends, OneThatHangsOrThrowsHoldsNobodyUp) {
  Journal journal;
  std::latch test_is_over(1);
  std::latch hanging_has_ended(1);
  {
    GpuBackends backends(std::chrono::milliseconds(50));
    auto hanging = backend_of("hanging", journal);
    hanging->on_abort = [&] {
      test_is_over.wait();
      hanging_has_ended.count_down();
    };
    auto throwing = backend_of("throwing", journal);
    throwing->on_abort = [] { throw std::runtime_error("abort failed"); };
    backends.add(std::move(hanging));
    backends.add(std::move(throwing));
    backends.abort();
  }
  EXPECT_THAT(journal.lines(),
              UnorderedElementsAre("hanging aborts", "throwing aborts", "throwing is destroyed"))
      << "the one that hangs is left to its thread";
  test_is_over.count_down();
  hanging_has_ended.wait();
  while (journal.lines().size() < 4) std::this_thread::yield();
}

}  // namespace
}  // namespace paceline::comm
