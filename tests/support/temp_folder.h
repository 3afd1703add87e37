#pragma once

#include "paceline/base/file.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace paceline::test {

/// A folder of its own for one test, removed with all that is in it.
class TempFolder {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }

  /// Writes a file, making the folders on the way to it.
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    // A new file: one that is cut to nothing and written again goes to disk at once on some
    // systems.
    std::filesystem::remove(file);
    std::ofstream stream(file, std::ios::binary);
    stream << content;
    stream.close();
    if (!stream) throw std::runtime_error("cannot write " + file.string());
    return file;
  }

 private:
  base::TempDir folder_{"paceline-test"};
};

}  // namespace paceline::test
