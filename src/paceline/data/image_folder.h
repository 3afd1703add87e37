#pragma once

#include "paceline/data/dataset.h"
#include "paceline/data/image_index.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace paceline::data {

/// JPEG and PNG files in one folder per class, `path`/`split`/<class>/**, with torchvision's
/// ImageFolder's order and labels (see ImageIndex). Samples are the files' bytes.
///
/// Labels follow the class folders of `label_split`, usually the training split, so that a
/// validation split which lacks a class keeps the others' labels. The list of files is kept (see
/// index_files()) and made anew when a folder has changed.
class ImageFolder final : public Dataset {
 public:
  /// Throws DataError that names the folder and what was expected there.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              const std::string& label_split);
  /// The same with given classes, in sorted order.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              std::vector<std::string> classes);

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::string name(std::int64_t index) const override;
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override { return index_.fingerprint(); }

 private:
  std::filesystem::path root_;
  std::vector<std::string> classes_;
  ImageIndex index_;
};

}  // namespace paceline::data
