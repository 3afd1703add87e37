#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// A file in which a data set is published.
struct PublishedFile {
  std::string name = {};
  std::string url = {};          ///< empty: none that everybody may read
  std::string md5 = {};          ///< empty: not published
  std::uint64_t size_bytes = 0;  ///< about; 0: little
  /// One of several that say the same: of all that are alternatives one is needed.
  bool is_alternative = false;
};

/// How many images one split has.
struct ExpectedCounts {
  std::int64_t samples = 0;
  std::int64_t fewest_per_class = 0;
  std::int64_t most_per_class = 0;
};

/// A public data set: where it is published and what must come out.
struct KnownSet {
  std::string name = {};
  std::string format = {};  ///< the data set, as a recipe names it, that reads the published files
  std::vector<PublishedFile> files = {};
  std::string folder_in_archive =
      {};  ///< of archives that have to be unpacked: what to read of them
  int classes = 0;
  ExpectedCounts train = {};
  ExpectedCounts val = {};
  std::uint64_t image_bytes = 0;  ///< of all images together, about
  bool is_pixels = false;         ///< as which it is packed in any mode
  std::string how_to_get = {};    ///< without URLs: what a user has to do
};

/// imagenet, imagenette (also of 320 and 160 pixels), tiny-imagenet, cifar10, cifar100.
std::span<const KnownSet> known_sets();

/// Throws ConfigError that names those there are.
const KnownSet& known_set(const std::string& name);

/// Throws DataError that says what is missing or too much unless a split of `set` has the classes
/// and images that were published. `split` as in "train".
void check_counts(const data::Dataset& dataset, const KnownSet& set, const ExpectedCounts& expected,
                  const std::string& split);

}  // namespace paceline::dataset_tools
