#pragma once

#include "paceline/base/error.h"
#include "paceline/data/dataset/field.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// 8-bit RGB pixels, row by row, three bytes each, without padding.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  ///< height * width * 3
};

/// A sample as it is stored: encoded bytes (JPEG or PNG), pixels already, or arrays.
struct StoredSample {
  std::vector<std::uint8_t> bytes;  ///< reused from sample to sample by its owner
  int width = 0;  ///< of raw RGB pixels; 0 when `bytes` is an encoded file or arrays
  int height = 0;
  std::int64_t label = 0;
  /// Of data sets with has_label_lists(): all classes of the sample, of which `label` is the first,
  /// or kNoLabel.
  std::vector<std::int64_t> labels = {};
};

/// The label of a sample without one: metrics count it nowhere.
inline constexpr std::int64_t kNoLabel = -1;

/// What lies among the samples and is none of them.
struct LeftOut {
  std::int64_t count = 0;
  std::string folder;
  std::string first;  ///< the first of them, relative to the folder, in words

  static constexpr std::int64_t kMostNamed = 10;
};

/// The data set is there, but this part of it is not: it has training images and no others.
struct AbsentPartError : base::DataError {
  using DataError::DataError;
};

/// A finite, indexed collection of samples: labelled images unless stored_fields() says otherwise.
/// get() is pure and may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  /// 0: a sample has none as a whole.
  virtual int num_classes() const { return 0; }
  virtual std::vector<std::string> class_names() const { return {}; }
  virtual std::int64_t label(std::int64_t /*index*/) const { return 0; }
  /// Whether samples may have several classes, or none. label() is the first one then, or 0.
  virtual bool has_label_lists() const { return false; }
  /// Reads sample `index` into `sample`. Throws DataError that names the file.
  virtual void get(std::int64_t index, StoredSample& sample) const = 0;
  /// Of what fields the bytes of a stored sample are, one after another in C order; none: they are
  /// an image.
  virtual std::vector<FieldSpec> stored_fields() const { return {}; }
  /// Of the samples' fields; empty where a value says all by itself.
  virtual SampleConstants constants() const { return {}; }
  /// The bytes that get(index) reads, if they lie in memory (or a mapped file); else empty.
  virtual std::span<const std::uint8_t> memory_of(std::int64_t /*index*/) const { return {}; }
  /// Whether the hints below are of use.
  virtual bool reads_ahead() const { return false; }
  /// A hint that get() will be called once for each of these, about in this order: remote data is
  /// fetched from now on. Hints add up.
  virtual void will_read(std::span<const std::int64_t> /*indices*/) const {}
  /// Takes back all hints, as their samples will not be asked for.
  virtual void will_read_no_more() const {}
  /// What tells sample `index` from the others of its class, and is the same in every format that
  /// keeps names: the path of its file below the class's folder. Else its number.
  virtual std::string name(std::int64_t index) const { return std::to_string(index); }
  /// Which of the data sets that this one was put together from sample `index` is of; from 0.
  virtual int part(std::int64_t /*index*/) const { return 0; }
  /// Where sample `index` lies, for messages.
  virtual std::string describe(std::int64_t index) const = 0;
  /// Files that are no samples, where there should be no others.
  virtual LeftOut left_out() const { return {}; }
  /// Changes when the samples, their labels or their order change.
  virtual std::string fingerprint() const = 0;
};

/// What is wrong with a sample, with its place before it unless it is named already.
inline std::string describe_problem(const Dataset& dataset, std::int64_t index,
                                    const std::string& problem) {
  const std::string place = dataset.describe(index);
  return problem.find(place) == std::string::npos ? place + ": " + problem : problem;
}

}  // namespace paceline::data
