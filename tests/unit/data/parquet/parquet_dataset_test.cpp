#include "paceline/data/parquet/parquet_dataset.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/data/dataset/subset.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/storage/retrying_storage.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/data/transforms/pipeline.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/mutations.h"
#include "support/data/parquet_files.h"
#include "support/data/same_samples.h"
#include "support/temp_folder.h"

#include <chrono>
#include <csignal>
#include <numeric>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

fs::path golden_parquet(const std::string& name) {
  return fs::path(PACELINE_GOLDEN_DIR) / "parquet" / name;
}

ParquetColumns columns_of(const std::string& name) {
  if (name == "required.parquet") return {"img", "fine_label"};
  return {"image", "label"};
}

/// A folder with copies of some of the files.
class ParquetFolder {
 public:
  explicit ParquetFolder(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      fs::copy_file(golden_parquet(name), folder_.path() / name);
  }
  ParquetSource source(const std::string& files) const {
    return {folder_.path(), files, files, columns_of(files), {}, "parquet-train"};
  }
  std::unique_ptr<Dataset> open(const std::string& files) const {
    return open_parquet(source(files));
  }
  const fs::path& path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

ListedRow row_of(const Dataset& dataset, std::int64_t index) {
  StoredSample sample;
  sample.width = 7;  // of another sample before
  dataset.get(index, sample);
  EXPECT_EQ(sample.width, 0);
  EXPECT_EQ(sample.label, dataset.label(index));
  return listed_row(sample.label, dataset.name(index), sample.bytes);
}

TEST(ParquetDataset, ReadsEveryFormOfFile) {
  const auto listing = read_listing(golden_parquet("listing.tsv"));
  ASSERT_GT(listing.size(), 15u);
  for (const auto& [name, rows] : listing) {
    if (name == "only_dogs.parquet") continue;  // its labels need another file's classes
    SCOPED_TRACE(name);
    const ParquetFolder folder({name});
    ParquetSource source = folder.source(name);
    for (const std::size_t cached_bytes : {std::size_t{1} << 20, std::size_t{0}}) {
      source.cached_bytes = cached_bytes;
      const auto dataset = open_parquet(source);
      ASSERT_EQ(dataset->size(), std::ssize(rows));
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const std::size_t which = i * 7 % rows.size();  // from page to page
          EXPECT_EQ(row_of(*dataset, static_cast<std::int64_t>(which)), rows[which]) << which;
        }
      }
    }
  }
}

TEST(ParquetDataset, JoinsFilesInTheirOrder) {
  const auto listing = read_listing(golden_parquet("listing.tsv"));
  const ParquetFolder folder({"none.parquet", "zstd.parquet", "gzip.parquet"});
  const auto dataset = folder.open("{zstd,none,gzip}.parquet");
  ASSERT_EQ(dataset->size(), 30);
  EXPECT_EQ(row_of(*dataset, 12), listing.at("none.parquet")[2]);
  EXPECT_EQ(dataset->describe(12),
            (folder.path() / "none.parquet").string() + ": row 2 (n2_2.JPEG)");
  EXPECT_EQ(dataset->describe(9),
            (folder.path() / "zstd.parquet").string() + ": row 9 (n0_9.JPEG)");
}

TEST(ParquetDataset, TakesClassNamesFromHuggingFacesMetadata) {
  const ParquetFolder folder({"huggingface.parquet", "none.parquet"});
  const auto dataset = folder.open("huggingface.parquet");
  EXPECT_THAT(dataset->class_names(),
              ElementsAre("tench, Tinca tinca", "paper/plate", "goldfish", "unused"));
  EXPECT_EQ(dataset->num_classes(), 4);
  EXPECT_THAT(folder.open("none.parquet")->class_names(), ElementsAre("0", "1", "2"));
  ParquetSource source = folder.source("huggingface.parquet");
  source.classes = 5;
  EXPECT_THAT(open_parquet(source)->class_names(), ElementsAre("0", "1", "2", "3", "4"));
  source.classes = 2;
  EXPECT_THAT([&] { open_parquet(source); },
              ThrowsMessage<base::DataError>(AllOf(
                  HasSubstr("huggingface.parquet: row 2 has label 2"), HasSubstr("from 0 to 1"))));
}

