#include "paceline/data/sources/imagenet/validation_labels.h"

#include "paceline/base/error.h"
#include "paceline/data/formats/archive_reader.h"
#include "paceline/data/sources/imagenet/mat_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>
#include <utility>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr char kTruthFile[] = "ILSVRC2012_validation_ground_truth.txt";
constexpr char kMetaFile[] = "meta.mat";

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

/// The texts of the kit's two files.
std::pair<std::string, std::string> read_kit(const fs::path& kit, const Storage& storage) {
  if (is_folder(storage, kit)) {
    const std::vector<fs::path> files = validation_label_files(kit, storage);
    return {read_text(storage, files[0].string()), read_text(storage, files[1].string())};
  }
  auto members =
      read_archive_members(read_text(storage, kit.string()), kit.string(), {kTruthFile, kMetaFile});
  for (const char* name : {kTruthFile, kMetaFile}) {
    if (!members.contains(name)) {
      throw base::DataError(fmt::format("{}: holds no {}", kit.string(), name));
    }
  }
  const auto text = [&](const char* name) {
    return std::string(members[name].begin(), members[name].end());
  };
  return {text(kTruthFile), text(kMetaFile)};
}

/// The WordNet ids of the classes by the kit's own numbers, which count from 1.
std::map<std::int64_t, std::string> parse_meta(const std::string& bytes, const std::string& name) {
  const auto variables =
      read_mat_file({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, name);
  const auto synsets = variables.find("synsets");
  std::map<std::int64_t, std::string> wnids;
  for (std::size_t i = 0;; ++i) {
    const auto field = [&](const char* key) -> const MatArray* {
      if (synsets == variables.end()) return nullptr;
      const auto found = synsets->second.fields.find(key);
      return found == synsets->second.fields.end() || i >= found->second.size() ? nullptr
                                                                                : &found->second[i];
    };
    const MatArray* const number = field("ILSVRC2012_ID");
    const MatArray* const wnid = field("WNID");
    const MatArray* const num_children = field("num_children");
    if (number == nullptr || wnid == nullptr || num_children == nullptr) break;
    if (number->numbers.empty() || num_children->numbers.empty()) break;
    if (num_children->numbers[0] == 0) {
      wnids[static_cast<std::int64_t>(number->numbers[0])] = wnid->text;
    }
  }
  if (wnids.empty()) {
    throw base::DataError(fmt::format("{}: holds no classes in 'synsets'", name));
  }
  return wnids;
}

ValidationLabels read_kit_labels(const fs::path& kit, const Storage& storage) {
  const auto [truth, meta] = read_kit(kit, storage);
  const auto wnids = parse_meta(meta, fmt::format("{}: {}", kit.string(), kMetaFile));
  ValidationLabels labels;
  std::istringstream lines(truth);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.pop_back();
    }
    ++number;
    const auto wnid = is_number(line) ? wnids.find(to_number(line)) : wnids.end();
    if (wnid == wnids.end()) {
      throw base::DataError(fmt::format("{}: {}, line {}: '{}' is no class of meta.mat",
                                        kit.string(), kTruthFile, number, line));
    }
    labels[number] = wnid->second;
  }
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
  return {data / kTruthFile, data / kMetaFile};
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
