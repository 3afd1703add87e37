#include "paceline/comm/shm/shm_collectives.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paceline::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::uint32_t kNumBuffers = 2;  // a rank fills one while others still read the other
constexpr std::int64_t kBlock = 64;       // elements; a fixed count lets the compiler use SIMD
constexpr auto kLookAround = std::chrono::milliseconds(50);  // how often a sleeper checks its peers

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  static_assert(sizeof(word) == sizeof(std::uint32_t) &&
                std::atomic<std::uint32_t>::is_always_lock_free);
  return syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

void publish(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value, std::memory_order_release);
  futex(word, FUTEX_WAKE, INT32_MAX, nullptr);
}

/// Counters only grow, and may wrap around.
bool has_reached(std::uint32_t value, std::uint32_t target) {
  return static_cast<std::int32_t>(value - target) >= 0;
}

struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The part of a chunk that a rank sums: whole blocks, shared evenly.
Segment segment_of(std::int64_t numel, int rank, int world_size) {
  const std::int64_t blocks = (numel + kBlock - 1) / kBlock;
  return {std::min(numel, blocks * rank / world_size * kBlock),
          std::min(numel, blocks * (rank + 1) / world_size * kBlock)};
}

template <typename T, typename Combine>
void combine_block(T* accumulated, const T* values, std::int64_t count, Combine combine) {
  if (count == kBlock) {
    for (std::int64_t i = 0; i < kBlock; ++i) accumulated[i] = combine(accumulated[i], values[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) accumulated[i] = combine(accumulated[i], values[i]);
  }
}

/// Combines `sources` from the first to the last into both outputs; outputs may be a source, and
/// `shared` may be null.
template <typename T, typename Combine>
void combine_all(std::span<const T* const> sources, T* own, T* shared, std::int64_t numel,
                 Combine combine) {
  std::array<T, kBlock> block;
  for (std::int64_t begin = 0; begin < numel; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, numel - begin);
    std::copy_n(sources[0] + begin, count, block.data());
    for (const T* source : sources.subspan(1)) {
      combine_block(block.data(), source + begin, count, combine);
    }
    std::copy_n(block.data(), count, own + begin);
    if (shared != nullptr) std::copy_n(block.data(), count, shared + begin);
  }
}

template <typename T>
void combine_all(std::span<const T* const> sources, T* own, T* shared, std::int64_t numel,
                 ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return combine_all(sources, own, shared, numel, [](T a, T b) { return a + b; });
    case ReduceOp::kMin:
      return combine_all(sources, own, shared, numel, [](T a, T b) { return b < a ? b : a; });
    case ReduceOp::kMax:
      return combine_all(sources, own, shared, numel, [](T a, T b) { return a < b ? b : a; });
  }
}

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };

std::uint64_t signature_of(Kind kind, std::int64_t numel, ShmCollectives::Element element,
                           ReduceOp op) {
  return static_cast<std::uint64_t>(numel) << 8 | static_cast<std::uint64_t>(kind) << 6 |
         static_cast<std::uint64_t>(element) << 3 | static_cast<std::uint64_t>(op);
}

/// Calls `body` with a null pointer to the element's type.
template <typename Body>
void with_type(ShmCollectives::Element element, const Body& body) {
  switch (element) {
    case ShmCollectives::Element::kFloat32:
      return body(static_cast<float*>(nullptr));
    case ShmCollectives::Element::kFloat64:
      return body(static_cast<double*>(nullptr));
    case ShmCollectives::Element::kInt64:
      return body(static_cast<std::int64_t*>(nullptr));
  }
}

}  // namespace

/// What one rank tells the others.
struct alignas(64) ShmCollectives::Cell {
  std::atomic<std::uint32_t> copied;  ///< chunks that lie in its slot
  std::atomic<std::uint32_t> used;    ///< chunks of which it has read what it needs of all slots
  std::array<std::atomic<std::uint64_t>, kNumBuffers> signatures;  ///< of the call of each chunk
};

class ShmCollectives::Waiter {
 public:
  Waiter(const ShmCollectives& group, std::chrono::milliseconds timeout)
      : group_(group), timeout_(timeout), deadline_(Clock::now() + timeout) {}

  /// Until every rank's counter has reached `target`.
  void wait(std::atomic<std::uint32_t> Cell::*counter, std::uint32_t target) const {
    for (int rank = 0; rank < group_.world_size_; ++rank) {
      if (rank != group_.rank_) wait_for(rank, group_.cell(rank).*counter, target);
    }
  }

