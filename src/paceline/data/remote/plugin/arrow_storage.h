#pragma once

#include "paceline/data/storage/storage.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace arrow {
class Status;
}
namespace arrow::fs {
class FileSystem;
}

namespace paceline::data {

/// What Arrow does not know of a cloud.
class Cloud {
 public:
  virtual ~Cloud() = default;
  virtual std::string_view scheme() const = 0;
  /// The file system of a bucket; called once per bucket. Throws ConfigError.
  virtual std::shared_ptr<arrow::fs::FileSystem> connect(const std::string& bucket) const = 0;
  /// Whether Arrow's list of a folder names the folders in it. If not, all that lies below is
  /// listed.
  virtual bool lists_folders() const { return true; }
  /// Whether the same call may succeed a moment later.
  virtual bool may_pass(const arrow::Status& error) const = 0;
  /// What is wrong and the cure, in a sentence without the path; empty if it is nothing that is
  /// known.
  virtual std::string explain(const arrow::Status& error) const = 0;
};

/// Buckets of a cloud by one of Arrow's file systems.
std::unique_ptr<const Storage> open_arrow_storage(std::unique_ptr<const Cloud> cloud,
                                                  int num_connections);

}  // namespace paceline::data
