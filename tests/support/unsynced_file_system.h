#pragma once

#include "paceline/base/file.h"

#include <memory>
#include <utility>

namespace paceline::test {

/// The real file system without fsync, which a test cannot observe and the disk takes its time for.
class UnsyncedFileSystem : public base::FileSystem {
 public:
  std::unique_ptr<base::OutputFile> create(const std::filesystem::path& path) override {
    return std::make_unique<File>(real_.create(path));
  }
  std::unique_ptr<base::OutputFile> append(const std::filesystem::path& path) override {
    return std::make_unique<File>(real_.append(path));
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    real_.rename(from, to);
  }
  bool link(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return real_.link(from, to);
  }
  void set_symlink(const std::filesystem::path& link,
                   const std::filesystem::path& target) override {
    real_.set_symlink(link, target);
  }
  void sync_directory(const std::filesystem::path&) override {}
  void create_directories(const std::filesystem::path& path) override {
    real_.create_directories(path);
  }
  void create_directory(const std::filesystem::path& path) override {
    real_.create_directory(path);
  }
  void remove_all(const std::filesystem::path& path) override { real_.remove_all(path); }

 private:
  class File final : public base::OutputFile {
   public:
    explicit File(std::unique_ptr<base::OutputFile> real) : real_(std::move(real)) {}
    void write(std::string_view bytes) override { real_->write(bytes); }
    void sync() override {}
    void close() override { real_->close(); }

   private:
    std::unique_ptr<base::OutputFile> real_;
  };

  base::RealFileSystem real_;
};

}  // namespace paceline::test
