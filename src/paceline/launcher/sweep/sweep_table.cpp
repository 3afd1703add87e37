#include "paceline/launcher/sweep/sweep_table.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace paceline::launcher {
namespace {

using Row = std::vector<std::string>;

/// Columns as wide as they need, two blanks apart, numbers to the right.
std::vector<std::string> aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{}{:>{}}", i > 0 ? "  " : "", row[i], widths[i]);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    Row cells;
    for (const std::string& cell : row) cells.push_back(csv_cell(cell));
    text += base::join(cells, ",") + "\n";
  }
  return text;
}

std::string metric_name(const Sweep& sweep) {
  return sweep.goal ? sweep.goal->metric : std::string("metric");
}

/// The best, then those that failed, then those that have not been trained.
std::vector<std::size_t> shown_order(const Sweep& sweep) {
  std::vector<std::size_t> order = ranking(sweep);
  for (const bool has_failed : {true, false}) {
    for (std::size_t i = 0; i < sweep.records.size(); ++i) {
      const TrialRecord& record = sweep.records[i];
      if (!record.is_done() && record.has_failed == has_failed) order.push_back(i);
    }
  }
  return order;
}

/// To which length a trial was trained; empty without halving.
std::string trained(const Sweep& sweep, const TrialRecord& record) {
  if (sweep.strategy != Strategy::kHalving) return "";
  return record.metrics.empty() ? "-" : sweep.rungs[record.metrics.size() - 1].duration;
}

std::string note_of(const TrialRecord& record) {
  if (record.has_failed)
    return fmt::format("failed ({}): {}", record.exit_code, base::excerpt(record.error, 100));
  return record.is_done() ? "" : "not trained yet";
}

template <class Value>
std::string or_empty(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string told(const std::optional<Estimate>& estimate, const char* form) {
  return estimate ? fmt::format(fmt::runtime(form), estimate->mean) : "-";
}

/// "+0.0123 +- 0.0040", or "?" for the error of one seed.
std::string told_difference(const std::optional<Estimate>& estimate, int digits) {
  if (!estimate) return "-";
  const std::string error =
      estimate->error ? fmt::format("{:.{}f}", *estimate->error, digits) : "?";
  return fmt::format("{:+.{}f} +- {}", estimate->mean, digits, error);
}

Row csv_cells(const std::optional<Estimate>& estimate) {
  if (!estimate) return {"", ""};
  return {fmt::format("{}", estimate->mean), or_empty(estimate->error)};
}

}  // namespace

std::vector<std::string> trial_table(const Sweep& sweep) {
  const bool halves = sweep.strategy == Strategy::kHalving;
  Row head{"trial"};
  for (const Setting& setting : sweep.trials.front().settings) head.push_back(setting.key);
  if (halves) head.emplace_back("trained");
  head.push_back(metric_name(sweep));
  head.insert(head.end(), {"time", "ms/step"});
  std::vector<Row> rows{head};
  std::vector<std::string> notes{""};
  for (const std::size_t i : shown_order(sweep)) {
    const TrialRecord& record = sweep.records[i];
    Row row{std::to_string(sweep.trials[i].number)};
    for (const Setting& setting : sweep.trials[i].settings) row.push_back(setting.value);
    if (halves) row.push_back(trained(sweep, record));
    row.push_back(record.metrics.empty() ? "-" : fmt::format("{:.4f}", record.metrics.back()));
    row.push_back(record.elapsed_s > 0 ? base::format_duration(record.elapsed_s) : "-");
    row.push_back(record.step_ms ? fmt::format("{:.2f}", *record.step_ms) : "-");
    rows.push_back(std::move(row));
    notes.push_back(note_of(record));
  }
  std::vector<std::string> lines = aligned(rows);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!notes[i].empty()) lines[i] += "  " + notes[i];
  }
  return lines;
}

std::string trial_csv(const Sweep& sweep) {
  Row head{"trial"};
  for (const Setting& setting : sweep.trials.front().settings) head.push_back(setting.key);
  head.insert(head.end(), {"trained", metric_name(sweep), "elapsed_s", "step_ms", "state",
                           "exit_code", "error", "run"});
  std::vector<Row> rows{head};
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) {
    const TrialRecord& record = sweep.records[i];
    Row row{std::to_string(sweep.trials[i].number)};
    for (const Setting& setting : sweep.trials[i].settings) row.push_back(setting.value);
    const bool has_metric = !record.metrics.empty();
    row.push_back(has_metric ? trained(sweep, record) : "");
    row.push_back(has_metric ? fmt::format("{}", record.metrics.back()) : "");
    row.push_back(fmt::format("{}", record.elapsed_s));
    row.push_back(or_empty(record.step_ms));
    row.emplace_back(record.has_failed ? "failed" : record.is_done() ? "done" : "waiting");
    row.push_back(std::to_string(record.exit_code));
    row.push_back(record.error);
    row.push_back(folder_name(sweep.trials[i]));
    rows.push_back(std::move(row));
  }
  return csv_of(rows);
}

std::vector<std::string> ablation_table(const Sweep& sweep) {
  std::vector<Row> rows{{"part", "seeds", "whole", "without", metric_name(sweep) + " difference",
                         "ms/step difference"}};
  for (const AblationRow& row : ablation_of(sweep)) {
    rows.push_back({row.part, row.whole ? std::to_string(row.whole->count) : "0",
                    told(row.whole, "{:.4f}"), told(row.without, "{:.4f}"),
                    told_difference(row.metric_delta, 4), told_difference(row.step_ms_delta, 2)});
  }
  return aligned(rows);
}

std::string ablation_csv(const Sweep& sweep) {
  std::vector<Row> rows{{"part", "seeds", "whole", "without", "metric_difference",
                         "metric_standard_error", "step_ms_difference", "step_ms_standard_error"}};
  for (const AblationRow& row : ablation_of(sweep)) {
    Row cells{row.part, row.whole ? std::to_string(row.whole->count) : "0", csv_cells(row.whole)[0],
              csv_cells(row.without)[0]};
    for (const auto* delta : {&row.metric_delta, &row.step_ms_delta}) {
      const Row pair = csv_cells(*delta);
      cells.insert(cells.end(), pair.begin(), pair.end());
    }
    rows.push_back(std::move(cells));
  }
  return csv_of(rows);
}

}  // namespace paceline::launcher
