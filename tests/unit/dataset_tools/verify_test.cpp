#include "paceline/dataset_tools/verify.h"

#include "paceline/data/sources/image_folder.h"
#include "paceline/dataset_tools/synth.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Verify, ListsEveryDamagedFileInOrder) {
  const TempFolder folder;
  SynthOptions options{.path = (folder.path() / "set").string(), .classes = 5};
  options.train_per_class = 40;
  options.val_per_class = 1;
  options.min_size = options.max_size = 16;
  synthesize_image_folder(options);
  const auto opened = data::open_image_folder(options.path, "train", "train");
  const data::Dataset& dataset = *opened;
  std::int64_t last_done = 0;
  const VerifyReport sound = verify(dataset, true, 2, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, ++last_done);
    EXPECT_EQ(total, 200);
  });
  EXPECT_EQ(sound.num_samples, 200);
  EXPECT_THAT(sound.damaged, IsEmpty());
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < dataset.size(); ++i) bytes += fs::file_size(dataset.describe(i));
  EXPECT_EQ(sound.size_bytes, bytes);

  const std::uint64_t size_of_3 = fs::file_size(dataset.describe(3));
  const std::uint64_t size_of_77 = fs::file_size(dataset.describe(77));
  const std::uint64_t size_of_190 = fs::file_size(dataset.describe(190));
  fs::resize_file(dataset.describe(190), 100);
  fs::resize_file(dataset.describe(3), 100);
  fs::remove(dataset.describe(77));
  EXPECT_THAT(verify(dataset, true, 2, {}).damaged,
              ElementsAre(HasSubstr(dataset.name(3)), HasSubstr(dataset.name(77)),
                          HasSubstr(dataset.name(190))));
  const std::uint64_t left = bytes - size_of_77 - size_of_190 - size_of_3 + 200;
  const VerifyReport read_only = verify(dataset, false, 2, {});
  EXPECT_THAT(read_only.damaged, ElementsAre(HasSubstr(dataset.name(77))))
      << "only reading does not look into files";
  EXPECT_EQ(read_only.size_bytes, left);
}

}  // namespace
}  // namespace paceline::dataset_tools
