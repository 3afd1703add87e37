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

constexpr std::uint32_t kNumBuffers = 2;  // a rank fills one while others still read the other
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
  const std::int64_t blocks = (numel + kCombinedBlock - 1) / kCombinedBlock;
  return {std::min(numel, blocks * rank / world_size * kCombinedBlock),
          std::min(numel, blocks * (rank + 1) / world_size * kCombinedBlock)};
}

enum class Kind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kReduce, kFetch };

/// What must be equal on all ranks, packed: `argument` takes 16 bits.
std::uint64_t signature_of(Kind kind, std::int64_t numel, int argument = 0) {
  return static_cast<std::uint64_t>(numel) << 20 | static_cast<std::uint64_t>(kind) << 16 |
         static_cast<std::uint64_t>(argument);
}

int argument_of(Element element, ReduceOp op) {
  return static_cast<int>(element) << 8 | static_cast<int>(op);
}

std::int64_t num_chunks_of(std::int64_t numel, std::int64_t per_chunk) {
  return std::max<std::int64_t>(1, (numel + per_chunk - 1) / per_chunk);
}

}  // namespace

/// What one rank tells the others.
struct alignas(64) ShmCollectives::Cell {
  std::atomic<std::uint32_t> copied;  ///< chunks that lie in its slot
  std::atomic<std::uint32_t> used;    ///< chunks of which it has read what it needs of all slots
  std::array<std::atomic<std::uint64_t>, kNumBuffers> signatures;  ///< of the call of each chunk
  std::atomic<std::uint32_t> has_given_up;
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
  void wait_for(int rank, std::atomic<std::uint32_t>& word, std::uint32_t target) const {
    constexpr timespec kPause{0, std::chrono::nanoseconds(kLookAround).count()};
    for (;;) {
      const std::uint32_t seen = word.load(std::memory_order_acquire);
      if (has_reached(seen, target)) return;
      if (futex(word, FUTEX_WAIT, seen, &kPause) == 0 || errno == EAGAIN || errno == EINTR)
        continue;
      if (errno != ETIMEDOUT) {
        throw base::CommError(fmt::format("waiting for rank {} in shared memory failed: {}",
                                          group_.name_of(rank),
                                          std::system_category().message(errno)));
      }
      check_hope(rank, word, target);
    }
  }

 private:
  /// Throws if there is no point in waiting on. A rank may leave once it has done its part.
  void check_hope(int rank, const std::atomic<std::uint32_t>& word, std::uint32_t target) const {
    const bool is_present = group_.memory_.is_present(rank);
    if (has_reached(word.load(std::memory_order_acquire), target)) return;
    if (!is_present) {
      throw base::CommError(
          fmt::format("rank {} has left the shared memory", group_.name_of(rank)));
    }
    for (int other = 0; other < group_.world_size_; ++other) {
      if (group_.cell(other).has_given_up.load(std::memory_order_relaxed) != 0) {
        throw base::CommError(fmt::format("rank {} has given up", group_.name_of(other)));
      }
    }
    if (group_.is_stopped_) throw base::CommError("the communicator is being closed");
    if (Clock::now() > deadline_) {
      throw base::CommError(fmt::format("timed out after waiting {}ms for rank {}",
                                        timeout_.count(), group_.name_of(rank)));
    }
  }

  const ShmCollectives& group_;
  std::chrono::milliseconds timeout_;
  Clock::time_point deadline_;
};

std::size_t ShmCollectives::bytes_needed(int world_size, std::size_t chunk_bytes) {
  const auto ranks = static_cast<std::size_t>(world_size);
  return ranks * sizeof(Cell) + (ranks + 1) * kNumBuffers * chunk_bytes;
}

ShmCollectives::ShmCollectives(SharedMemory memory, int rank, int world_size, int first_name,
                               std::size_t chunk_bytes)
    : memory_(std::move(memory)),
      rank_(rank),
      world_size_(world_size),
      first_name_(first_name),
      chunk_bytes_(chunk_bytes) {}

void ShmCollectives::give_up() const {
  cell(rank_).has_given_up.store(1, std::memory_order_relaxed);
}

ShmCollectives::Cell& ShmCollectives::cell(int rank) const {
  return *(reinterpret_cast<Cell*>(memory_.data()) + rank);
}

