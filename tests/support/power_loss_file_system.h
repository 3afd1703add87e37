#pragma once

#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "support/disk_model.h"
#include "support/unsynced_file_system.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::test {

/// The machine's files without fsync, where the power fails after every single operation: a check
/// looks at each disk that a DiskModel says could be found then. Thread-safe.
class PowerLossFileSystem final : public base::FileSystem {
 public:
  /// Says what is wrong with such a disk, laid out in a folder that it may change; "" if nothing.
  using Check = std::function<std::string(const std::filesystem::path& disk)>;

  /// Everything happens below `root`; what is there already is on disk. A sync of the name
  /// `left_out` (see syncs()) does nothing, and disks are looked at only from then on.
  explicit PowerLossFileSystem(std::filesystem::path root, std::string left_out = "")
      : root_(std::move(root)), left_out_(std::move(left_out)), is_looking_(left_out_.empty()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const std::filesystem::path path = entry.path().lexically_relative(root_);
      if (entry.is_directory()) {
        model_.make_folders(path);
      } else {
        model_.make_folders(path.parent_path());
        model_.create(path).written = base::read_file(entry.path());
      }
    }
    model_.sync_all();
  }

  /// What must hold from here on whenever the power fails.
  void expect(Check check) {
    const std::lock_guard lock(mutex_);
    check_ = std::move(check);
    seen_.clear();
    look("what was promised");
  }

  /// The first thing that was wrong, and when; "" if nothing was.
  const std::string& problem() const { return problem_; }

  /// Each sync so far by a name that it has in every run.
  const std::vector<std::string>& syncs() const { return syncs_; }

  /// As between two disks.
  void refuse_links() { refuses_links_ = true; }

  std::unique_ptr<base::OutputFile> create(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    auto real = real_.create(path);
    auto file = std::make_unique<File>(*this, path, std::move(real), model_.create(own(path)));
    look("the creation of " + name_of(path));
    return file;
  }
  std::unique_ptr<base::OutputFile> append(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    auto real = real_.append(path);
    DiskModel::File* const found = model_.find_file(own(path));
    auto file = std::make_unique<File>(*this, path, std::move(real),
                                       found != nullptr ? *found : model_.create(own(path)));
    look("the creation of " + name_of(path));
    return file;
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    const std::lock_guard lock(mutex_);
    real_.rename(from, to);
    model_.rename(own(from), own(to));
    look("the rename to " + name_of(to));
  }
  bool link(const std::filesystem::path& from, const std::filesystem::path& to) override {
    const std::lock_guard lock(mutex_);
    if (refuses_links_ || !real_.link(from, to)) return false;
    model_.link(own(from), own(to));
    look("the link " + name_of(to));
    return true;
  }
  /// Symbolic links are never synced, and no disk that is looked at has any.
  void set_symlink(const std::filesystem::path& link,
                   const std::filesystem::path& target) override {
    real_.set_symlink(link, target);
  }
  void sync_directory(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    if (!is_left_out("sync_directory " + name_of(path))) model_.sync_folder(own(path));
    look("sync_directory " + name_of(path));
  }
  void create_directories(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    real_.create_directories(path);
    model_.make_folders(own(path));
    look("the creation of " + name_of(path));
  }
  void create_directory(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    real_.create_directory(path);
    model_.make_folders(own(path));
    look("the creation of " + name_of(path));
  }
  void remove_all(const std::filesystem::path& path) override {
    const std::lock_guard lock(mutex_);
    real_.remove_all(path);
    model_.remove_all(own(path));
    look("the removal of " + name_of(path));
  }

 private:
  class File final : public base::OutputFile {
   public:
    File(PowerLossFileSystem& files, std::filesystem::path path,
         std::unique_ptr<base::OutputFile> real, DiskModel::File& model)
        : files_(files), path_(std::move(path)), real_(std::move(real)), model_(model) {}
    void write(std::string_view bytes) override {
      const std::lock_guard lock(files_.mutex_);
      real_->write(bytes);
      model_.written += bytes;
      files_.look("a write to " + files_.name_of(path_));
    }
    void sync() override {
      const std::lock_guard lock(files_.mutex_);
      if (!files_.is_left_out("sync " + files_.name_of(path_))) DiskModel::sync(model_);
      files_.look("sync " + files_.name_of(path_));
    }
    void close() override { real_->close(); }

   private:
    PowerLossFileSystem& files_;
    std::filesystem::path path_;
    std::unique_ptr<base::OutputFile> real_;
    DiskModel::File& model_;
  };

  std::filesystem::path own(const std::filesystem::path& path) const {
    const std::filesystem::path relative = path.lexically_normal().lexically_relative(root_);
    if (relative.empty() || *relative.begin() == "..")
      throw std::logic_error(path.string() + " is not below " + root_.string());
    return relative == "." ? "" : relative;
  }

  /// Without what differs from run to run.
  std::string name_of(const std::filesystem::path& path) const {
    std::string name = own(path).string();
    for (const std::string_view varies : {".tmp-", "tfevents."}) {
      const std::size_t at = name.find(varies);
      if (at != std::string::npos) name.resize(at + varies.size());
    }
    return name.empty() ? "." : name;
  }

  bool is_left_out(const std::string& sync) {
    const int number = ++num_syncs_[sync];
    syncs_.push_back(number == 1 ? sync : fmt::format("{} ({})", sync, number));
    const bool is_this = syncs_.back() == left_out_;
    is_looking_ = is_looking_ || is_this;
    return is_this;
  }

  void look(const std::string& after_what) {
    if (!check_ || !is_looking_ || !problem_.empty()) return;
    for (const auto& [what, disk] : model_.after_power_loss()) {
      if (!seen_.insert(disk).second) continue;
      const base::TempDir folder;
      lay_out(disk, folder.path());
      const std::string found = check_(folder.path());
      if (found.empty()) continue;
      problem_ = fmt::format("after {}, with {}: {}", after_what, what, found);
      return;
    }
  }

  static void lay_out(const DiskModel::Disk& disk, const std::filesystem::path& folder) {
    UnsyncedFileSystem files;
    for (const auto& [path, content] : disk) {
      if (content) {
        files.create(folder / path)->write(*content);
      } else {
        files.create_directories(folder / path);
      }
    }
  }

  std::filesystem::path root_;
  std::string left_out_;
  bool refuses_links_ = false;
  UnsyncedFileSystem real_;

  std::mutex mutex_;  ///< guards what follows
  bool is_looking_;
  DiskModel model_;
  Check check_;
  std::set<DiskModel::Disk> seen_;
  std::string problem_;
  std::vector<std::string> syncs_;
  std::map<std::string, int> num_syncs_;
};