 private:
  void wait_for(int rank, std::atomic<std::uint32_t>& word, std::uint32_t target) const {
    constexpr timespec kPause{0, std::chrono::nanoseconds(kLookAround).count()};
    for (;;) {
      const std::uint32_t seen = word.load(std::memory_order_acquire);
      if (has_reached(seen, target)) return;
      if (futex(word, FUTEX_WAIT, seen, &kPause) == 0 || errno == EAGAIN || errno == EINTR)
        continue;
      if (errno != ETIMEDOUT) {
        throw base::CommError(fmt::format("waiting for rank {} in shared memory failed: {}", rank,
                                          std::system_category().message(errno)));
      }
      check_hope(rank, word, target);
    }
  }

  /// Throws if there is no point in waiting on. A rank may leave once it has done its part.
  void check_hope(int rank, const std::atomic<std::uint32_t>& word, std::uint32_t target) const {
    const bool is_present = group_.memory_.is_present(rank);
    if (has_reached(word.load(std::memory_order_acquire), target)) return;
    if (!is_present) {
      throw base::CommError(fmt::format("rank {} has left the shared memory", rank));
    }
    if (group_.is_stopped_) throw base::CommError("the communicator is being closed");
    if (Clock::now() > deadline_) {
      throw base::CommError(
          fmt::format("timed out after waiting {}ms for rank {}", timeout_.count(), rank));
    }
  }

  const ShmCollectives& group_;
  std::chrono::milliseconds timeout_;
  Clock::time_point deadline_;
};

std::size_t ShmCollectives::bytes_needed(int world_size) {
  const auto ranks = static_cast<std::size_t>(world_size);
  return ranks * sizeof(Cell) + (ranks + 1) * kNumBuffers * kChunkBytes;
}

ShmCollectives::ShmCollectives(SharedMemory memory, int rank, int world_size)
    : memory_(std::move(memory)), rank_(rank), world_size_(world_size) {}

ShmCollectives::Cell& ShmCollectives::cell(int rank) const {
  return *(reinterpret_cast<Cell*>(memory_.data()) + rank);
}

template <typename T>
T* ShmCollectives::slot(int rank, std::uint32_t step) const {
  const std::size_t number = static_cast<std::size_t>(rank) * kNumBuffers + step % kNumBuffers;
  std::byte* slots = memory_.data() + static_cast<std::size_t>(world_size_) * sizeof(Cell);
  return reinterpret_cast<T*>(slots + number * kChunkBytes);
}

void ShmCollectives::begin(std::uint64_t signature) {
  signature_ = signature;
  first_step_ = copied_ + 1;
}

template <typename Fill>
void ShmCollectives::lay_out(const Waiter& waiter, const Fill& fill) {
  const std::uint32_t step = copied_ + 1;
  waiter.wait(&Cell::used, step - kNumBuffers);
  fill(step);
  cell(rank_).signatures[step % kNumBuffers].store(signature_, std::memory_order_relaxed);
  copied_ = step;
  publish(cell(rank_).copied, step);
}

/// Until every rank has laid out the chunk, of the same call.
void ShmCollectives::meet(const Waiter& waiter, std::uint32_t step) const {
  waiter.wait(&Cell::copied, step);
  for (int rank = 0; rank < world_size_; ++rank) {
    const auto& signature = cell(rank).signatures[step % kNumBuffers];
    if (signature.load(std::memory_order_relaxed) != signature_) {
      throw base::CommError(fmt::format("rank {} calls another collective", rank));
    }
  }
}

void ShmCollectives::all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                                std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  begin(signature_of(Kind::kAllReduce, numel, element, op));
  with_type(element, [&]<typename T>(T*) {
    all_reduce_as(std::span(static_cast<T*>(data), static_cast<std::size_t>(numel)), op, waiter);
  });
}

// While a rank waits for the sums of one chunk, the next one is already in its other buffer.
template <typename T>
void ShmCollectives::all_reduce_as(std::span<T> data, ReduceOp op, const Waiter& waiter) {
  constexpr std::size_t kChunk = kChunkBytes / sizeof(T);
  const std::size_t num_chunks = std::max<std::size_t>(1, (data.size() + kChunk - 1) / kChunk);
  const auto chunk = [&](std::size_t i) {
    return data.subspan(i * kChunk, std::min(kChunk, data.size() - i * kChunk));
  };
  const auto fill = [&](std::uint32_t step) {
    fill_for_all_reduce<T>(chunk(step - first_step_), step);
  };
  lay_out(waiter, fill);
  for (std::size_t i = 0; i < num_chunks; ++i) {
    const std::uint32_t step = first_step_ + static_cast<std::uint32_t>(i);
    if (i + 1 < num_chunks) lay_out(waiter, fill);
    meet(waiter, step);
    reduce_segment(chunk(i), op, step);
    publish(cell(rank_).used, step);
    waiter.wait(&Cell::used, step);
    copy_out(chunk(i), step);
  }
}

