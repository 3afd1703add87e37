#include "paceline/loggers/jsonl.h"

#include "paceline/base/file_status.h"
#include "paceline/loggers/async_sink.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::loggers {
namespace {

constexpr std::string_view kLineBegin = "{\"step\":";

/// Quoted. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Names of metrics are plain; quoting them must cost nothing.
void append_name(std::string& line, std::string_view name) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (std::all_of(name.begin(), name.end(), is_plain)) {
    line += '"';
    line += name;
    line += '"';
  } else {
    line += json_text(name);
  }
}

/// The shortest text that reads back as the same number.
void append_number(std::string& line, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(line), "{}", value);
  } else {
    line += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}

/// The step of a whole line that this program wrote.
std::optional<std::int64_t> step_of(std::string_view line) {
  if (!line.starts_with(kLineBegin) || !line.ends_with("}\n")) return std::nullopt;
  line.remove_prefix(kLineBegin.size());
  std::int64_t step = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), step);
  return parsed.ec == std::errc() && *parsed.ptr == ',' ? std::optional(step) : std::nullopt;
}

}  // namespace

std::unique_ptr<metrics::MetricSink> make(const JsonlConfig& config, const SinkContext& context) {
  return std::make_unique<AsyncSink>(
      std::make_unique<JsonlWriter>(context.run_directory / config.file, *context.files));
}

JsonlWriter::JsonlWriter(std::filesystem::path path, base::FileSystem& files)
    : path_(std::move(path)), files_(files), file_("jsonl", [this] {
        auto file = files_.append(path_);
        files_.sync_directory(path_.parent_path());
        return file;
      }) {}

void JsonlWriter::write(const Record& record) {
  if (record.kind == RecordKind::kHparams) return;
  line_.clear();
  fmt::format_to(std::back_inserter(line_),
                 "{}{},\"epoch\":{},\"samples\":{},\"wall_time\":", kLineBegin, record.at.step,
                 record.at.epoch, record.at.samples);
  append_number(line_, record.at.wall_time);
  if (record.kind == RecordKind::kText) {
    fmt::format_to(std::back_inserter(line_), ",\"text\":{},\"value\":{}", json_text(record.tag),
                   json_text(record.text));
  } else {
    if (record.kind == RecordKind::kEvent) {
      fmt::format_to(std::back_inserter(line_), ",\"event\":{}", json_text(record.tag));
    }
    for (std::size_t i = 0; i < record.num_values(); ++i) {
      line_ += ',';
      append_name(line_, record.name(i));
      line_ += ':';
      append_number(line_, record.value(i));
    }
  }
  line_ += "}\n";
  file_.add(line_);
}

void JsonlWriter::drained() { file_.write_out(); }

void JsonlWriter::sync() { file_.sync(); }

void JsonlWriter::resume_at(std::int64_t step) {
  file_.reset();
  if (!base::file_exists(path_)) return;
  const std::string all = base::read_file(path_);
  std::string kept;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t newline = all.find('\n', begin);
    const std::size_t end = newline == all.npos ? all.size() : newline + 1;
    const std::string_view line = std::string_view(all).substr(begin, end - begin);
    if (const auto line_step = step_of(line); line_step && *line_step <= step) kept += line;
    begin = end;
  }
  if (kept.size() != all.size()) base::write_file_atomically(files_, path_, kept);
}

}  // namespace paceline::loggers
