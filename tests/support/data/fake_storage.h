#pragma once

#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace paceline::test {

/// Files in memory, as slow and as faulty as a test wants them. Set up before it is shared.
class FakeStorage final : public data::Storage, public std::enable_shared_from_this<FakeStorage> {
 public:
  /// What happens at every read besides: it may throw, or spoil the bytes. One call at a time.
  std::function<void(const std::string& path, std::uint64_t offset, std::span<std::uint8_t> bytes)>
      disturb;
  std::map<std::string, std::string> files;  ///< content by whole path
  std::int64_t changed = 1;                  ///< of all files
  std::filesystem::path cache = {};          ///< empty: the user's
  std::chrono::microseconds latency{0};      ///< of each call
  double bytes_per_second = 0;               ///< of all reads together; 0: no limit
  int connections = 8;

  std::atomic<int> num_opened = 0;
  std::atomic<int> num_known = 0;  ///< opened with facts
  std::atomic<int> num_facts = 0;
  std::atomic<int> num_lists = 0;
  std::atomic<int> num_reads = 0;
  std::atomic<int> num_at_once = 0;   ///< reads
  std::atomic<int> most_at_once = 0;  ///< reads
  std::atomic<std::int64_t> bytes_read = 0;

  /// The next call throws it instead of giving an answer.
  template <class Error>
  void fail_next(Error error) {
    const std::lock_guard lock(mutex_);
    faults_.push_back([error] { throw error; });
  }

  std::unique_ptr<const data::InputFile> open(const std::string& path) const override {
    auto* const self = const_cast<FakeStorage*>(this);
    ++self->num_opened;
    self->answer();
    if (!files.contains(path)) throw base::DataError(path + ": there is no such file");
    return std::make_unique<const File>(path, self->shared_from_this());
  }

  std::unique_ptr<const data::InputFile> open_known(const std::string& path,
                                                    const data::FileFacts&) const override {
    auto* const self = const_cast<FakeStorage*>(this);
    ++self->num_known;
    return std::make_unique<const File>(path, self->shared_from_this());
  }

  std::optional<data::FileFacts> facts(const std::string& path) const override {
    auto* const self = const_cast<FakeStorage*>(this);
    ++self->num_facts;
    self->answer();
    const auto found = files.find(path);
    if (found != files.end())
      return data::FileFacts{.size = found->second.size(), .changed = changed};
    const auto inside = files.lower_bound(path + "/");
    if (inside == files.end() || !inside->first.starts_with(path + "/")) return std::nullopt;
    return data::FileFacts{.is_folder = true};
  }

  std::vector<data::FileEntry> list(const std::string& folder) const override {
    auto* const self = const_cast<FakeStorage*>(this);
    ++self->num_lists;
    self->answer();
    std::vector<data::FileEntry> entries;
    const std::string prefix = folder + "/";
    for (auto file = files.lower_bound(prefix);
         file != files.end() && file->first.starts_with(prefix); ++file) {
      const std::string rest = file->first.substr(prefix.size());
      const std::string name = rest.substr(0, rest.find('/'));
      if (!entries.empty() && entries.back().name == name) continue;
      const bool is_folder = name.size() != rest.size();
      entries.push_back({name,
                         {.is_folder = is_folder,
                          .size = is_folder ? 0 : file->second.size(),
                          .changed = is_folder ? 0 : changed}});
    }
    if (entries.empty()) throw base::DataError(folder + ": there is no such folder");
    return entries;
  }

  int num_connections() const override { return connections; }
  std::filesystem::path cache_folder() const override {
    return cache.empty() ? Storage::cache_folder() : cache;
  }

 private:
  /// Counts a read that is under way.
  struct AtOnce {
    explicit AtOnce(FakeStorage& counted) : storage(counted) {
      const int now = ++storage.num_at_once;
      int most = storage.most_at_once;
      while (now > most && !storage.most_at_once.compare_exchange_weak(most, now)) {
      }
    }
    ~AtOnce() { --storage.num_at_once; }
    FakeStorage& storage;
  };

  class File final : public data::InputFile {
   public:
    File(const std::string& path, std::shared_ptr<FakeStorage> storage)
        : InputFile(path, storage->files.at(path).size()), storage_(std::move(storage)) {}

    void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
      const AtOnce at_once(*storage_);
      storage_->transfer(target.size());
      const std::string& content = storage_->files.at(path());
      if (offset + target.size() > content.size())
        throw base::DataError(path() + ": ends before that");
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset), target.size(),
                  target.begin());
      if (!storage_->disturb) return;
      const std::lock_guard lock(storage_->mutex_);
      storage_->disturb(path(), offset, target);
    }

   private:
    std::shared_ptr<FakeStorage> storage_;
  };

  void answer() {
    if (latency.count() > 0) std::this_thread::sleep_for(latency);
    std::function<void()> fault;
    {
      const std::lock_guard lock(mutex_);
      if (faults_.empty()) return;
      fault = std::move(faults_.front());
      faults_.pop_front();
    }
    fault();
  }

  /// The bytes of all reads follow each other through one line.
  void transfer(std::size_t size) {
    ++num_reads;
    answer();
    bytes_read += static_cast<std::int64_t>(size);
    if (bytes_per_second <= 0) return;
    std::chrono::steady_clock::time_point end;
    {
      const std::lock_guard lock(mutex_);
      line_free_at_ = std::max(line_free_at_, std::chrono::steady_clock::now());
      line_free_at_ += std::chrono::nanoseconds(
          static_cast<std::int64_t>(1e9 * static_cast<double>(size) / bytes_per_second));
      end = line_free_at_;
    }
    std::this_thread::sleep_until(end);
  }

  std::mutex mutex_;
  std::deque<std::function<void()>> faults_;
  std::chrono::steady_clock::time_point line_free_at_;
};

/// The files of a local folder under remote names.
inline std::shared_ptr<FakeStorage> copy_of(const std::filesystem::path& folder,
                                            const std::string& remote) {
  auto storage = std::make_shared<FakeStorage>();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string name = entry.path().lexically_relative(folder).string();
    storage->files[remote + "/" + name] = {std::istreambuf_iterator<char>(file), {}};
  }
  return storage;
}

/// The whole content of a file.
inline std::string read_text(const data::InputFile& file) {
  std::string text(file.size(), '\0');
  file.read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

}  // namespace paceline::test