TEST(ParquetDataset, NumbersTextsByTheTrainingFiles) {
  const auto listing = read_listing(golden_parquet("listing.tsv"));
  const ParquetFolder folder({"texts.parquet", "only_dogs.parquet"});
  ParquetSource source = folder.source("only_dogs.parquet");
  EXPECT_THAT(open_parquet(source)->class_names(), ElementsAre("dog"));
  source.class_files = "absent-*.parquet";
  EXPECT_THAT(open_parquet(source)->class_names(), ElementsAre("dog"));
  source.class_files = "texts.parquet";
  const auto dataset = open_parquet(source);
  EXPECT_THAT(dataset->class_names(), ElementsAre("ape", "cat", "dog"));
  EXPECT_EQ(row_of(*dataset, 0), listing.at("only_dogs.parquet")[0]);
  std::swap(source.files, source.class_files);
  EXPECT_THAT([&] { open_parquet(source); },
              ThrowsMessage<base::DataError>(AllOf(
                  HasSubstr("texts.parquet: row 0 has label 'cat'"), HasSubstr("training files"))));
}

std::vector<float> pixels_of(const Dataset& dataset, std::int64_t index) {
  const TransformPipeline pipeline(imagenet_eval(40, 32));
  std::vector<float> pixels(3 * 32 * 32);
  TransformScratch scratch;
  StoredSample sample;
  dataset.get(index, sample);
  pipeline.run(sample, {}, scratch, PixelSink{pixels.data()});
  return pixels;
}

// The same images as an image folder and in Parquet: the same subset, and the same pixels.
TEST(ParquetDataset, IsAnImageFolderInAnotherForm) {
  const ParquetFolder parquet({"photos.parquet"});
  const TempFolder tree;
  auto photos = parquet.open("photos.parquet");
  std::map<std::string, std::int64_t> rows;  // by the name of the file
  StoredSample sample;
  for (std::int64_t i = 0; i < photos->size(); ++i) {
    photos->get(i, sample);
    const std::string name = photos->name(i).substr(0, photos->name(i).rfind('_')) + ".JPEG";
    tree.write(fmt::format("train/n{}/{}", sample.label, name),
               {sample.bytes.begin(), sample.bytes.end()});
    rows[name] = i;
  }
  ASSERT_EQ(rows.size(), 8u);
  const auto folder = make_subset(open_image_folder(tree.path(), "train", "train"), 5, 11);
  std::set<std::string> in_folder;
  for (std::int64_t i = 0; i < folder->size(); ++i) {
    const std::string name = folder->name(i);
    const std::int64_t row = rows.at(name.substr(name.rfind('/') + 1));
    EXPECT_EQ(folder->label(i), photos->label(row));
    EXPECT_EQ(pixels_of(*folder, i), pixels_of(*photos, row)) << name;
    in_folder.insert(photos->name(row));
  }
  const auto subset = make_subset(std::move(photos), 5, 11);
  std::set<std::string> in_parquet;
  for (std::int64_t i = 0; i < subset->size(); ++i) in_parquet.insert(subset->name(i));
  EXPECT_EQ(in_parquet, in_folder);
  EXPECT_EQ(in_parquet.size(), 5u);
}

TEST(ParquetDataset, NamesFileAndRowOfWhatIsWrong) {
  const auto refuses = [](const std::string& name, const std::string& problem) {
    const ParquetFolder folder({name});
    EXPECT_THAT([&] { folder.open(name); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr(name), HasSubstr(problem))));
  };
  refuses("null_label.parquet", "row 5 has no label");
  refuses("negative_label.parquet", "row 3 has label -1");
  refuses("float_label.parquet", "neither integers nor texts");
  refuses("lists.parquet", "it has image.list.element, label: set data.image_column");
  refuses("no_rows.parquet", "holds no rows");
  refuses("make_parquet.py", "make_parquet.py: ");
  const ParquetFolder folder({"null_image.parquet", "none.parquet"});
  const auto dataset = folder.open("null_image.parquet");
  EXPECT_EQ(row_of(*dataset, 5).name, "x");
  EXPECT_THAT(
      [&] { row_of(*dataset, 6); },
      ThrowsMessage<base::DataError>(HasSubstr("null_image.parquet: row 6 (6): has no image")));
  ParquetSource source = folder.source("none.parquet");
  source.columns = {"picture", "label"};
  EXPECT_THAT([&] { open_parquet(source); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("no column 'picture'"),
                                                   HasSubstr("image.bytes, image.path, label"))));
  source.columns = {"image", "class"};
  EXPECT_THAT([&] { open_parquet(source); },
              ThrowsMessage<base::DataError>(AllOf(HasSubstr("none.parquet: has no column 'class'"),
                                                   HasSubstr("data.label_column"))));
  source.columns = {"label", "label"};
  EXPECT_THAT([&] { open_parquet(source); },
              ThrowsMessage<base::DataError>(HasSubstr("'label' is not of bytes")));
}

