#include "paceline/cli/data/field_viewer.h"

#include "paceline/base/error.h"
#include "paceline/dataset_tools/field_facts.h"

namespace paceline::cli {

std::string FieldViewer::describe(std::int64_t index) {
  const std::vector<data::FieldSpec>& fields = maker_->fields();
  values_.resize(fields.size());
  std::vector<std::byte*> targets;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    values_[i].resize(data::sample_bytes(fields[i]));
    targets.push_back(values_[i].data());
  }
  try {
    dataset_.get(index, sample_);
    static_cast<void>(
        maker_->make(sample_, {seed_, 0, static_cast<std::uint64_t>(index)}, scratch_, targets));
  } catch (const base::DataError& error) {
    throw base::DataError(data::describe_problem(dataset_, index, error.what()));
  }
  std::string text = fmt::format("{}  {}", index, dataset_.describe(index));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const dataset_tools::NumberRange range = dataset_tools::range_of(fields[i], values_[i]);
    text += fmt::format("  {}: {}", data::describe(fields[i]),
                        fields[i].sizes.empty() ? fmt::format("{:.6g}", range.sum)
                                                : dataset_tools::describe(range));
  }
  return text;
}

std::optional<data::PixelView> FieldViewer::slice() {
  const std::vector<data::FieldSpec>& fields = maker_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (dataset_tools::has_slice(fields[i]))
      return dataset_tools::middle_slice(fields[i], values_[i], buffer_);
  }
  return std::nullopt;
}

}  // namespace paceline::cli