template <typename T>
T* ShmCollectives::slot(int rank, std::uint32_t step) const {
  const std::size_t number = static_cast<std::size_t>(rank) * kNumBuffers + step % kNumBuffers;
  std::byte* slots = memory_.data() + static_cast<std::size_t>(world_size_) * sizeof(Cell);
  return reinterpret_cast<T*>(slots + number * chunk_bytes_);
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

void ShmCollectives::check_signature(int rank, std::uint32_t step) const {
  const auto& signature = cell(rank).signatures[step % kNumBuffers];
  if (signature.load(std::memory_order_relaxed) != signature_) {
    throw base::CommError(fmt::format("rank {} calls another collective", name_of(rank)));
  }
}

/// Until every rank has laid out the chunk, of the same call.
void ShmCollectives::meet(const Waiter& waiter, std::uint32_t step) const {
  waiter.wait(&Cell::copied, step);
  for (int rank = 0; rank < world_size_; ++rank) check_signature(rank, step);
}

void ShmCollectives::all_reduce(void* data, std::int64_t numel, Element element, ReduceOp op,
                                std::chrono::milliseconds timeout) {
  begin(signature_of(Kind::kAllReduce, numel, argument_of(element, op)));
  reduce_bytes(data, data, numel, element, op, timeout);
}

void ShmCollectives::reduce(void* output, const void* input, std::int64_t numel, Element element,
                            ReduceOp op, std::chrono::milliseconds timeout) {
  begin(signature_of(Kind::kReduce, numel, argument_of(element, op)));
  reduce_bytes(output, input, numel, element, op, timeout);
}

void ShmCollectives::reduce_bytes(void* output, const void* input, std::int64_t numel,
                                  Element element, ReduceOp op, std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  with_type(element, [&]<typename T>(T*) {
    reduce_as(static_cast<T*>(output),
              std::span(static_cast<const T*>(input), static_cast<std::size_t>(numel)), op, waiter);
  });
}

// While a rank waits for the sums of one chunk, the next one is already in its other buffer. Who
// wants no sums need not wait for the others': he cannot write over them before all have laid out
// the chunk after the next one.
template <typename T>
void ShmCollectives::reduce_as(T* output, std::span<const T> input, ReduceOp op,
                               const Waiter& waiter) {
  const std::size_t per_chunk = chunk_bytes_ / sizeof(T);
  const auto num_chunks = static_cast<std::size_t>(
      num_chunks_of(std::ssize(input), static_cast<std::int64_t>(per_chunk)));
  const auto chunk = [&](std::size_t i) {
    return input.subspan(i * per_chunk, std::min(per_chunk, input.size() - i * per_chunk));
  };
  const auto fill = [&](std::uint32_t step) { fill_for_reduce(chunk(step - first_step_), step); };
  lay_out(waiter, fill);
  for (std::size_t i = 0; i < num_chunks; ++i) {
    const std::uint32_t step = first_step_ + static_cast<std::uint32_t>(i);
    if (i + 1 < num_chunks) lay_out(waiter, fill);
    meet(waiter, step);
    T* const target = output == nullptr ? nullptr : output + i * per_chunk;
    reduce_segment(target, chunk(i), op, step);
    publish(cell(rank_).used, step);
    if (target == nullptr) continue;
    waiter.wait(&Cell::used, step);
    copy_out(target, std::ssize(chunk(i)), step);
  }
}

void ShmCollectives::reduce_scatter(void* output, const void* input, std::int64_t numel,
                                    Element element, std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  begin(signature_of(Kind::kReduceScatter, numel, argument_of(element, ReduceOp::kSum)));
  with_type(element, [&]<typename T>(T*) {
    reduce_scatter_as(static_cast<T*>(output), static_cast<const T*>(input), numel, waiter);
  });
}

template <typename T>
void ShmCollectives::reduce_scatter_as(T* output, const T* input, std::int64_t numel,
                                       const Waiter& waiter) {
  // A chunk holds the same part of every rank's slice.
  const auto part = static_cast<std::int64_t>(chunk_bytes_ / sizeof(T)) / world_size_;
  const std::int64_t num_chunks = num_chunks_of(numel, part);
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
  begin(signature_of(Kind::kAllGather, bytes));
  const auto* const own = static_cast<const std::byte*>(input);
  auto* const all = static_cast<std::byte*>(output);
  const auto per_chunk = static_cast<std::int64_t>(chunk_bytes_);
  const std::int64_t num_chunks = num_chunks_of(bytes, per_chunk);
  const auto length = [&](std::int64_t i) { return std::min(per_chunk, bytes - i * per_chunk); };
  const auto fill = [&](std::uint32_t step) {
    const std::int64_t i = step - first_step_;
    std::copy_n(own + i * per_chunk, length(i), slot<std::byte>(rank_, step));
  };
  lay_out(waiter, fill);
  for (std::int64_t i = 0; i < num_chunks; ++i) {
    const std::uint32_t step = first_step_ + static_cast<std::uint32_t>(i);
    if (i + 1 < num_chunks) lay_out(waiter, fill);
    meet(waiter, step);
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank == rank_) continue;
      std::copy_n(slot<std::byte>(rank, step), length(i), all + rank * bytes + i * per_chunk);
    }
    publish(cell(rank_).used, step);
  }
  if (all + rank_ * bytes != own) std::copy_n(own, bytes, all + rank_ * bytes);
}

