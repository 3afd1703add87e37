#include "paceline/data/storage/retrying_storage.h"

#include "paceline/base/hash.h"
#include "paceline/base/log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::data {
namespace {

class Retrier {
 public:
  Retrier(const RetryOptions& options, std::shared_ptr<RetryCounts> counts)
      : options_(options), counts_(std::move(counts)) {
    if (options_.interruption == nullptr) options_.interruption = &never_;
  }

  template <class Action>
  auto run(const std::string& path, Action action) const {
    for (int num_tries = 1;; ++num_tries) {
      try {
        return action();
      } catch (const TransientError& error) {
        wait(path, num_tries, error);  // throws after the last try
      }
    }
  }

 private:
  void wait(const std::string& path, int num_tries, const TransientError& error) const {
    if (num_tries > options_.retries) {
      counts_->given_up.fetch_add(1, std::memory_order_relaxed);
      throw base::DataError(fmt::format(
          "{}: given up after {} {}; the last one: {}; see whether the other side works and is in "
          "reach, or raise data.remote.retries ({}) or data.remote.timeout",
          path, num_tries, num_tries == 1 ? "try" : "tries", error.what(), options_.retries));
    }
    const std::int64_t count = counts_->retries.fetch_add(1, std::memory_order_relaxed);
    const double pause = pause_before(path, num_tries, error.wait_s, count);
    if (num_tries == 1 && is_first_of(path)) {
      base::log_warning(
          "{}; trying again in {:.2g} s, up to {} times (further retries of this "
          "path are only counted)",
          error.what(), pause, options_.retries);
    }
    rest(path, pause);
  }

  void rest(const std::string& path, double seconds) const {
    if (options_.sleep) return options_.sleep(seconds);
    const std::chrono::duration<double> time(seconds);
    const auto ticks = std::chrono::duration_cast<base::Interruption::Clock::duration>(time);
    if (options_.interruption->sleep_for(ticks)) return;
    options_.interruption->check(fmt::format("waiting before {} is read again", path));
  }

  double pause_before(const std::string& path, int num_tries, double wanted_s,
                      std::int64_t count) const {
    const double whole = options_.first_pause_s * std::ldexp(1.0, std::min(num_tries - 1, 30));
    // Other threads, ranks and times draw other pauses.
    const std::uint64_t draw =
        base::xxh3(fmt::format("{} {} {} {}", path, count, base::SystemClock().wall_s(),
                               std::hash<std::thread::id>{}(std::this_thread::get_id())));
    const double share = 0.5 + 0.5 * std::ldexp(static_cast<double>(draw >> 11), -53);
    return std::min(std::max(std::min(whole, options_.longest_pause_s) * share, wanted_s),
                    options_.longest_pause_s);
  }

  bool is_first_of(const std::string& path) const {
    constexpr std::size_t kMaxNamed =
        100;  // of a million files that fail, so many lines say enough
    const std::lock_guard lock(mutex_);
    return named_.size() < kMaxNamed && named_.insert(path).second;
  }

  const base::Interruption never_;
  RetryOptions options_;
  std::shared_ptr<RetryCounts> counts_;
  mutable std::mutex mutex_;
  mutable std::set<std::string> named_;  ///< paths that were logged
};

class RetryingFile final : public InputFile {
 public:
  RetryingFile(std::unique_ptr<const InputFile> file, std::shared_ptr<const Retrier> retrier)
      : InputFile(file->path(), file->size()),
        file_(std::move(file)),
        retrier_(std::move(retrier)) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    retrier_->run(path(), [&] { file_->read(offset, target); });
  }

  void read_once(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    retrier_->run(path(), [&] { file_->read_once(offset, target); });
  }

  void read_parts(std::span<const FilePart> parts) const override {
    if (parts.size() == 1) return read(parts[0].offset, parts[0].target);
    if (parts.empty()) return;
    const std::uint64_t begin = parts.front().offset;
    std::uint64_t end = begin;
    for (const FilePart& part : parts) end = std::max(end, part.offset + part.target.size());
    std::vector<std::uint8_t> bytes(end - begin);
    read(begin, bytes);
    for (const FilePart& part : parts)
      std::copy_n(bytes.data() + (part.offset - begin), part.target.size(), part.target.begin());
  }

 private:
  std::unique_ptr<const InputFile> file_;
  std::shared_ptr<const Retrier> retrier_;
};

class RetryingStorage final : public Storage {
 public:
  RetryingStorage(std::shared_ptr<const Storage> storage, const RetryOptions& options,
                  std::shared_ptr<RetryCounts> counts)
      : storage_(std::move(storage)),
        retrier_(std::make_shared<const Retrier>(options, std::move(counts))) {}

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return with_retries(retrier_->run(path, [&] { return storage_->open(path); }));
  }

  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override {
    return with_retries(retrier_->run(path, [&] { return storage_->open_known(path, facts); }));
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    return retrier_->run(path, [&] { return storage_->facts(path); });
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    return retrier_->run(folder, [&] { return storage_->list(folder); });
  }

  int num_connections() const override { return storage_->num_connections(); }

 private:
  std::unique_ptr<const InputFile> with_retries(std::unique_ptr<const InputFile> file) const {
    return std::make_unique<const RetryingFile>(std::move(file), retrier_);
  }

  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<const Retrier> retrier_;
};

}  // namespace

std::shared_ptr<const Storage> retry_transient_errors(std::shared_ptr<const Storage> storage,
                                                      const RetryOptions& options,
                                                      std::shared_ptr<RetryCounts> counts) {
  return std::make_shared<const RetryingStorage>(std::move(storage), options, std::move(counts));
}

}  // namespace paceline::data
