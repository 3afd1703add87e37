#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace paceline::test {

/// A data set, one sample of which there is no memory for.
class ScarceMemory final : public data::Dataset {
 public:
  ScarceMemory(const data::Dataset& dataset, std::int64_t giant)
      : dataset_(dataset), giant_(giant) {}
  std::int64_t size() const override { return dataset_.size(); }
  int num_classes() const override { return dataset_.num_classes(); }
  std::vector<std::string> class_names() const override { return dataset_.class_names(); }
  std::int64_t label(std::int64_t index) const override { return dataset_.label(index); }
  void get(std::int64_t index, data::StoredSample& sample) const override {
    if (index == giant_) throw std::bad_alloc();
    dataset_.get(index, sample);
  }
  std::string name(std::int64_t index) const override { return dataset_.name(index); }
  std::string describe(std::int64_t index) const override { return dataset_.describe(index); }
  std::string fingerprint() const override { return dataset_.fingerprint(); }

 private:
  const data::Dataset& dataset_;
  std::int64_t giant_;
};

}  // namespace paceline::test