void ShmCollectives::reduce_scatter(void* output, const void* input, std::int64_t numel,
                                    Element element, std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  begin(signature_of(Kind::kReduceScatter, numel, element, ReduceOp::kSum));
  with_type(element, [&]<typename T>(T*) {
    reduce_scatter_as(static_cast<T*>(output), static_cast<const T*>(input), numel, waiter);
  });
}

template <typename T>
void ShmCollectives::reduce_scatter_as(T* output, const T* input, std::int64_t numel,
                                       const Waiter& waiter) {
  // A chunk holds the same part of every rank's slice.
  const auto part = static_cast<std::int64_t>(kChunkBytes / sizeof(T)) / world_size_;
  const std::int64_t num_chunks = std::max<std::int64_t>(1, (numel + part - 1) / part);
  const auto length = [&](std::int64_t i) { return std::min(part, numel - i * part); };
  const auto fill = [&](std::uint32_t step) {
    const std::int64_t i = step - first_step_;
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank == rank_) continue;
      std::copy_n(input + rank * numel + i * part, length(i), slot<T>(rank_, step) + rank * part);
    }
  };
  lay_out(waiter, fill);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const std::uint32_t step = first_step_ + static_cast<std::uint32_t>(i);
    if (i + 1 < num_chunks) lay_out(waiter, fill);
    meet(waiter, step);
    std::vector<const T*> sources;
    for (int rank = 0; rank < world_size_; ++rank) {
      sources.push_back(rank == rank_ ? input + rank * numel + i * part
                                      : slot<T>(rank, step) + rank_ * part);
    }
    combine_all<T>(sources, output + i * part, nullptr, length(i), ReduceOp::kSum);
    publish(cell(rank_).used, step);
  }
}

void ShmCollectives::all_gather(void* output, const void* input, std::int64_t bytes,
                                std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  begin(signature_of(Kind::kAllGather, bytes, Element::kFloat32, ReduceOp::kSum));
  const auto* const own = static_cast<const std::byte*>(input);
  auto* const all = static_cast<std::byte*>(output);
  constexpr auto kChunk = static_cast<std::int64_t>(kChunkBytes);
  const std::int64_t num_chunks = std::max<std::int64_t>(1, (bytes + kChunk - 1) / kChunk);
  const auto length = [&](std::int64_t i) { return std::min(kChunk, bytes - i * kChunk); };
  const auto fill = [&](std::uint32_t step) {
    const std::int64_t i = step - first_step_;
    std::copy_n(own + i * kChunk, length(i), slot<std::byte>(rank_, step));
  };
  lay_out(waiter, fill);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const std::uint32_t step = first_step_ + static_cast<std::uint32_t>(i);
    if (i + 1 < num_chunks) lay_out(waiter, fill);
    meet(waiter, step);
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank == rank_) continue;
      std::copy_n(slot<std::byte>(rank, step), length(i), all + rank * bytes + i * kChunk);
    }
    publish(cell(rank_).used, step);
  }
  if (all + rank_ * bytes != own) std::copy_n(own, bytes, all + rank_ * bytes);
}

/// Lays out what the other ranks will sum.
template <typename T>
void ShmCollectives::fill_for_all_reduce(std::span<const T> chunk, std::uint32_t step) {
  const auto numel = std::ssize(chunk);
  const Segment own = segment_of(numel, rank_, world_size_);
  T* target = slot<T>(rank_, step);
  std::copy_n(chunk.data(), own.begin, target);
  std::copy_n(chunk.data() + own.end, numel - own.end, target + own.end);
}

template <typename T>
void ShmCollectives::reduce_segment(std::span<T> chunk, ReduceOp op, std::uint32_t step) {
  const Segment own = segment_of(std::ssize(chunk), rank_, world_size_);
  T* mine = chunk.data() + own.begin;
  std::vector<const T*> sources;
  for (int rank = 0; rank < world_size_; ++rank) {
    sources.push_back(rank == rank_ ? mine : slot<T>(rank, step) + own.begin);
  }
  combine_all<T>(sources, mine, result<T>(step) + own.begin, own.end - own.begin, op);
}

template <typename T>
void ShmCollectives::copy_out(std::span<T> chunk, std::uint32_t step) {
  const auto numel = std::ssize(chunk);
  const Segment own = segment_of(numel, rank_, world_size_);
  const T* source = result<T>(step);
  std::copy_n(source, own.begin, chunk.data());
  std::copy_n(source + own.end, numel - own.end, chunk.data() + own.end);
}

}  // namespace paceline::comm
