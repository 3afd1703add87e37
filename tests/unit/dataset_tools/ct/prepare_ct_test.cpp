#include "paceline/dataset_tools/ct/prepare_ct.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_encoder.h"
#include "paceline/data/ct/ct_plugin.h"
#include "paceline/data/sources/arrays.h"
#include "paceline/dataset_tools/ct/ct_cubes.h"
#include "support/data/dicom_bytes.h"
#include "support/data/nifti_bytes.h"
#include "support/interrupted_file_system.h"
#include "support/power_loss_file_system.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSomePatients = 12;  // of which, by seed 1, some are in each split

/// A scan of 4 x 4 x 4 voxels of which each patient has other values.
std::string scan_bytes(int patient) {
  test::NiftiBytes file{.dim = {3, 4, 4, 4}};
  std::vector<std::int16_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int16_t>(patient * 100 + static_cast<int>(i));
  return test::gzip_bytes(file.set(values).bytes());
}

std::string id_of(int patient) { return "Doe^John-" + std::to_string(patient); }

data::CtVolume read_scan(const fs::path& path, const std::string& name) {
  return data::load_ct_plugin().read_nifti(path, name);
}

class PrepareCt : public ::testing::Test {
 protected:
  PrepareCt() {
    options_.source = folder_.path() / "scans";
    options_.folder = folder_.path() / "out";
    options_.settings = {.fov_mm = 8, .sides = {4, 2}};
    options_.seed = 1;
    options_.num_threads = 1;
    for (int i = 0; i < kSomePatients; ++i) write_scan(i);
  }

  void write_scan(int patient, const std::string& bytes) const {
    const std::string id = id_of(patient);
    folder_.write(
        patient % 2 == 0 ? "scans/" + id + ".nii.gz" : "scans/" + id + "/" + id + ".nii.gz", bytes);
  }
  void write_scan(int patient) const { write_scan(patient, scan_bytes(patient)); }

  void keep_patients(int count) const {
    for (int i = count; i < kSomePatients; ++i) {
      fs::remove_all(options_.source / id_of(i));
      fs::remove(options_.source / (id_of(i) + ".nii.gz"));
    }
  }

