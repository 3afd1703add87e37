#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {

/// Another data set seen differently: its samples in another order, some of them, or with other
/// labels. Everything is the other's unless a view says otherwise; a view has a fingerprint of its
/// own.
class DatasetView : public Dataset {
 public:
  std::int64_t size() const override { return whole_->size(); }
  int num_classes() const override { return whole_->num_classes(); }
  std::vector<std::string> class_names() const override { return whole_->class_names(); }
  std::int64_t label(std::int64_t index) const override { return whole_->label(at(index)); }
  bool has_label_lists() const override { return whole_->has_label_lists(); }
  void get(std::int64_t index, StoredSample& sample) const override {
    whole_->get(at(index), sample);
  }
  std::vector<FieldSpec> stored_fields() const override { return whole_->stored_fields(); }
  SampleConstants constants() const override { return whole_->constants(); }
  std::span<const std::uint8_t> memory_of(std::int64_t index) const override {
    return whole_->memory_of(at(index));
  }
  bool reads_ahead() const override { return whole_->reads_ahead(); }
  void will_read(std::span<const std::int64_t> indices) const override {
    std::vector<std::int64_t> of_whole;
    for (const std::int64_t index : indices) of_whole.push_back(at(index));
    whole_->will_read(of_whole);
  }
  void will_read_no_more() const override { whole_->will_read_no_more(); }
  std::string name(std::int64_t index) const override { return whole_->name(at(index)); }
  int part(std::int64_t index) const override { return whole_->part(at(index)); }
  std::string describe(std::int64_t index) const override { return whole_->describe(at(index)); }
  LeftOut left_out() const override { return whole_->left_out(); }

  /// The data set that is seen, and which of its samples `index` is.
  std::pair<const Dataset*, std::int64_t> beneath(std::int64_t index) const {
    return {whole_.get(), at(index)};
  }

 protected:
  explicit DatasetView(std::unique_ptr<Dataset> whole) : whole_(std::move(whole)) {}
  const Dataset& whole() const { return *whole_; }

 private:
  /// The number that the other data set gives to the view's sample `index`.
  virtual std::int64_t at(std::int64_t index) const { return index; }

  std::unique_ptr<Dataset> whole_;
};

/// Some samples of another data set.
class SelectedSamples : public DatasetView {
 public:
  /// The view's samples are the other's `indices`; `name` says what was selected, and how, and
  /// stands in the fingerprint.
  SelectedSamples(std::unique_ptr<Dataset> whole, std::vector<std::int64_t> indices,
                  std::string name)
      : DatasetView(std::move(whole)), indices_(std::move(indices)), name_(std::move(name)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  std::string fingerprint() const override { return name_ + ":" + whole().fingerprint(); }

 private:
  std::int64_t at(std::int64_t index) const override {
    return indices_[static_cast<std::size_t>(index)];
  }

  std::vector<std::int64_t> indices_;
  std::string name_;
};

}  // namespace paceline::data
