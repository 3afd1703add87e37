#include "paceline/dataset_tools/prepare/known_sets.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>

namespace paceline::dataset_tools {
namespace {

KnownSet imagenet() {
  return {
      .name = "imagenet",
      .format = "ilsvrc2012",
      .files = {{"ILSVRC2012_img_train.tar", "", "1d675b47d978889d74fa0da5fadfb00e",
                 147'897'477'120},
                {"ILSVRC2012_img_val.tar", "", "29b22e2961454d5413ddabcf34fc5622", 6'744'924'160},
                {"ILSVRC2012_devkit_t12.tar.gz", "", "fa75699e90414af021442c21a62c3abf", 0, true},
                {"LOC_val_solution.csv", "", "", 0, true},
                {"val_labels.txt", "", "", 0, true},
                {"val.txt", "", "", 0, true}},
      .classes = 1000,
      .train = {1'281'167, 732, 1300},
      .val = {50'000, 50, 50},
      .image_bytes = 147'000'000'000,
      .how_to_get =
          "its owners want every user to accept their terms. Get ILSVRC2012_img_train.tar, "
          "ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz from "
          "https://image-net.org/download-images into a folder, or Kaggle's folders "
          "(imagenet-object-localization-challenge), and give --from FOLDER; or a place that has "
          "them, --from s3://BUCKET/FOLDER or --from https://HOST/FOLDER; or accept the terms at "
          "https://huggingface.co/datasets/ILSVRC/imagenet-1k, set HF_TOKEN and give --from "
          "hf:ILSVRC/imagenet-1k"};
}

KnownSet imagenette(const std::string& suffix, const std::string& md5, std::uint64_t size_bytes) {
  const std::string file = "imagenette2" + suffix + ".tgz";
  return {.name = "imagenette" + suffix,
          .format = "image_folder",
          .files = {{file, "https://s3.amazonaws.com/fast-ai-imageclas/" + file, md5, size_bytes}},
          .folder_in_archive = "imagenette2" + suffix,
          .classes = 10,
          .train = {9469, 858, 993},
          .val = {3925, 357, 419},
          .image_bytes = size_bytes};
}

KnownSet tiny_imagenet() {
  return {.name = "tiny-imagenet",
          .format = "image_folder",
          .files = {{"tiny-imagenet-200.zip", "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                     "90528d7ca1a48142e341f4ef8d21d0de", 248'100'043}},
          .folder_in_archive = "tiny-imagenet-200",
          .classes = 200,
          .train = {100'000, 500, 500},
          .val = {10'000, 50, 50},
          .image_bytes = 250'000'000};
}

KnownSet cifar(const std::string& number, const std::string& md5, std::uint64_t size_bytes,
               int classes) {
  const std::string file = "cifar-" + number + "-python.tar.gz";
  return {.name = "cifar" + number,
          .format = "cifar" + number,
          .files = {{file, "https://www.cs.toronto.edu/~kriz/" + file, md5, size_bytes}},
          .classes = classes,
          .train = {50'000, 50'000 / classes, 50'000 / classes},
          .val = {10'000, 10'000 / classes, 10'000 / classes},
          .image_bytes = 184'320'000,
          .is_pixels = true};
}

/// The classes that have too few or too many images, the first of them by name.
std::string odd_classes(const data::Dataset& dataset, const ExpectedCounts& expected) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dataset.num_classes()));
  for (std::int64_t i = 0; i < dataset.size(); ++i)
    ++counts.at(static_cast<std::size_t>(dataset.label(i)));
  const std::vector<std::string> names = dataset.class_names();
  constexpr int kMostNamed = 5;
  int odd = 0;
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] >= expected.fewest_per_class && counts[i] <= expected.most_per_class) continue;
    if (++odd <= kMostNamed)
      text += fmt::format("{}{} has {}", text.empty() ? "" : ", ", names[i], counts[i]);
  }
  if (odd > kMostNamed) text += fmt::format(" and {} more classes", odd - kMostNamed);
  return text;
}

}  // namespace

std::span<const KnownSet> known_sets() {
  static const std::vector<KnownSet> sets{
      imagenet(),
      imagenette("", "fe2fc210e6bb7c5664d602c3cd71e612", 1'557'161'267),
      imagenette("-320", "3df6f0d01a2c9592104656642f5e78a3", 341'663'724),
      imagenette("-160", "e793b78cc4c9e9a4ccc0c1155377a412", 99'003'388),
      tiny_imagenet(),
      cifar("10", "c58f30108f718f92721af3b95e74349a", 170'498'071, 10),
      cifar("100", "eb9058c3a382ffc7106e4002c42a8d85", 169'001'437, 100)};
  return sets;
}

const KnownSet& known_set(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownSet& set : known_sets()) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  const std::string nearest = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format(
      "'{}' is none of the data sets that can be prepared: {}{}", name, base::join(names, ", "),
      nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

void check_counts(const data::Dataset& dataset, const KnownSet& set, const ExpectedCounts& expected,
                  const std::string& split) {
  const auto fail = [&](const std::string& found) {
    throw base::DataError(fmt::format(
        "this is not the {} part of {}: {}; get its files again, or use `paceline data pack` for a "
        "set of your own",
        split, set.name, found));
  };
  if (dataset.num_classes() != set.classes)
    fail(fmt::format("{} classes, expected {}", dataset.num_classes(), set.classes));
  const std::string odd = odd_classes(dataset, expected);
  const std::string per_class =
      expected.fewest_per_class == expected.most_per_class
          ? fmt::format("{}", expected.most_per_class)
          : fmt::format("{} to {}", expected.fewest_per_class, expected.most_per_class);
  if (dataset.size() != expected.samples || !odd.empty()) {
    fail(fmt::format(
        "{} images, expected {}{}", base::format_count(dataset.size()),
        base::format_count(expected.samples),
        odd.empty() ? "" : fmt::format("; {}, expected {} in a class", odd, per_class)));
  }
}

}  // namespace paceline::dataset_tools