  CtPrepareResult run(base::FileSystem& files) {
    num_read_ = 0;
    said_.clear();
    return prepare_ct(options_,
                      {.files = files,
                       .read =
                           [this](const fs::path& path, const std::string& name) {
                             ++num_read_;
                             return read_scan(path, name);
                           },
                       .read_slices =
                           [this](const std::vector<fs::path>& slices, const std::string& name) {
                             ++num_read_;
                             return data::load_ct_plugin().read_dicom_series(
                                 slices, data::SeriesChoice::kOnly, name);
                           },
                       .say = [this](const std::string& what) { said_ += what + "\n"; }});
  }
  CtPrepareResult run() { return run(files_); }
  std::string failure() {
    try {
      run();
    } catch (const base::Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  /// All that was written, by name.
  std::map<std::string, std::string> output() const {
    std::map<std::string, std::string> content;
    for (const auto& entry : fs::recursive_directory_iterator(options_.folder)) {
      if (entry.is_regular_file())
        content[fs::relative(entry.path(), options_.folder).string()] =
            base::read_file(entry.path());
    }
    return content;
  }

  void start_from(const fs::path& before) const {
    fs::remove_all(options_.folder);
    fs::copy(before, options_.folder, fs::copy_options::recursive);
  }
  /// A run from what `start` leaves writes `whole`, also after one that died, at any moment.
  void expect_whole_after_death(const std::function<void()>& start,
                                const std::map<std::string, std::string>& whole) {
    start();
    test::InterruptedFileSystem counting;
    run(counting);
    EXPECT_EQ(output(), whole);
    for (int moment = 0; moment < counting.num_operations(); ++moment) {
      start();
      test::InterruptedFileSystem dying(moment, test::InterruptedFileSystem::Fault::kDeath);
      EXPECT_ANY_THROW(run(dying)) << moment;
      run();
      ASSERT_EQ(output(), whole) << moment;
    }
  }

  const test::TempFolder folder_;
  test::UnsyncedFileSystem files_;
  CtPrepareOptions options_;
  int num_read_ = 0;
  std::string said_;
};

TEST_F(PrepareCt, GivesArraysThatTheDataSetReads) {
  const CtPrepareResult result = run();
  EXPECT_EQ(result.made, kSomePatients);
  EXPECT_EQ(result.patients[0] + result.patients[1] + result.patients[2], kSomePatients);
  EXPECT_FALSE(fs::exists(options_.folder / "work"));
  const CtManifest manifest = read_ct_manifest(options_.folder).value();
  ASSERT_EQ(manifest.patients.size(), kSomePatients);
  for (int i = 0; i < kSomePatients; ++i) {
    const std::string code = patient_code(id_of(i), 1);
    const CtPatient& patient = *std::ranges::find(manifest.patients, code, &CtPatient::code);
    EXPECT_EQ(patient.split, split_of_patient(id_of(i), 1));
    const data::ArrayDataset set(options_.folder / name_of(patient.split), {"volume_4"}, {});
    EXPECT_EQ(set.size(), result.patients[static_cast<std::size_t>(patient.split)]);
    data::StoredSample sample;
    set.get(patient.index, sample);
    EXPECT_EQ(set.stored_fields()[0].sizes, (std::vector<std::int64_t>{4, 4, 4}));
    const data::NpyArray array =
        data::open_npy(options_.folder / name_of(patient.split) / "volume_4.npy");
    std::int16_t first = 0;
    std::memcpy(&first, &array.bytes[static_cast<std::size_t>(patient.index) * 128], 2);
    EXPECT_EQ(first, i * 100);
    EXPECT_EQ(patient.affine, (volume::Affine{{{2, 0, 0, -10}, {0, 2, 0, -20}, {0, 0, 2, -30}}}));
  }
}

TEST_F(PrepareCt, TakesSlicesOfDicomWhateverTheyAreCalled) {
  keep_patients(3);
  const std::string id = "scans/Doe^Jane";
  for (int z = 0; z < 4; ++z)
    folder_.write(id + "/CT/IM" + std::to_string(z), test::ct_slice_bytes(2 * z, z).bytes());
  EXPECT_EQ(run().made, 4);
  EXPECT_EQ(num_read_, 4);
  const auto made = output();
  for (const auto& [file, content] : made) EXPECT_THAT(content, Not(HasSubstr("Doe"))) << file;
  fs::rename(options_.source / "Doe^Jane" / "CT" / "IM0", options_.source / "Doe^Jane" / "IM7");
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(output(), made);
  folder_.write(id + "/IM7", test::ct_slice_bytes(0, 9).bytes());
  EXPECT_EQ(run().made, 1);
  EXPECT_NE(output(), made);
  fs::remove(options_.source / "Doe^Jane" / "CT" / "IM2");
  EXPECT_THAT(failure(), AllOf(HasSubstr(", file 2 of 3: lies 4 mm from"), HasSubstr("expected 2"),
                               Not(HasSubstr("Doe"))));
}

TEST_F(PrepareCt, DoesNothingTwice) {
  run();
  const auto first = output();
  const auto time = fs::last_write_time(options_.folder / "train" / "volume_4.npy");
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(num_read_, 0);
  EXPECT_EQ(output(), first);
  EXPECT_EQ(fs::last_write_time(options_.folder / "train" / "volume_4.npy"), time);
}

TEST_F(PrepareCt, GivesTheSameOnAnyThreads) {
  run();
  const auto first = output();
  fs::remove_all(options_.folder);
  options_.num_threads = 4;
  prepare_ct(options_, {.files = files_, .read = read_scan});
  EXPECT_EQ(output(), first);
}

TEST_F(PrepareCt, NewPatientsMoveNobody) {
  run();
  const CtManifest before = read_ct_manifest(options_.folder).value();
  for (int i = kSomePatients; i < kSomePatients + 5; ++i) write_scan(i);
  EXPECT_EQ(run().made, 5);
  EXPECT_EQ(num_read_, 5);
  const CtManifest after = read_ct_manifest(options_.folder).value();
  for (const CtPatient& patient : before.patients)
    EXPECT_EQ(std::ranges::find(after.patients, patient.code, &CtPatient::code)->split,
              patient.split);
  const auto grown = output();
  fs::remove_all(options_.folder);
  run();
  EXPECT_EQ(output(), grown) << "other than if all had been there at once";
}

TEST_F(PrepareCt, PatientsWhoWereTakenAwayAreGone) {
  write_scan(kSomePatients);
  run();
  fs::remove_all(options_.source / (id_of(kSomePatients) + ".nii.gz"));
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(read_ct_manifest(options_.folder)->patients.size(), kSomePatients);
  const auto shrunk = output();
  fs::remove_all(options_.folder);
  run();
  EXPECT_EQ(output(), shrunk);
}

TEST_F(PrepareCt, AChangedScanIsMadeAgain) {
  run();
  write_scan(3, scan_bytes(99));
  EXPECT_EQ(run().made, 1);
  EXPECT_EQ(num_read_, 1);
  EXPECT_EQ(run().made, 0);
}

TEST_F(PrepareCt, DamagedOutputIsFoundAndMadeAgain) {
  run();
  const auto sound = output();
  for (const char* const name : {"train/volume_4.npy", "train/volume_2.npy"}) {
    std::string damaged = sound.at(name);
    damaged.back() ^= 16;
    folder_.write(std::string("out/") + name, damaged);
    EXPECT_EQ(run().made, 1);
    EXPECT_THAT(said_, HasSubstr("is damaged, and is made again"));
    EXPECT_EQ(output(), sound);
    folder_.write(std::string("out/") + name, damaged.substr(0, damaged.size() - 1));
    EXPECT_GT(run().made, 1);
    EXPECT_EQ(output(), sound);
  }
  fs::remove(options_.folder / "train" / "volume_4.npy");
  run();
  EXPECT_EQ(output(), sound);
}

TEST_F(PrepareCt, ArraysThatAreLongerThanTheManifestSaysAreWrittenAnew) {
  const std::int64_t patients = run().patients[0];
  const auto sound = output();
  const std::string& array = sound.at("train/volume_4.npy");
  constexpr std::size_t kHeaderBytes = 128;
  folder_.write("out/train/volume_4.npy",
                data::npy_header("<i2", std::array{patients + 1, std::int64_t{4}, std::int64_t{4},
                                                   std::int64_t{4}}) +
                    array.substr(kHeaderBytes) + std::string(128, 'x'));
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(output(), sound);
}

TEST_F(PrepareCt, GoesOnAfterDeathAtAnyMoment) {
  keep_patients(3);
  test::InterruptedFileSystem counting;
  run(counting);
  const auto whole = output();
  ASSERT_GT(counting.num_operations(), 30);
  for (const auto fault : {test::InterruptedFileSystem::Fault::kDeath,
                           test::InterruptedFileSystem::Fault::kFullDisk}) {
    for (int moment = 0; moment < counting.num_operations(); ++moment) {
      fs::remove_all(options_.folder);
      test::InterruptedFileSystem failing(moment, fault);
      EXPECT_ANY_THROW(run(failing)) << moment;
      run();
      ASSERT_EQ(output(), whole) << moment;
    }
  }
}

TEST_F(PrepareCt, DeathWhilePatientsComeLeavesTheOldOnes) {
  keep_patients(3);
  run();
  const auto before = folder_.path() / "before";
  fs::copy(options_.folder, before, fs::copy_options::recursive);
  write_scan(kSomePatients);
  run();
  expect_whole_after_death([&] { start_from(before); }, output());
}

TEST_F(PrepareCt, IsThereAfterAPowerLossOrMadeAgain) {
  keep_patients(2);
  run();
  const auto whole = output();
  bool has_returned = false;
  const auto look_at = [&](const fs::path& disk) -> std::string {
    options_.folder = disk / "out";
    const bool is_made = fs::exists(options_.folder / kCtManifestName);
    if (has_returned && !is_made) return "it is gone";
    try {
      run();
    } catch (const base::Error& error) {
      return error.what();
    }
    if (is_made && num_read_ > 0) return "what the manifest names is not there";
    return output() == whole ? "" : "it is other than without a power loss";
  };
  const test::PowerLossScenario scenario{
      .run = [&](test::PowerLossFileSystem& files, const fs::path& root) {
        has_returned = false;
        files.expect(look_at);
        CtPrepareOptions options = options_;
        options.folder = root / "out";
        prepare_ct(options, {.files = files, .read = read_scan});
        has_returned = true;
        files.expect(look_at);
      }};
  EXPECT_EQ(test::problem_of(scenario), "");
  for (const char* const sync : {"sync out/work/arrays/train-volume_4.npy",
                                 "sync_directory out/train (2)", "sync_directory out (3)"})
    EXPECT_NE(test::problem_of(scenario, sync), "") << sync;
}

TEST_F(PrepareCt, MakesAllOthersBeforeItRefusesABadScan) {
  write_scan(2, "no scan");
  EXPECT_THAT(failure(),
              AllOf(HasSubstr("patient " + patient_code(id_of(2), 1)), HasSubstr("is not NIfTI")));
  EXPECT_EQ(num_read_, kSomePatients);
  EXPECT_FALSE(fs::exists(options_.folder / "train"));
  write_scan(2);
  EXPECT_EQ(run().made, 1);
  EXPECT_EQ(num_read_, 1);
}

TEST_F(PrepareCt, TellsOfEveryBadScan) {
  write_scan(2, "no scan");
  write_scan(7, std::string(1000, 'x'));
  EXPECT_THAT(failure(), HasSubstr("2 of 12 scans cannot be used, of which the first: patient "));
  EXPECT_THAT(said_, HasSubstr("patient "));
}

TEST_F(PrepareCt, NothingTellsWhoAPatientIs) {
  std::string told;
  for (const std::string& bad : {std::string("no scan"), test::gzip_bytes("no scan").substr(0, 20),
                                 std::string(1000, 'x')}) {
    write_scan(2, bad);
    write_scan(3, bad);
    told += failure() + said_;
  }
  write_scan(2);
  write_scan(3);
  fs::remove(options_.source / id_of(3) / (id_of(3) + ".nii.gz"));
  fs::create_directory(options_.source / id_of(3) / (id_of(3) + ".nii.gz"));
  told += failure() + said_;
  fs::remove_all(options_.source / id_of(3));
  run();
  told += said_;
  for (const auto& [name, content] : output()) told += name + content;
  EXPECT_THAT(told, AllOf(Not(HasSubstr("Doe")), Not(HasSubstr("John"))));
}

TEST_F(PrepareCt, ASeedThatStandsThereIsTakenOut) {
  run();
  const auto place = options_.folder / kCtManifestName;
  const std::string made = base::read_file(place);
  std::string earlier = made;
  const std::string mark = fmt::format("\"seed_mark\": \"{}\"", seed_mark(1));
  ASSERT_NE(earlier.find(mark), std::string::npos);
  earlier.replace(earlier.find(mark), mark.size(), "\"seed\": 1");
  std::ofstream(place, std::ios::binary) << earlier;
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(base::read_file(place), made);
}

TEST_F(PrepareCt, OneScanByTwoNamesIsRefused) {
  write_scan(3, scan_bytes(7));
  EXPECT_THAT(failure(),
              AllOf(HasSubstr(" have the same scan; leave one of them"), HasSubstr("entry 6 of 12"),
                    HasSubstr("entry 10 of 12"), Not(HasSubstr("Doe"))));
  EXPECT_FALSE(fs::exists(options_.folder / kCtManifestName));
  write_scan(3);
  EXPECT_EQ(run().made, 1) << "the others were";
}

TEST_F(PrepareCt, RefusesToWriteAmongTheScans) {
  for (const fs::path& folder :
       {options_.source, options_.source / "out", options_.source.parent_path()}) {
    options_.folder = folder;
    EXPECT_THAT(failure(), HasSubstr("name a folder beside that of the scans"));
  }
}

TEST_F(PrepareCt, RefusesAFolderOfOtherSettings) {
  run();
  const auto before = output();
  options_.settings.fov_mm = 9;
  EXPECT_THAT(failure(), AllOf(HasSubstr("was made with {\"fov_mm\":8"), HasSubstr("fov_mm\":9"),
                               HasSubstr("name another folder")));
  EXPECT_EQ(output(), before);
  options_.settings = {.fov_mm = 8, .sides = {4, 3}};
  EXPECT_THAT(failure(), HasSubstr("halved"));
}

TEST_F(PrepareCt, RefusesASecondCallAtOnce) {
  std::string refusal;
  prepare_ct(options_,
             {.files = files_, .read = [&](const fs::path& path, const std::string& name) {
                if (refusal.empty()) {
                  test::UnsyncedFileSystem files;
                  try {
                    prepare_ct(options_, {.files = files, .read = read_scan});
                  } catch (const base::ConfigError& error) {
                    refusal = error.what();
                  }
                }
                return read_scan(path, name);
              }});
  EXPECT_THAT(refusal, AllOf(HasSubstr("is written by process "), HasSubstr("wait for it")));
  EXPECT_EQ(run().made, 0);
  EXPECT_FALSE(fs::exists(options_.folder / "lock"));
}

/// The same patients, each in a folder with two X-rays of 4 x 4 pixels.
class PrepareCtXrays : public PrepareCt {
 protected:
  PrepareCtXrays() {
    options_.settings.xrays = CtXraySettings{.size = 2};
    for (int i = 0; i < kSomePatients; ++i) {
      fs::remove(options_.source / (id_of(i) + ".nii.gz"));
      write_patient(i);
    }
  }
  void write_patient(int patient) const {
    folder_.write(file_of(patient, ".nii.gz"), scan_bytes(patient));
    write_xrays(patient);
  }
  void write_xrays(int patient) const {
    write_xray(patient, "_pa_drr.png", value_of(patient, 0));
    write_xray(patient, "_lat_drr.png", value_of(patient, 1));
  }
  void write_xray(int patient, const std::string& ending, int value) const {
    const std::vector<std::uint16_t> values(16, static_cast<std::uint16_t>(value));
    folder_.write(file_of(patient, ending), data::encode_gray_png({{4, 4}, values}));
  }
  static std::string file_of(int patient, const std::string& ending) {
    return "scans/" + id_of(patient) + "/" + id_of(patient) + ending;
  }
  static int value_of(int patient, int view) { return 5000 * patient + view + 1; }
  void remove_xrays() const {
    for (int i = 0; i < kSomePatients; ++i)
      for (const char* const ending : {"_pa_drr.png", "_lat_drr.png"})
        fs::remove(folder_.path() / file_of(i, ending));
  }
  std::map<std::string, std::string> fresh_output() {
    fs::remove_all(options_.folder);
    run();
    return output();
  }
};

TEST_F(PrepareCtXrays, StandInTheOrderOfTheVolumes) {
  EXPECT_TRUE(run().has_xrays);
  const CtManifest manifest = read_ct_manifest(options_.folder).value();
  EXPECT_EQ(manifest.settings.xrays, options_.settings.xrays);
  for (int i = 0; i < kSomePatients; ++i) {
    const CtPatient& patient =
        *std::ranges::find(manifest.patients, patient_code(id_of(i), 1), &CtPatient::code);
    const data::NpyArray array =
        data::open_npy(options_.folder / name_of(patient.split) / "xrays_2.npy");
    ASSERT_EQ(array.shape.size(), 4);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{array.shape[0], 2, 2, 2}));
    EXPECT_EQ(array.kind, 'u');
    for (int view = 0; view < 2; ++view) {
      std::uint16_t value = 0;
      const std::size_t place = static_cast<std::size_t>(patient.index * 2 + view) * 4;
      std::memcpy(&value, &array.bytes[2 * place], 2);
      EXPECT_EQ(value, value_of(i, view)) << i;
    }
  }
}

