#include "paceline/data/pack/manifest.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

PackManifest example() {
  PackManifest manifest;
  manifest.classes = {"n01440764", "a \"quoted\" name"};
  manifest.shards = {{5, 1000, 0xFFEEDDCCBBAA9988}, {3, 700, 1}};
  manifest.source_fingerprint = "0123";
  manifest.num_source_samples = 9;
  manifest.mode = "files";
  return manifest;
}

TEST(PackManifest, GivesBackWhatWasWritten) {
  const TempFolder folder;
  folder.write(kPackManifestName, to_json(example()));
  EXPECT_EQ(read_pack_manifest(folder.path()), example());
  EXPECT_EQ(example().num_samples(), 8);
  EXPECT_THAT(to_json(example()), HasSubstr("\"version\": 1"));
}

TEST(PackManifest, FieldsAreOfASecondVersionWhichOlderReadersRefuse) {
  const TempFolder folder;
  PackManifest manifest = example();
  manifest.fields = {{"volume", FieldType::kFloat16, {1, 4, 4}}, {"labels", FieldType::kUInt8}};
  folder.write(kPackManifestName, to_json(manifest));
  EXPECT_EQ(read_pack_manifest(folder.path()), manifest);
  EXPECT_THAT(to_json(manifest), HasSubstr("\"version\": 2"));
}

TEST(PackManifest, NamesTheFileAndWhatIsWrongWithIt) {
  const TempFolder folder;
  const auto expect_error = [&](const std::string& text, const std::string& problem) {
    folder.write(kPackManifestName, text);
    EXPECT_THAT(
        [&] { read_pack_manifest(folder.path()); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr("manifest.json"), HasSubstr(problem))));
  };
  EXPECT_THAT([&] { read_pack_manifest(folder.path()); },
              ThrowsMessage<base::DataError>(HasSubstr("there is no manifest.json")));
  expect_error("{", "not valid JSON");
  expect_error("[]", "type");
  expect_error(R"({"format": "another"})", "\"format\" is not");
  expect_error(R"({"format": "paceline packed data set", "version": 3})", "version 3");
  expect_error(R"({"format": "paceline packed data set", "version": 2})", "'fields' not found");
  expect_error(R"({"format": "paceline packed data set", "version": 2,
                   "fields": [{"name": "a", "type": "bool", "sizes": []}]})",
               "a field of type \"bool\"");
  expect_error(R"({"format": "paceline packed data set", "version": 2,
                   "fields": [{"name": "a", "type": "uint8", "sizes": [-1]}]})",
               "field a has a negative size");
  expect_error(R"({"format": "paceline packed data set", "version": 2,
                   "fields": [{"name": "a", "type": "int32", "sizes": [2147483648, 2147483648]}]})",
               "field a takes 4 GiB or more");
  expect_error(R"({"format": "paceline packed data set", "version": 1})", "'mode' not found");
}

}  // namespace
}  // namespace paceline::data