void ShmCollectives::fetch(int root, const void* source, std::int64_t bytes, void* target,
                           Window wanted, std::chrono::milliseconds timeout) {
  const Waiter waiter(*this, timeout);
  begin(signature_of(Kind::kFetch, bytes, root));
  const auto* const all = static_cast<const std::byte*>(source);
  auto* const own = static_cast<std::byte*>(target);
  const auto per_chunk = static_cast<std::int64_t>(chunk_bytes_);
  for (std::int64_t i = 0; i < num_chunks_of(bytes, per_chunk); ++i) {
    const std::int64_t begin = i * per_chunk;
    const std::int64_t end = std::min(bytes, begin + per_chunk);
    if (rank_ == root) {
      lay_out(waiter, [&](std::uint32_t step) {
        std::copy(all + begin, all + end, slot<std::byte>(root, step));
      });
    } else {
      ++copied_;
      waiter.wait_for(root, cell(root).copied, copied_);
      check_signature(root, copied_);
      const std::int64_t first = std::clamp(wanted.begin, begin, end);
      const std::int64_t last = std::clamp(wanted.end, begin, end);
      std::copy_n(slot<std::byte>(root, copied_) + (first - begin), last - first,
                  own + std::max<std::int64_t>(0, first - wanted.begin));
    }
    publish(cell(rank_).used, copied_);
  }
  if (rank_ == root && all + wanted.begin != own) {
    std::copy(all + wanted.begin, all + wanted.end, own);
  }
}

/// Lays out what the other ranks will sum.
template <typename T>
void ShmCollectives::fill_for_reduce(std::span<const T> chunk, std::uint32_t step) {
  const auto numel = std::ssize(chunk);
  const Segment own = segment_of(numel, rank_, world_size_);
  T* target = slot<T>(rank_, step);
  std::copy_n(chunk.data(), own.begin, target);
  std::copy_n(chunk.data() + own.end, numel - own.end, target + own.end);
}

template <typename T>
void ShmCollectives::reduce_segment(T* output, std::span<const T> chunk, ReduceOp op,
                                    std::uint32_t step) {
  const Segment own = segment_of(std::ssize(chunk), rank_, world_size_);
  std::vector<const T*> sources;
  for (int rank = 0; rank < world_size_; ++rank) {
    sources.push_back((rank == rank_ ? chunk.data() : slot<T>(rank, step)) + own.begin);
  }
  combine_all<T>(sources, result<T>(step) + own.begin,
                 output == nullptr ? nullptr : output + own.begin, own.end - own.begin, op);
}

template <typename T>
void ShmCollectives::copy_out(T* output, std::int64_t numel, std::uint32_t step) {
  const Segment own = segment_of(numel, rank_, world_size_);
  const T* source = result<T>(step);
  std::copy_n(source, own.begin, output);
  std::copy_n(source + own.end, numel - own.end, output + own.end);
}

}  // namespace paceline::comm