TEST_F(PrepareCtXrays, AreMadeOnce) {
  run();
  const auto first = output();
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(output(), first);
  options_.num_threads = 4;
  fs::remove_all(options_.folder);
  prepare_ct(options_, {.files = files_, .read = read_scan});
  EXPECT_EQ(output(), first);
}

TEST_F(PrepareCtXrays, ChangedOrDamagedOnesAreMadeAgain) {
  run();
  write_xray(4, "_lat_drr.png", 17);
  EXPECT_EQ(run().made, 1);
  const auto sound = output();
  std::string damaged = sound.at("train/xrays_2.npy");
  damaged.back() ^= 16;
  folder_.write("out/train/xrays_2.npy", damaged);
  EXPECT_EQ(run().made, 1);
  EXPECT_THAT(said_, HasSubstr("is damaged, and is made again"));
  EXPECT_EQ(output(), sound);
  EXPECT_EQ(fresh_output(), sound);
}

TEST_F(PrepareCtXrays, NoneAreWrittenWhereThereAreNone) {
  remove_xrays();
  EXPECT_FALSE(run().has_xrays);
  const auto without = output();
  EXPECT_FALSE(without.contains("train/xrays_2.npy"));
  options_.settings.xrays.reset();
  EXPECT_EQ(run().made, 0);
  EXPECT_EQ(fresh_output(), without);
}

