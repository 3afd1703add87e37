#include "paceline/cli/patient_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace paceline::cli {
namespace {

constexpr std::string_view kFirstQuality = "psnr";
constexpr std::string_view kOfStage = "_stage";

/// Qualities of one kind of volume: so many columns of the records.
struct Group {
  std::size_t first = 0;
  std::size_t count = 0;
  std::string stage;   ///< its number
  std::string volume;  ///< "sample" or "mean"
};

/// Each begins with a PSNR, and its name says what it is of; that of the last stage no stage.
std::vector<Group> groups_of(const std::vector<std::string>& names) {
  std::vector<Group> groups;
  std::size_t num_stages = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (!name.starts_with(kFirstQuality)) {
      ++groups.back().count;
      continue;
    }
    const std::size_t at = name.find(kOfStage);
    const bool is_mean = name.find("_mean") != name.npos;
    groups.push_back({i, 1, at == name.npos ? "" : name.substr(at + kOfStage.size()),
                      is_mean ? "mean" : "sample"});
    if (!is_mean) ++num_stages;
  }
  for (Group& group : groups)
    if (group.stage.empty()) group.stage = std::to_string(num_stages);
  return groups;
}

/// Lines of one patient, or of all: `value_of(i)` is that of names[i].
std::string lines_of(std::string_view patient, const std::vector<Group>& groups, std::size_t width,
                     const std::function<double(std::size_t)>& value_of) {
  std::string text;
  for (const Group& group : groups) {
    text += fmt::format("  {:<{}}  {:>5}  {:<6}", patient, width, group.stage, group.volume);
    for (std::size_t i = 0; i < group.count; ++i)
      text += fmt::format("  {:>10.4f}", value_of(group.first + i));
    text += '\n';
  }
  return text;
}

std::string header_of(const std::vector<std::string>& names, const Group& group,
                      std::size_t width) {
  std::string text = fmt::format("  {:<{}}  {:>5}  {:<6}", "patient", width, "stage", "volume");
  for (std::size_t i = 0; i < group.count; ++i) {
    const std::string& name = names[group.first + i];
    text += fmt::format("  {:>10}", name == "projection_error" ? "projection" : name);
  }
  return text + '\n';
}

}  // namespace

std::string patient_report_text(const app::EvalReport& report) {
  const train::PatientRecords& records = *report.patients;
  const std::vector<Group> groups = groups_of(records.names);
  const auto* const indices = records.indices.const_data_ptr<std::int64_t>();
  const auto* const values = records.values.const_data_ptr<double>();
  const std::int64_t count = records.indices.numel();
  std::vector<std::string> patients;
  std::size_t width = std::string_view("patient").size();
  for (std::int64_t row = 0; row < count; ++row) {
    patients.push_back(report.part.dataset->name(indices[row]));
    width = std::max(width, patients.back().size());
  }
  std::string text = header_of(records.names, groups.front(), width);
  for (std::size_t row = 0; row < patients.size(); ++row)
    text += lines_of(patients[row], groups, width,
                     [&](std::size_t i) { return values[row * records.names.size() + i]; });
  return text + lines_of("all", groups, width, [&](std::size_t i) {
           return report.result.values.at(report.result.prefix + "/" + records.names[i]);
         });
}

nlohmann::json patient_report_json(const app::EvalReport& report) {
  const train::PatientRecords& records = *report.patients;
  const auto* const indices = records.indices.const_data_ptr<std::int64_t>();
  const auto* value = records.values.const_data_ptr<double>();
  auto json = nlohmann::json::array();
  for (std::int64_t row = 0; row < records.indices.numel(); ++row) {
    nlohmann::json patient = {{"patient", report.part.dataset->name(indices[row])}};
    for (const std::string& name : records.names) patient[name] = *value++;
    json.push_back(std::move(patient));
  }
  return json;
}

}  // namespace paceline::cli
