#pragma once

#include "paceline/app/prediction/pending_folder.h"
#include "paceline/app/prediction/prediction_sink.h"
#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::app {

/// Writes predictions into a folder: each field as FIELD.npy, a row per sample; `samples.csv`,
/// which names the sample of each row, with its label where the data set has some;
/// `predictions.json`, which tells of the whole. The folder gets its name when all of it is on
/// disk.
class PredictionFolder final : public PredictionSink {
 public:
  /// `num_samples` are expected; `dataset` and `files` must outlive this. Throws as
  /// PendingFolder().
  PredictionFolder(base::FileSystem& files, const std::filesystem::path& folder,
                   const data::Dataset& dataset, std::int64_t num_samples);

  /// The next rows.
  void add(const train::Predictions& predictions) override;
  /// Ends all files.
  void publish(nlohmann::json facts) override;

  std::int64_t num_rows() const { return num_rows_; }

 private:
  /// Whether each sample has one.
  bool has_labels() const { return dataset_.num_classes() > 0 && !dataset_.has_label_lists(); }
  struct Field {
    std::string name;
    std::string descr;                ///< NumPy's name of the type: "<f4"
    std::vector<std::int64_t> sizes;  ///< of one sample
    std::unique_ptr<base::OutputFile> file;
  };

  std::filesystem::path file_of(const Field& field) const;
  void open_files(const tensor::Fields& fields);
  void end_field(Field& field);

  base::FileSystem& files_;
  PendingFolder folder_;
  const data::Dataset& dataset_;
  std::int64_t num_expected_;
  std::int64_t num_rows_ = 0;
  std::vector<Field> fields_;
  std::unique_ptr<base::OutputFile> samples_;
};

}  // namespace paceline::app