TEST_F(PrepareCtXrays, MayComeAndGo) {
  remove_xrays();
  run();
  const auto without = output();
  for (int i = 0; i < kSomePatients; ++i) write_xrays(i);
  EXPECT_EQ(run().made, kSomePatients);
  const auto with = output();
  EXPECT_TRUE(with.contains("train/xrays_2.npy"));
  remove_xrays();
  EXPECT_EQ(run().made, kSomePatients);
  EXPECT_EQ(output(), without);
  for (int i = 0; i < kSomePatients; ++i) write_xrays(i);
  EXPECT_EQ(fresh_output(), with);
}

TEST_F(PrepareCtXrays, AreLeftOutIfNobodyWantsThem) {
  write_xray(2, "_pa.png", 1);  // would be a second one
  options_.settings.xrays.reset();
  EXPECT_FALSE(run().has_xrays);
  EXPECT_FALSE(output().contains("train/xrays_2.npy"));
}

TEST_F(PrepareCtXrays, AnotherSizeIsAnotherSet) {
  run();
  options_.settings.xrays->size = 4;
  EXPECT_THAT(failure(), AllOf(HasSubstr(R"("size":2)"), HasSubstr(R"(not {"fov_mm")"),
                               HasSubstr(R"("size":4)"), HasSubstr("name another folder")));
}