/// What a test does with an empty folder, and what it expects of its disk meanwhile.
struct PowerLossScenario {
  /// What is there before; all of it is on disk.
  std::function<void(const std::filesystem::path& root)> prepare = [](const auto&) {};
  std::function<void(PowerLossFileSystem& files, const std::filesystem::path& root)> run;
};

/// Runs it with the power failing after every operation; `left_out` as in PowerLossFileSystem.
/// Returns the problem, and gives all syncs.
inline std::string problem_of(const PowerLossScenario& scenario, const std::string& left_out = "",
                              std::vector<std::string>* syncs = nullptr) {
  const base::TempDir root;
  scenario.prepare(root.path());
  PowerLossFileSystem files(root.path(), left_out);
  scenario.run(files, root.path());
  if (syncs != nullptr) *syncs = files.syncs();
  return files.problem();
}

/// Runs it once for each of its syncs, without that one, and returns those whose loss no disk
/// shows.
inline std::vector<std::string> syncs_without_need(const PowerLossScenario& scenario) {
  std::vector<std::string> syncs;
  problem_of(scenario, "", &syncs);
  std::erase_if(syncs,
                [&](const std::string& sync) { return !problem_of(scenario, sync).empty(); });
  return syncs;
}

/// Nothing goes wrong, and without any single one of its syncs something does.
inline void expect_durable(const PowerLossScenario& scenario) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  EXPECT_EQ(problem_of(scenario), "");
  EXPECT_THAT(syncs_without_need(scenario), ::testing::IsEmpty());
}

}  // namespace paceline::test
