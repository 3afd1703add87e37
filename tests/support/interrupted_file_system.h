#pragma once

#include "paceline/base/file.h"
#include "support/unsynced_file_system.h"

#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace paceline::test {

/// The real file system (without fsync) until operation number `fail_at` (from 0): a write, sync,
/// close, rename, creation or removal. That one fails; a failing write leaves half of its bytes
/// behind, as a full disk does.
class InterruptedFileSystem final : public base::FileSystem {
 public:
  enum class Fault {
    kFullDisk,  ///< this operation throws FileError(ENOSPC), later ones work again
    kDeath,     ///< this and all later ones throw Died: on disk it looks as after SIGKILL
  };
  struct Died : std::runtime_error {
    Died() : std::runtime_error("the process was killed") {}
  };
  static constexpr int kNever = -1;

  explicit InterruptedFileSystem(int fail_at = kNever, Fault fault = Fault::kFullDisk)
      : fail_at_(fail_at), fault_(fault) {}

  /// Operations so far.
  int num_operations() const { return num_operations_; }

  std::unique_ptr<base::OutputFile> create(const std::filesystem::path& path) override {
    step(path, [] {});
    return std::make_unique<File>(*this, path, real_.create(path));
  }
  std::unique_ptr<base::OutputFile> append(const std::filesystem::path& path) override {
    step(path, [] {});
    return std::make_unique<File>(*this, path, real_.append(path));
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    step(to, [] {});
    real_.rename(from, to);
  }
  bool link(const std::filesystem::path& from, const std::filesystem::path& to) override {
    step(to, [] {});
    return real_.link(from, to);
  }
  void set_symlink(const std::filesystem::path& link,
                   const std::filesystem::path& target) override {
    step(link, [] {});
    real_.set_symlink(link, target);
  }
  void sync_directory(const std::filesystem::path& path) override {
    step(path, [] {});
    real_.sync_directory(path);
  }
  void create_directories(const std::filesystem::path& path) override {
    step(path, [] {});
    real_.create_directories(path);
  }
  void create_directory(const std::filesystem::path& path) override {
    step(path, [] {});
    real_.create_directory(path);
  }
  void remove_all(const std::filesystem::path& path) override {
    step(path, [&] { remove_one_file(path); });
    real_.remove_all(path);
  }

 private:
  class File final : public base::OutputFile {
   public:
    File(InterruptedFileSystem& files, std::filesystem::path path,
         std::unique_ptr<base::OutputFile> real)
        : files_(files), path_(std::move(path)), real_(std::move(real)) {}
    void write(std::string_view bytes) override {
      files_.step(path_, [&] { real_->write(bytes.substr(0, bytes.size() / 2)); });
      real_->write(bytes);
    }
    void sync() override {
      files_.step(path_, [] {});
      real_->sync();
    }
    void close() override {
      files_.step(path_, [] {});
      real_->close();
    }

   private:
    InterruptedFileSystem& files_;
    std::filesystem::path path_;
    std::unique_ptr<base::OutputFile> real_;
  };

  /// Counts an operation; if it is to fail, does `half` of it and throws.
  void step(const std::filesystem::path& path, const std::function<void()>& half) {
    const std::lock_guard lock(mutex_);
    const int number = num_operations_++;
    const bool is_dead = fault_ == Fault::kDeath && fail_at_ != kNever && number > fail_at_;
    if (is_dead) throw Died();
    if (number != fail_at_) return;
    half();
    if (fault_ == Fault::kDeath) throw Died();
    throw base::FileError("write", path, ENOSPC);
  }

  /// A removal that stops midway.
  static void remove_one_file(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path)) return;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::filesystem::remove_all(entry.path());
      return;
    }
  }

  UnsyncedFileSystem real_;
  std::mutex mutex_;
  int num_operations_ = 0;
  int fail_at_;
  Fault fault_;
};

}  // namespace paceline::test