TEST(ParquetDataset, FindsTruncation) {
  const MemoryFile memory;
  const std::string sound = base::read_file(golden_parquet("huggingface.parquet"));
  for (std::size_t size = 0; size < sound.size(); size += 13) {
    const std::string file = memory.write(sound.substr(0, size));
    EXPECT_THROW(
        load_remote_plugin().list_parquet(std::make_shared<LocalFile>(file), {"image", "label"}),
        base::DataError)
        << size;
  }
}

TEST(ParquetDataset, KeepsItsIndexUntilAFileChanges) {
  const ParquetFolder folder({"none.parquet"});
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder.path() / "none.parquet", hour_ago);
  const std::string fingerprint = folder.open("*.parquet")->fingerprint();
  const fs::path index = folder.path() / ".paceline-parquet-train.index";
  fs::last_write_time(index, hour_ago);
  EXPECT_EQ(folder.open("*.parquet")->fingerprint(), fingerprint);
  EXPECT_EQ(fs::last_write_time(index), hour_ago);
  fs::copy_file(golden_parquet("zstd.parquet"), folder.path() / "zstd.parquet");
  EXPECT_EQ(folder.open("*.parquet")->size(), 20);
}

// The first pass fetches pages, the second one images alone, where the form allows it.
TEST(ParquetDataset, IsTheSameOnOtherMachines) {
  const test::CacheHome cache;
  for (const auto& [name, rows] : read_listing(golden_parquet("listing.tsv"))) {
    SCOPED_TRACE(name);
    const ParquetFolder folder({name});
    ParquetSource source = folder.source(name);
    source.cached_bytes = 0;
    const auto local = open_parquet(source);
    source.folder = "s3://bucket";
    const auto remote = open_parquet(source, test::copy_of(folder.path(), "s3://bucket"));
    EXPECT_TRUE(remote->reads_ahead());
    for (int pass = 0; pass < 2; ++pass) test::expect_same_samples(*remote, *local);
  }
}

TEST(ParquetDataset, FetchesAheadWhatItIsToldOf) {
  const test::CacheHome cache;
  const TempFolder folder;
  constexpr int kFiles = 6;
  for (int i = 0; i < kFiles; ++i)
    fs::copy_file(golden_parquet("snappy.parquet"), folder.path() / fmt::format("{}.parquet", i));
  const auto far = test::copy_of(folder.path(), "s3://bucket");
  const auto storage = retry_transient_errors(far, {}, std::make_shared<RetryCounts>());
  const std::string files = "{0..5}.parquet";
  const ParquetSource source{"s3://bucket",   files, files, {"image", "label"}, {},
                             "parquet-train", 0};
  const auto dataset = open_parquet(source, storage);
  EXPECT_EQ(far->num_lists, 0);  // HTTP servers cannot
  ParquetSource more = source;
  more.files = "{0..6}.parquet";
  EXPECT_THAT([&] { open_parquet(more, storage); },
              ThrowsMessage<base::DataError>(HasSubstr("s3://bucket/6.parquet: there is no such")));
  std::vector<std::int64_t> all(static_cast<std::size_t>(dataset->size()));
  std::iota(all.begin(), all.end(), 0);
  StoredSample sample;
  for (const std::int64_t i : all) dataset->get(i, sample);  // opens the files, finds all places
  far->latency = std::chrono::milliseconds(20);
  far->num_reads = far->most_at_once = 0;
  dataset->will_read(all);
  for (const std::int64_t i : all) dataset->get(i, sample);
  EXPECT_EQ(far->num_reads, kFiles);
  EXPECT_GT(far->most_at_once, 1);

  // Of what is forgotten, nothing was kept.
  dataset->will_read(std::vector<std::int64_t>{0});
  while (far->num_reads == kFiles) std::this_thread::yield();
  dataset->will_read_no_more();
  dataset->get(0, sample);
  EXPECT_EQ(far->num_reads, kFiles + 2);
}

