#include "paceline/data/sources/cifar.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <filesystem>
#include <functional>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using base::read_file;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string golden(const std::string& name) {
  return read_file(std::string(PACELINE_GOLDEN_DIR) + "/cifar/" + name);
}

/// Labels, then planes whose bytes tell the record, the channel and the pixel.
std::string binary_record(const std::string& labels, int seed) {
  std::string record = labels;
  for (int i = 0; i < 3072; ++i) record.push_back(static_cast<char>((seed + i * 7) % 251));
  return record;
}

std::string cifar10_names() {
  std::string names;
  for (int i = 0; i < 10; ++i) names += "name " + std::to_string(i) + "\n";
  return names + "\n";
}

void write_cifar10_binary(const TempFolder& folder, const std::string& below) {
  for (int i = 1; i <= 5; ++i) {
    folder.write(below + "data_batch_" + std::to_string(i) + ".bin",
                 binary_record("\x03", 0) + binary_record("\x09", 6144 * 7 / 2));
  }
  folder.write(below + "test_batch.bin", binary_record(std::string(1, '\0'), 1));
  folder.write(below + "batches.meta.txt", cifar10_names());
}

void write_cifar10_python(const TempFolder& folder, const std::string& below) {
  for (int i = 1; i <= 5; ++i) {
    folder.write(below + "data_batch_" + std::to_string(i), golden("python2_protocol2"));
  }
  folder.write(below + "test_batch", golden("python3_protocol4"));
  folder.write(below + "batches.meta", golden("batches.meta"));
}

/// All files of `folder` as a .tar.gz, under their paths there.
void pack(const fs::path& folder, const fs::path& tar_gz) {
  archive* const writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_pax_restricted(writer);
  ASSERT_EQ(archive_write_open_filename(writer, tar_gz.c_str()), ARCHIVE_OK);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string content = read_file(entry.path());
    archive_entry* const header = archive_entry_new();
    archive_entry_set_pathname(header, fs::relative(entry.path(), folder).c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(header, AE_IFREG);
    archive_entry_set_perm(header, 0644);
    archive_write_header(writer, header);
    archive_write_data(writer, content.data(), content.size());
    archive_entry_free(header);
  }
  archive_write_close(writer);
  archive_write_free(writer);
}

void expect_cifar10(const fs::path& path) {
  SCOPED_TRACE(path.string());
  const Cifar train(CifarVariant::k10, path, true);
  EXPECT_EQ(train.size(), 10);
  EXPECT_EQ(train.num_classes(), 10);
  EXPECT_EQ(train.class_names().at(3), "name 3");
  EXPECT_EQ(train.label(4), 3);
  EXPECT_EQ(train.label(5), 9);
  StoredSample sample;
  train.get(5, sample);
  EXPECT_EQ(sample.label, 9);
  EXPECT_EQ(sample.width, 32);
  EXPECT_EQ(sample.height, 32);
  ASSERT_EQ(sample.bytes.size(), 3072u);
  for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      ASSERT_EQ(sample.bytes[pixel * 3 + channel], (3072 + channel * 1024 + pixel) * 7 % 251);
    }
  }
  EXPECT_THAT(train.describe(5), AllOf(HasSubstr("data_batch_3"), HasSubstr("record 1")));
}

TEST(Cifar, ReadsEveryVersionFromEveryPlace) {
  const TempFolder folder;
  write_cifar10_binary(folder, "b/cifar-10-batches-bin/");
  write_cifar10_python(folder, "p/cifar-10-batches-py/");
  expect_cifar10(folder.path() / "b");
  expect_cifar10(folder.path() / "b/cifar-10-batches-bin");
  expect_cifar10(folder.path() / "p");
  expect_cifar10(folder.path() / "p/cifar-10-batches-py");
  const fs::path packed = folder.path() / "packed";
  fs::create_directory(packed);
  pack(folder.path() / "b", packed / "cifar-10-binary.tar.gz");
  expect_cifar10(packed);
  expect_cifar10(packed / "cifar-10-binary.tar.gz");
  fs::remove(packed / "cifar-10-binary.tar.gz");
  pack(folder.path() / "p", packed / "cifar-10-python.tar.gz");
  expect_cifar10(packed);
  expect_cifar10(packed / "cifar-10-python.tar.gz");
}

