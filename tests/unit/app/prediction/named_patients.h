#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace paceline::app {

/// Patients without scans, whose cubes are 320 mm wide.
class NamedPatients final : public data::Dataset {
 public:
  explicit NamedPatients(std::vector<std::string> names) : names_(std::move(names)) {}
  std::int64_t size() const override { return std::ssize(names_); }
  void get(std::int64_t, data::StoredSample&) const override {}
  data::SampleConstants constants() const override { return {{"fov_mm", {320}}}; }
  std::string name(std::int64_t index) const override {
    return names_[static_cast<std::size_t>(index)];
  }
  std::string describe(std::int64_t index) const override { return name(index); }
  std::string fingerprint() const override { return "patients"; }

 private:
  std::vector<std::string> names_;
};

}  // namespace paceline::app
