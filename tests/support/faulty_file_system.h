#pragma once

#include "paceline/base/file.h"

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace paceline::test {

/// The machine's files, except that operations fail on command: a full disk, a read-only folder, an
/// operation that never comes to its end. Not thread-safe.
class FaultyFileSystem final : public base::FileSystem {
 public:
  /// Before each operation ("create", "append", "write", "sync", "close", "rename", "link",
  /// "set_symlink", "sync_directory", "create_directories", "create_directory", "remove_all") on a
  /// path: an errno makes it fail, 0 lets it pass. EXDEV for "link" means another disk.
  using Fault = std::function<int(std::string_view operation, const std::filesystem::path& path)>;

  explicit FaultyFileSystem(Fault fault = {}) : fault_(std::move(fault)) {}

  void set_fault(Fault fault) { fault_ = std::move(fault); }

  /// The disk is full once `num_bytes` more are written.
  void fill_disk_after(std::size_t num_bytes) {
    room_ = num_bytes;
    is_limited_ = true;
  }
  void free_disk() { is_limited_ = false; }

  std::unique_ptr<base::OutputFile> create(const std::filesystem::path& path) override {
    check("create", path);
    return std::make_unique<FaultyFile>(*this, path, real_.create(path));
  }
  std::unique_ptr<base::OutputFile> append(const std::filesystem::path& path) override {
    check("append", path);
    return std::make_unique<FaultyFile>(*this, path, real_.append(path));
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    check("rename", to);
    real_.rename(from, to);
  }
  bool link(const std::filesystem::path& from, const std::filesystem::path& to) override {
    const int error = fault_ ? fault_("link", to) : 0;
    if (error != 0 && error != EXDEV) throw base::FileError("link", to, error);
    return error == 0 && real_.link(from, to);
  }
  void set_symlink(const std::filesystem::path& link,
                   const std::filesystem::path& target) override {
    check("set_symlink", link);
    real_.set_symlink(link, target);
  }
  void sync_directory(const std::filesystem::path& path) override {
    check("sync_directory", path);
    real_.sync_directory(path);
  }
  void create_directories(const std::filesystem::path& path) override {
    check("create_directories", path);
    real_.create_directories(path);
  }
  void create_directory(const std::filesystem::path& path) override {
    check("create_directory", path);
    real_.create_directory(path);
  }
  void remove_all(const std::filesystem::path& path) override {
    check("remove_all", path);
    real_.remove_all(path);
  }

 private:
  class FaultyFile final : public base::OutputFile {
   public:
    FaultyFile(FaultyFileSystem& files, std::filesystem::path path,
               std::unique_ptr<base::OutputFile> real)
        : files_(files), path_(std::move(path)), real_(std::move(real)) {}
    void write(std::string_view bytes) override {
      files_.check("write", path_);
      if (!files_.take_room(bytes.size())) throw base::FileError("write", path_, ENOSPC);
      real_->write(bytes);
    }
    void sync() override {
      files_.check("sync", path_);
      real_->sync();
    }
    void close() override {
      files_.check("close", path_);
      real_->close();
    }

   private:
    FaultyFileSystem& files_;
    std::filesystem::path path_;
    std::unique_ptr<base::OutputFile> real_;
  };

  void check(std::string_view operation, const std::filesystem::path& path) {
    const int error = fault_ ? fault_(operation, path) : 0;
    if (error != 0) throw base::FileError(operation, path, error);
  }

  bool take_room(std::size_t wanted) {
    if (!is_limited_) return true;
    if (wanted > room_) return false;
    room_ -= wanted;
    return true;
  }

  base::RealFileSystem real_;
  Fault fault_;
  std::size_t room_ = 0;
  bool is_limited_ = false;
};

}  // namespace paceline::test
