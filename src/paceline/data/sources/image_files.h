#pragma once

#include "paceline/data/dataset/dataset.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// The files that words name, in their order: a folder stands for the image files in it and below
/// it (see is_image_name(); hidden ones are left out), sorted by path; a pattern with *, ? or [
/// that is no file itself for what it finds, sorted; anything else for itself, whether or not it is
/// there. Throws DataError for a folder or pattern that no image is found by.
std::vector<std::filesystem::path> find_image_files(std::span<const std::string> words);

/// Image files of which nothing is known: samples without labels or classes, in this order. A file
/// that is not there, or is none, is found out when it is read.
std::unique_ptr<Dataset> open_image_files(std::vector<std::filesystem::path> files);

}  // namespace paceline::data
