#include "paceline/data/dataset/concatenation.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/dataset/class_alignment.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace paceline::data {
namespace {

class Concatenation final : public Dataset {
 public:
  explicit Concatenation(std::vector<std::unique_ptr<Dataset>> parts) : parts_(std::move(parts)) {
    ends_.reserve(parts_.size());
    for (const auto& part : parts_) ends_.push_back(size() + part->size());
  }

  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  int num_classes() const override { return parts_.front()->num_classes(); }
  std::vector<std::string> class_names() const override { return parts_.front()->class_names(); }
  std::vector<FieldSpec> stored_fields() const override { return parts_.front()->stored_fields(); }
  SampleConstants constants() const override { return parts_.front()->constants(); }
  std::int64_t label(std::int64_t index) const override {
    const auto [part, within] = place_of(index);
    return parts_[part]->label(within);
  }
  bool has_label_lists() const override { return parts_.front()->has_label_lists(); }
  void get(std::int64_t index, StoredSample& sample) const override {
    const auto [part, within] = place_of(index);
    parts_[part]->get(within, sample);
  }
  int part(std::int64_t index) const override { return static_cast<int>(place_of(index).part); }
  std::span<const std::uint8_t> memory_of(std::int64_t index) const override {
    const auto [part, within] = place_of(index);
    return parts_[part]->memory_of(within);
  }
  bool reads_ahead() const override {
    return std::ranges::any_of(parts_, [](const auto& part) { return part->reads_ahead(); });
  }
  void will_read(std::span<const std::int64_t> indices) const override {
    std::vector<std::vector<std::int64_t>> of_parts(parts_.size());
    for (const std::int64_t index : indices) {
      const auto [part, within] = place_of(index);
      of_parts[part].push_back(within);
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (!of_parts[part].empty()) parts_[part]->will_read(of_parts[part]);
    }
  }
  void will_read_no_more() const override {
    for (const auto& part : parts_) part->will_read_no_more();
  }
  /// Names are those of one part alone.
  std::string name(std::int64_t index) const override {
    const auto [part, within] = place_of(index);
    return fmt::format("{}/{}", part, parts_[part]->name(within));
  }
  std::string describe(std::int64_t index) const override {
    const auto [part, within] = place_of(index);
    return parts_[part]->describe(within);
  }
  LeftOut left_out() const override {
    LeftOut all;  // with what is known of the first part that leaves something out
    for (const auto& part : parts_) {
      LeftOut of_part = part->left_out();
      const std::int64_t count = all.count + of_part.count;
      if (all.count == 0) all = std::move(of_part);
      all.count = count;
    }
    return all;
  }
  std::string fingerprint() const override {
    std::vector<std::string> fingerprints;
    for (const auto& part : parts_) fingerprints.push_back(part->fingerprint());
    return fmt::format("mixture({})", base::join(fingerprints, ", "));
  }

 private:
  struct Place {
    std::size_t part = 0;
    std::int64_t within = 0;
  };

  Place place_of(std::int64_t index) const {
    const auto part =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
    PACELINE_CHECK(part < parts_.size(), "there is no sample {} of {}", index, size());
    return {part, index - (part == 0 ? 0 : ends_[part - 1])};
  }

  std::vector<std::unique_ptr<Dataset>> parts_;
  std::vector<std::int64_t> ends_;  ///< where the samples of each part end
};

/// Throws DataError unless the samples of part `number` are of the first one's kind.
void check_kind(const Dataset& first, const Dataset& part, std::size_t number) {
  if (part.stored_fields() != first.stored_fields() ||
      part.has_label_lists() != first.has_label_lists()) {
    throw base::DataError(
        fmt::format("data.parts: the samples of part {} have other fields than those of part 1; "
                    "expected the same names, types and sizes, or in all "
                    "images of one class, or of several",
                    number));
  }
  const std::vector<std::string> classes = first.class_names();
  std::vector<std::string> unknown;
  for (const std::string& name : part.class_names()) {
    if (std::ranges::find(classes, name) == classes.end()) unknown.push_back(name);
  }
  if (unknown.empty() && (part.num_classes() == 0) == (first.num_classes() == 0)) return;
  throw base::DataError(
      fmt::format("data.parts: part {} has classes that part 1 has not: {}; expected some of {}. "
                  "Begin with the "
                  "part that has all classes, or rename them",
                  number, unknown.empty() ? "none at all" : base::join_first(unknown, 10),
                  classes.empty() ? "none" : base::join_first(classes, 10)));
}

}  // namespace

std::unique_ptr<Dataset> concatenate(std::vector<std::unique_ptr<Dataset>> parts) {
  PACELINE_CHECK(!parts.empty(), "nothing to concatenate");
  const std::vector<std::string> classes = parts.front()->class_names();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    check_kind(*parts.front(), *parts[i], i + 1);
    parts[i] = align_classes(std::move(parts[i]), classes);
  }
  return std::make_unique<Concatenation>(std::move(parts));
}

}  // namespace paceline::data