TEST(Cifar, FingerprintIsTheContents) {
  const TempFolder folder;
  write_cifar10_binary(folder, "b/");
  write_cifar10_python(folder, "p/");
  const auto fingerprint = [&](const char* below) {
    return Cifar(CifarVariant::k10, folder.path() / below, true).fingerprint();
  };
  const std::string before = fingerprint("b");
  EXPECT_EQ(before, fingerprint("p"));
  EXPECT_NE(before, Cifar(CifarVariant::k10, folder.path() / "b", false).fingerprint());
  folder.write("b/data_batch_5.bin", binary_record("\x03", 0) + binary_record("\x09", 5));
  EXPECT_NE(before, fingerprint("b"));
}

TEST(Cifar, ReadsTheFineLabelsOfCifar100) {
  const TempFolder folder;
  folder.write("train.bin", binary_record("\x07\x63", 0));
  folder.write("test.bin", binary_record("\x07\x62", 0));
  const Cifar train(CifarVariant::k100, folder.path(), true);
  EXPECT_EQ(train.num_classes(), 100);
  EXPECT_EQ(train.label(0), 99);
  EXPECT_EQ(train.class_names().at(7), "7");  // no names file
  EXPECT_EQ(Cifar(CifarVariant::k100, folder.path(), false).label(0), 98);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "no DataError";
}

TEST(Cifar, NamesFileAndRecordOfAWrongLabel) {
  const TempFolder folder;
  write_cifar10_binary(folder, "");
  folder.write("data_batch_2.bin", binary_record("\x01", 0) + binary_record("\x0a", 0));
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              AllOf(HasSubstr("data_batch_2.bin"), HasSubstr("record 1"), HasSubstr("label 10"),
                    HasSubstr("0 to 9")));
}

TEST(Cifar, NamesWhatIsMissingOrCut) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              AllOf(HasSubstr(folder.path().string()), HasSubstr("cifar-10-batches-bin"),
                    HasSubstr("cifar-10-python.tar.gz"), HasSubstr("https://")));
  write_cifar10_binary(folder, "");
  folder.write("data_batch_4.bin", binary_record("\x01", 0).substr(0, 3000));
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              AllOf(HasSubstr("data_batch_4.bin"), HasSubstr("3000 bytes")));
  fs::remove(folder.path() / "data_batch_4.bin");
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              HasSubstr("not data_batch_4.bin"));
}

TEST(Cifar, AFileThatCannotBeLookedAtIsNotTakenForAbsent) {
  const TempFolder folder;
  write_cifar10_binary(folder, "");
  const fs::path file = folder.path() / "batches.meta.txt";
  fs::remove(file);
  fs::create_symlink(file, file);
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              AllOf(HasSubstr(file.string()), HasSubstr("symbolic links")));
}

TEST(Cifar, NamesADamagedArchive) {
  const TempFolder folder;
  write_cifar10_binary(folder, "in/");
  const fs::path archive = folder.path() / "cifar-10-binary.tar.gz";
  pack(folder.path() / "in", archive);
  fs::resize_file(archive, fs::file_size(archive) / 2);
  EXPECT_THAT(error_of([&] { Cifar(CifarVariant::k10, folder.path(), true); }),
              HasSubstr("cifar-10-binary.tar.gz"));
}

TEST(Cifar, IsCopiedFromOtherMachines) {
  const test::CacheHome cache;
  const auto storage = std::make_shared<test::FakeStorage>();
  storage->files["https://host/cifar/test.bin"] = std::string(2 * 3074, '\7');
  EXPECT_EQ(open(Cifar100Config{"https://host/cifar"}, Split::kVal, storage)->label(1), 7);
}

}  // namespace
}  // namespace paceline::data
