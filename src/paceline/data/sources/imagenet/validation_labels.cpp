#include "paceline/data/sources/imagenet/validation_labels.h"

#include "paceline/base/error.h"
#include "paceline/data/formats/archive_reader.h"
#include "paceline/data/sources/imagenet/kit_classes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr char kTruthFile[] = "ILSVRC2012_validation_ground_truth.txt";
constexpr std::int64_t kImagesPerClass = 50;
/// The kit's classes of the first images: a file that counts classes in another order has others.
constexpr std::array<std::int64_t, 10> kFirstClasses = {490, 361, 171, 822, 297,
                                                        482, 13,  704, 599, 164};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 18 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::int64_t to_number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string read_truth(const fs::path& kit, const Storage& storage) {
  if (is_folder(storage, kit))
    return read_text(storage, validation_label_files(kit, storage).front().string());
  auto members = read_archive_members(read_text(storage, kit.string()), kit.string(), {kTruthFile});
  if (!members.contains(kTruthFile))
    throw base::DataError(fmt::format("{}: holds no {}", kit.string(), kTruthFile));
  return {members[kTruthFile].begin(), members[kTruthFile].end()};
}

/// The kit's class of each image, line by line.
std::vector<std::int64_t> parse_truth(const std::string& truth, const std::string& name) {
  std::vector<std::int64_t> classes;
  std::istringstream lines(truth);
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.pop_back();
    }
    const std::int64_t number = is_number(line) ? to_number(line) : 0;
    if (number < 1 || number > kNumKitClasses) {
      throw base::DataError(fmt::format("{}, line {}: '{}' is no class, expected 1 to {}", name,
                                        classes.size() + 1, line, kNumKitClasses));
    }
    classes.push_back(number);
  }
  return classes;
}

/// Throws DataError unless these are the classes that ILSVRC2012 published: what another kit calls
/// class 1 is not known.
void require_published(const std::vector<std::int64_t>& classes, const std::string& name) {
  std::vector<std::int64_t> counts(kNumKitClasses);
  for (const std::int64_t number : classes) ++counts[static_cast<std::size_t>(number - 1)];
  std::string problem;
  if (std::ssize(classes) != kNumKitClasses * kImagesPerClass) {
    problem =
        fmt::format("{} lines, expected {}", classes.size(), kNumKitClasses * kImagesPerClass);
  } else if (!std::ranges::equal(std::span(classes).first(kFirstClasses.size()), kFirstClasses)) {
    problem = fmt::format("begins with the classes {}, expected {}",
                          fmt::join(std::span(classes).first(kFirstClasses.size()), " "),
                          fmt::join(kFirstClasses, " "));
  } else if (const auto odd = std::ranges::find_if(
                 counts, [](std::int64_t count) { return count != kImagesPerClass; });
             odd != counts.end()) {
    problem = fmt::format("class {} has {} images, expected {}", odd - counts.begin() + 1, *odd,
                          kImagesPerClass);
  }
  if (problem.empty()) return;
  throw base::DataError(fmt::format(
      "{}: is not ILSVRC2012's: {}; fetch ILSVRC2012_devkit_t12.tar.gz again, or name a text file "
      "of images and classes by data.val_labels",
      name, problem));
}

ValidationLabels read_kit_labels(const fs::path& kit, const Storage& storage) {
  const std::string name = fmt::format("{}: {}", kit.string(), kTruthFile);
  const std::vector<std::int64_t> classes = parse_truth(read_truth(kit, storage), name);
  require_published(classes, name);
  ValidationLabels labels;
  for (const std::int64_t number : classes)
    labels.emplace_hint(labels.end(), std::ssize(labels) + 1, wnid_of_kit_class(number));
  return labels;
}

ValidationLabels read_columns(const fs::path& path, const Storage& storage) {
  constexpr std::string_view kGaps = " \t,\r";
  const std::string text = read_text(storage, path.string());
  ValidationLabels labels;
  std::istringstream lines(text);
  int line_number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++line_number;
    if (line.find_first_not_of(kGaps) == std::string::npos) continue;
    const std::size_t name_end = line.find_first_of(kGaps);
    const std::size_t start = line.find_first_not_of(kGaps, name_end);
    const auto number = number_in_name(line.substr(0, name_end));
    if (line_number == 1 && !number) continue;  // the columns' titles
    if (!number || start == std::string::npos) {
      throw base::DataError(fmt::format(
          "{}, line {}: expected an image's name with its number, and a class, but read '{}'",
          path.string(), line_number, line));
    }
    labels[*number] = line.substr(start, line.find_first_of(kGaps, start) - start);
  }
  return labels;
}

bool is_archive(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".tar.gz") || name.ends_with(".tgz") || name.ends_with(".tar");
}

}  // namespace

fs::path find_validation_labels(const fs::path& folder, const Storage& storage) {
  for (const char* name : {"ILSVRC2012_devkit_t12", "ILSVRC2012_devkit_t12.tar.gz",
                           "LOC_val_solution.csv", "val_labels.txt", "val.txt"}) {
    if (storage.facts((folder / name).string())) return name;
  }
  return {};
}

std::vector<fs::path> validation_label_files(const fs::path& source, const Storage& storage) {
  if (!is_folder(storage, source)) return {source};
  const fs::path data = is_folder(storage, source / "data") ? source / "data" : source;
  return {data / kTruthFile};
}

ValidationLabels read_validation_labels(const fs::path& source, const Storage& storage) {
  ValidationLabels labels = is_folder(storage, source) || is_archive(source)
                                ? read_kit_labels(source, storage)
                                : read_columns(source, storage);
  if (labels.empty()) {
    throw base::DataError(fmt::format("{}: holds no labels", source.string()));
  }
  return labels;
}

std::optional<std::int64_t> number_in_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) name = name.substr(0, dot);
  std::size_t first = name.size();
  while (first > 0 && std::isdigit(static_cast<unsigned char>(name[first - 1])) != 0) --first;
  const std::string_view digits = name.substr(first);
  return is_number(digits) ? std::optional(to_number(digits)) : std::nullopt;
}

}  // namespace paceline::data
