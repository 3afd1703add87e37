#include "paceline/data/dataset/file_dataset.h"

#include "support/data/fake_storage.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// Ten bytes of one file for each sample, but of odd samples nothing is ever fetched.
class EvenSamples final : public FileDataset {
 public:
  explicit EvenSamples(const std::string& path) {
    storage_->files[path] = std::string(100, 'x');
    read_ahead_ = read_ahead_from(*storage_, path, [this, path](std::uint64_t /*file*/) {
      return std::shared_ptr<const InputFile>(storage_->open(path));
    });
  }
  std::int64_t size() const override { return 10; }
  int num_classes() const override { return 1; }
  std::vector<std::string> class_names() const override { return {"all"}; }
  std::int64_t label(std::int64_t) const override { return 0; }
  void get(std::int64_t index, StoredSample& sample) const override {
    sample.label = read_ahead_->take(index, sample.bytes) ? 1 : 0;
  }
  std::string describe(std::int64_t index) const override { return std::to_string(index); }
  std::string fingerprint() const override { return "even"; }
  bool was_fetched(std::int64_t index) const {
    StoredSample sample;
    get(index, sample);
    return sample.label == 1;
  }
  ReadAhead& ahead() const override { return *read_ahead_; }

 private:
  std::optional<ReadAheadPart> part_of(std::int64_t index) const override {
    if (index % 2 == 1) return std::nullopt;
    return ReadAheadPart{
        .key = index, .offset = static_cast<std::uint64_t>(10 * index), .size = 10};
  }

  std::shared_ptr<paceline::test::FakeStorage> storage_ =
      std::make_shared<paceline::test::FakeStorage>();
  std::unique_ptr<ReadAhead> read_ahead_;
};

TEST(FileDataset, FetchesThePartsOfHints) {
  const EvenSamples samples("s3://b/file");
  EXPECT_TRUE(samples.reads_ahead());
  samples.will_read(std::vector<std::int64_t>{0, 1, 2, 4});
  EXPECT_TRUE(samples.was_fetched(0));
  EXPECT_FALSE(samples.was_fetched(1));
  EXPECT_TRUE(samples.was_fetched(4));
  samples.will_read_no_more();
  EXPECT_FALSE(samples.was_fetched(2));
}

TEST(FileDataset, OfAFastDiskNothingIsFetched) {
  const EvenSamples samples("/folder/file");
  EXPECT_FALSE(samples.reads_ahead());
  samples.will_read(std::vector<std::int64_t>{0});
  EXPECT_FALSE(samples.was_fetched(0));
  for (int i = 0; i < 100; ++i) samples.ahead().note_read(5e-3);
  ASSERT_TRUE(samples.reads_ahead()) << "it is slow";
  samples.will_read(std::vector<std::int64_t>{0});
  EXPECT_TRUE(samples.was_fetched(0));
}

}  // namespace
}  // namespace paceline::data
