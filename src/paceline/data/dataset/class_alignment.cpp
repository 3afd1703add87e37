#include "paceline/data/dataset/class_alignment.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/dataset/dataset_view.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

class AlignedView final : public DatasetView {
 public:
  AlignedView(std::unique_ptr<Dataset> whole, std::vector<std::string> names,
              std::vector<std::int64_t> labels)
      : DatasetView(std::move(whole)), names_(std::move(names)), labels_(std::move(labels)) {}

  int num_classes() const override { return static_cast<int>(names_.size()); }
  std::vector<std::string> class_names() const override { return names_; }
  std::int64_t label(std::int64_t index) const override { return aligned(whole().label(index)); }
  void get(std::int64_t index, StoredSample& sample) const override {
    whole().get(index, sample);
    if (sample.label != kNoLabel) sample.label = aligned(sample.label);
    for (std::int64_t& label : sample.labels) label = aligned(label);
  }
  std::string fingerprint() const override {
    return fmt::format("aligned:{}", whole().fingerprint());
  }

 private:
  std::int64_t aligned(std::int64_t label) const {
    return labels_.at(static_cast<std::size_t>(label));
  }

  std::vector<std::string> names_;
  std::vector<std::int64_t> labels_;  ///< by that of the other data set
};

/// What data sets that only know labels call their classes.
bool are_numbers(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

/// Numbers that are names, as a table's labels 1, 2 and 5.
bool are_other_numbers(std::span<const std::string> names) {
  const auto is_number = [](const std::string& name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  };
  return std::ranges::all_of(names, is_number) &&
         !are_numbers(std::vector<std::string>(names.begin(), names.end()));
}

bool is_identity(const std::vector<std::int64_t>& labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

[[noreturn]] void refuse(const std::vector<std::string>& unknown,
                         std::span<const std::string> class_names) {
  throw base::DataError(fmt::format(
      "the validation data have classes that the training data have not: {}; expected some of {}. "
      "Rename or leave out their folders, or name other data by data.val_path",
      base::join_first(unknown, 10), base::join_first(class_names, 10)));
}

}  // namespace

std::unique_ptr<Dataset> align_classes(std::unique_ptr<Dataset> dataset,
                                       std::span<const std::string> class_names) {
  const std::vector<std::string> own = dataset->class_names();
  if (own.empty() || class_names.empty()) return dataset;
  std::unordered_map<std::string_view, std::int64_t> label_of;
  for (std::size_t i = 0; i < class_names.size(); ++i)
    label_of.emplace(class_names[i], static_cast<std::int64_t>(i));
  std::vector<std::int64_t> labels;
  std::vector<std::string> unknown;
  for (const std::string& name : own) {
    const auto found = label_of.find(name);
    if (found == label_of.end()) unknown.push_back(name);
    labels.push_back(found == label_of.end() ? -1 : found->second);
  }
  if (!unknown.empty() && (!are_numbers(own) || are_other_numbers(class_names)))
    refuse(unknown, class_names);
  // Lists of labels are as long as there are classes.
  const bool are_as_many = own.size() == class_names.size() || !dataset->has_label_lists();
  if (!unknown.empty() || (is_identity(labels) && are_as_many)) return dataset;
  return std::make_unique<AlignedView>(
      std::move(dataset), std::vector<std::string>(class_names.begin(), class_names.end()),
      std::move(labels));
}

}  // namespace paceline::data
