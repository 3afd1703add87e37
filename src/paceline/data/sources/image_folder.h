#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/index/image_index.h"
#include "paceline/data/storage/read_ahead.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// Image files (see is_image_name()) in one folder per class, `path`/`split`/<class>/**, with
/// torchvision's ImageFolder's order and labels (see ImageIndex). Samples are the files' bytes.
///
/// Labels follow the class folders of `label_split`, usually the training split, so that a
/// validation split which lacks a class keeps the others' labels. The list of files is kept (see
/// index_files()) and made anew when a folder has changed; that of remote files at each start,
/// by one of the processes of a machine that start together.
class ImageFolder final : public Dataset {
 public:
  /// Throws DataError that names the folder and what was expected there.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              const std::string& label_split,
              const std::shared_ptr<const Storage>& storage = local_storage());
  /// The same with given classes, in sorted order.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              std::vector<std::string> classes,
              std::shared_ptr<const Storage> storage = local_storage());
  ImageFolder(const ImageFolder&) = delete;
  ImageFolder& operator=(const ImageFolder&) = delete;

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override;
  bool reads_ahead() const override { return read_ahead_->is_on(); }
  void will_read(std::span<const std::int64_t> indices) const override;
  void will_read_no_more() const override;
  std::string name(std::int64_t index) const override;
  std::string describe(std::int64_t index) const override;
  LeftOut left_out() const override;
  std::string fingerprint() const override { return index_.fingerprint(); }

 private:
  std::unique_ptr<const InputFile> open(std::int64_t index) const;

  std::filesystem::path root_;
  std::vector<std::string> classes_;
  std::shared_ptr<const Storage> storage_;
  ImageIndex index_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

}  // namespace paceline::data
