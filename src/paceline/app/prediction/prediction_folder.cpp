#include "paceline/app/prediction/prediction_folder.h"

#include "paceline/app/evaluation/csv_cell.h"
#include "paceline/base/error.h"
#include "paceline/data/formats/npy_file.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

/// NumPy's name of a type, on the little-endian machines that paceline runs on.
std::string descr_of(at::ScalarType dtype) {
  const char kind = c10::isFloatingType(dtype)          ? 'f'
                    : dtype == at::kBool                ? 'b'
                    : c10::isIntegralType(dtype, false) ? (dtype == at::kByte ? 'u' : 'i')
                                                        : '\0';
  PACELINE_CHECK(kind != '\0', "a task gives out {}, which NumPy's files have not got",
                 c10::toString(dtype));
  const std::size_t size = c10::elementSize(dtype);
  return fmt::format("{}{}{}", size == 1 ? '|' : '<', kind, size);
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::vector<std::int64_t> with_rows(std::int64_t rows, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> shape{rows};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return shape;
}

void close(base::OutputFile& file) {
  file.sync();
  file.close();
}

}  // namespace

PredictionFolder::PredictionFolder(base::FileSystem& files, const fs::path& folder,
                                   const data::Dataset& dataset, std::int64_t num_samples)
    : files_(files), folder_(files, folder), dataset_(dataset), num_expected_(num_samples) {}

fs::path PredictionFolder::file_of(const Field& field) const {
  return folder_.path() / (field.name + ".npy");
}

void PredictionFolder::open_files(const tensor::Fields& fields) {
  samples_ = files_.create(folder_.path() / "samples.csv");
  samples_->write(has_labels() ? "index,sample,label,class\n" : "index,sample\n");
  for (const auto& [name, tensor] : fields) {
    PACELINE_CHECK(name.find('/') == name.npos, "'{}' is no name for a file", name);
    Field& field = fields_.emplace_back(
        Field{name, descr_of(tensor.scalar_type()), tensor.sizes().slice(1).vec(), nullptr});
    field.file = files_.create(file_of(field));
    field.file->write(data::npy_header(field.descr, with_rows(num_expected_, field.sizes)));
  }
}

void PredictionFolder::add(const train::Predictions& predictions) {
  if (!samples_) open_files(predictions.fields);
  for (Field& field : fields_) field.file->write(bytes_of(predictions.fields.at(field.name)));
  const auto class_names = dataset_.class_names();
  std::string lines;
  for (const std::int64_t index : predictions.indices) {
    lines += fmt::format("{},{}", index, csv_cell(dataset_.describe(index)));
    if (has_labels()) {
      const std::int64_t label = dataset_.label(index);
      const bool has_name = label >= 0 && label < std::ssize(class_names);
      lines += fmt::format(",{},{}", label,
                           has_name ? csv_cell(class_names[static_cast<std::size_t>(label)]) : "");
    }
    lines += '\n';
  }
  samples_->write(lines);
  num_rows_ += std::ssize(predictions.indices);
}

/// A header that promised samples which could not be read is written anew.
void PredictionFolder::end_field(Field& field) {
  close(*field.file);
  if (num_rows_ == num_expected_) return;
  const fs::path whole = file_of(field);
  const fs::path shorter = base::unfinished_path(whole);
  const base::MappedFile written(whole);
  const auto shape = [&](std::int64_t rows) { return with_rows(rows, field.sizes); };
  const auto header_size = data::npy_header(field.descr, shape(num_expected_)).size();
  const auto file = files_.create(shorter);
  file->write(data::npy_header(field.descr, shape(num_rows_)));
  file->write(written.bytes().substr(header_size));
  close(*file);
  files_.rename(shorter, whole);
}

void PredictionFolder::publish(nlohmann::json facts) {
  PACELINE_CHECK(samples_, "nothing was predicted");
  for (Field& field : fields_) {
    end_field(field);
    facts["fields"][field.name] = {{"file", field.name + ".npy"},
                                   {"dtype", field.descr},
                                   {"shape", with_rows(num_rows_, field.sizes)}};
  }
  close(*samples_);
  // A path may have bytes that are not UTF-8.
  write_file_atomically(files_, folder_.path() / "predictions.json",
                        facts.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  folder_.publish();
}

}  // namespace paceline::app