// Arrow's frames lie between the pause and the reader, and the data set's errors are DataErrors.
TEST(ParquetDataset, AStopInAPauseIsAStopAlsoWithinArrow) {
  const test::CacheHome cache;
  const ParquetFolder folder({"zstd.parquet"});
  const auto far = test::copy_of(folder.path(), "s3://bucket");
  base::Interruption interruption;
  const auto storage = retry_transient_errors(
      far, {.first_pause_s = 600, .longest_pause_s = 600, .interruption = &interruption},
      std::make_shared<RetryCounts>());
  ParquetSource source = folder.source("zstd.parquet");
  source.folder = "s3://bucket";
  const auto dataset = open_parquet(source, storage);
  interruption.request(SIGTERM);
  far->disturb = [](auto&&...) { throw TransientError("busy"); };
  StoredSample sample;
  EXPECT_THROW(dataset->get(0, sample), base::Interrupted);
  source.cache_name = "not-listed-yet";
  EXPECT_THROW(open_parquet(source, storage), base::Interrupted);
}

TEST(ParquetDataset, FetchesAPageOnceThatIsWantedOften) {
  const test::CacheHome cache;
  const ParquetFolder folder({"zstd.parquet"});
  const auto far = test::copy_of(folder.path(), "s3://bucket");
  ParquetSource source = folder.source("zstd.parquet");
  source.folder = "s3://bucket";
  const auto dataset = open_parquet(source, far);
  StoredSample sample;
  const auto pass = [&] {
    far->num_reads = 0;
    for (std::int64_t i = 0; i < dataset->size(); ++i) {
      const std::vector<std::int64_t> rest = {i, dataset->size() - 1};
      dataset->will_read(rest);
      dataset->get(i, sample);
    }
    return far->num_reads.load();
  };
  const int num_first = pass();
  EXPECT_GT(num_first, 1);
  EXPECT_LT(num_first, 10);  // of ten rows; with the footer
  EXPECT_EQ(pass(), 0);      // all pages are in memory
}

TEST(ParquetDataset, IsReadFromManyThreads) {
  const auto rows = read_listing(golden_parquet("listing.tsv")).at("fragments.parquet");
  const ParquetFolder folder({"fragments.parquet"});
  ParquetSource source = folder.source("fragments.parquet");
  source.cached_bytes = 0;
  const auto dataset = open_parquet(source);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t which = (i * 5 + thread) % rows.size();
        EXPECT_EQ(row_of(*dataset, static_cast<std::int64_t>(which)), rows[which]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ParquetDataset, IsReadFromManyThreadsOnOtherMachines) {
  const test::CacheHome cache;
  const auto rows = read_listing(golden_parquet("listing.tsv")).at("fragments.parquet");
  const ParquetFolder folder({"fragments.parquet"});
  ParquetSource source = folder.source("fragments.parquet");
  source.folder = "s3://bucket";
  source.cached_bytes = 0;
  const auto dataset = open_parquet(source, test::copy_of(folder.path(), "s3://bucket"));
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t which = (i * 5 + thread) % rows.size();
        const auto index = static_cast<std::int64_t>(which);
        dataset->will_read(std::vector<std::int64_t>{index});
        EXPECT_EQ(row_of(*dataset, index), rows[which]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ParquetDataset, TakesItsSettings) {
  const paceline::test::TempFolder folder;
  std::filesystem::create_directory(folder.path() / "data");
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet" / from,
                               folder.path() / to);
  };
  copy("texts.parquet", "data/train-00000-of-00001.parquet");
  copy("only_dogs.parquet", "data/validation-00000-of-00001.parquet");
  copy("required.parquet", "flat.parquet");
  ParquetConfig config;
  config.path = folder.path().string();
  EXPECT_EQ(open(config, Split::kTrain)->size(), 10);
  EXPECT_EQ(open(config, Split::kVal)->label(0), 2);  // dog, by the training files
  config.train_files = "flat.parquet";
  config.image_column = "img";
  config.label_column = "fine_label";
  config.classes = 20;
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 20);
}

}  // namespace
}  // namespace paceline::data