TEST_F(PrepareCtXrays, APatientWithoutAViewStopsAllBeforeItBegins) {
  fs::remove(folder_.path() / file_of(5, "_lat_drr.png"));
  EXPECT_THAT(failure(), AllOf(HasSubstr("patient " + patient_code(id_of(5), 1)),
                               HasSubstr("has no lateral X-ray"), HasSubstr("1 of 12 patients")));
  EXPECT_FALSE(fs::exists(options_.folder));
}

TEST_F(PrepareCtXrays, ABadOneIsToldAfterAllOthersAreMade) {
  folder_.write(file_of(5, "_pa_drr.png"), "no picture");
  const std::string told = failure();
  EXPECT_THAT(told,
              AllOf(HasSubstr("patient " + patient_code(id_of(5), 1)),
                    HasSubstr("frontal X-ray: neither a PNG nor a JPEG"), Not(HasSubstr("Doe"))));
  EXPECT_FALSE(fs::exists(options_.folder / "train"));
  write_xrays(5);
  EXPECT_EQ(run().made, 1);
  for (const auto& [name, content] : output())
    EXPECT_THAT(name + content, AllOf(Not(HasSubstr("Doe")), Not(HasSubstr("John"))));
}

TEST_F(PrepareCtXrays, ComeWholeOrNotAtAllAfterDeathAtAnyMoment) {
  remove_xrays();
  keep_patients(3);
  run();
  const fs::path before = folder_.path() / "before";
  fs::copy(options_.folder, before, fs::copy_options::recursive);
  for (int i = 0; i < 3; ++i) write_xrays(i);
  const auto whole = fresh_output();
  for (const bool begins_anew : {true, false}) {
    expect_whole_after_death(
        [&] {
          if (begins_anew) {
            fs::remove_all(options_.folder);
          } else {
            start_from(before);
          }
        },
        whole);
  }
}

TEST_F(PrepareCtXrays, GoAsAWholeAfterDeathAtAnyMoment) {
  keep_patients(3);
  run();
  const fs::path before = folder_.path() / "before";
  fs::copy(options_.folder, before, fs::copy_options::recursive);
  remove_xrays();
  expect_whole_after_death([&] { start_from(before); }, fresh_output());
}

}  // namespace
}  // namespace paceline::dataset_tools
