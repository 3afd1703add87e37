#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::test {

struct NamedSample {
  std::int64_t label = 0;
  std::string name;
};

/// Samples with labels and names alone.
class NamedDataset final : public data::Dataset {
 public:
  NamedDataset(std::vector<NamedSample> samples, int num_classes,
               std::vector<std::string> class_names = {"of the whole"})
      : samples_(std::move(samples)),
        num_classes_(num_classes),
        class_names_(std::move(class_names)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override { return class_names_; }
  std::int64_t label(std::int64_t index) const override { return at(index).label; }
  void get(std::int64_t index, data::StoredSample& sample) const override {
    sample.label = label(index);
    sample.width = static_cast<int>(index);
  }
  std::string name(std::int64_t index) const override { return at(index).name; }
  std::string describe(std::int64_t index) const override {
    return fmt::format("file of {}", at(index).name);
  }
  std::string fingerprint() const override { return "whole"; }

 private:
  const NamedSample& at(std::int64_t index) const {
    return samples_.at(static_cast<std::size_t>(index));
  }
  std::vector<NamedSample> samples_;
  int num_classes_;
  std::vector<std::string> class_names_;
};

}  // namespace paceline::test
