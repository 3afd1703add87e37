#include "paceline/dataset_tools/ct/prepare_ct.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/parallel_for.h"
#include "paceline/base/text.h"
#include "paceline/dataset_tools/ct/ct_arrays.h"
#include "paceline/dataset_tools/ct/ct_cubes.h"
#include "paceline/dataset_tools/ct/ct_listing.h"
#include "paceline/dataset_tools/ct/ct_lock.h"
#include "paceline/dataset_tools/ct/ct_part.h"
#include "paceline/dataset_tools/ct/ct_xrays.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <vector>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

std::string hash_of_file(const fs::path& path) {
  return base::xxh3_128_hex(base::MappedFile(path).bytes());
}

/// Of a file's bytes, or of those of all slices, whatever they are called.
std::string hash_of_scan(const ListedPatient& patient) {
  if (patient.slices.empty()) return hash_of_file(patient.file);
  std::vector<std::string> hashes;
  hashes.reserve(patient.slices.size());
  for (const fs::path& slice : patient.slices) hashes.push_back(hash_of_file(slice));
  std::ranges::sort(hashes);
  std::string all;
  for (const std::string& hash : hashes) all += hash;
  return base::xxh3_128_hex(all);
}

/// That of the scan, or of its own and those of the X-rays. A path says who the patient is, so
/// errors do without.
std::string hash_of_files(const ListedPatient& patient) {
  try {
    std::string hashes = hash_of_scan(patient);
    for (const fs::path& xray : patient.xrays) hashes += hash_of_file(xray);
    return patient.xrays.empty() ? hashes : base::xxh3_128_hex(hashes);
  } catch (const base::FileError& error) {
    throw base::DataError(fmt::format("{}: cannot be read: {}", patient.name,
                                      std::generic_category().message(error.error_number())));
  }
}

void refuse_one_in_the_other(const CtPrepareOptions& options) {
  if (!base::lies_in(options.folder, options.source) &&
      !base::lies_in(options.source, options.folder))
    return;
  throw base::ConfigError(
      fmt::format("{}: the scans and what is made of them would lie in one folder; name a folder "
                  "beside that of the scans",
                  options.folder.string()));
}

/// X-rays may come to a set that had none, and go.
void refuse_other_settings(const fs::path& folder, const CtSettings& earlier,
                           const CtSettings& settings) {
  CtSettings expected = settings;
  if (!earlier.xrays || !settings.xrays) expected.xrays = earlier.xrays;
  if (expected == earlier) return;
  throw base::ConfigError(fmt::format(
      "{} was made with {}, not {}; name another folder, or the same settings{}", folder.string(),
      to_json(earlier), to_json(settings),
      earlier.seed_mark == settings.seed_mark ? "" : " (another --seed, another mark)"));
}

class CtPreparation {
 public:
  /// `settings`: those of the options, without X-rays if there are none.
  CtPreparation(const CtPrepareOptions& options, CtSettings settings,
                const std::optional<CtManifest>& earlier, const CtSurroundings& surroundings)
      : options_(options),
        settings_(std::move(settings)),
        surroundings_(surroundings),
        work_(options.folder / kCtWorkFolder / base::xxh3_128_hex(to_json(settings_)).substr(0, 8)),
        old_settings_(earlier ? earlier->settings : settings_),
        tells_seed_(earlier && earlier->tells_seed) {
    if (!earlier) return;
    for (const CtPatient& patient : earlier->patients) earlier_.emplace(patient.code, patient);
  }

  CtPrepareResult run(const CtListing& listing) {
    base::create_durable_directories(surroundings_.files, work_);
    patients_.resize(listing.patients.size());
    base::parallel_for(std::ssize(listing.patients), options_.num_threads, [&](std::int64_t i) {
      finish(listing.patients[static_cast<std::size_t>(i)], patients_[static_cast<std::size_t>(i)]);
      tell_progress();
    });
    refuse_failures();
    refuse_same_scans(listing);
    put_together();
    surroundings_.files.remove_all(options_.folder / kCtWorkFolder);
    return result(listing);
  }

 private:
  fs::path part_path(const std::string& code) const { return work_ / (code + ".part"); }

  /// Leaves a patient in the arrays or as a part; what goes wrong is kept for the end.
  void finish(const ListedPatient& listed, CtPatient& patient) {
    std::string problem;
    try {
      const std::string source = hash_of_files(listed);
      if (!is_finished(listed, source, patient)) make(listed, source, patient);
      return;
    } catch (const base::DataError& error) {
      problem = error.what();
    } catch (const std::bad_alloc&) {
      problem = listed.name + ": does not fit into memory; use fewer threads";
    }
    const std::lock_guard lock(mutex_);
    problems_.push_back(problem);
  }

  bool is_finished(const ListedPatient& listed, const std::string& source, CtPatient& patient) {
    const auto found = earlier_.find(listed.code);
    if (found != earlier_.end() && found->second.source == source) {
      patient = found->second;
      if (old_arrays_.holds(patient)) return true;
    }
    const auto part = CtPart::open(part_path(listed.code), settings_);
    if (part && part->patient().code == listed.code && part->patient().source == source) {
      patient = part->patient();
      return true;
    }
    const std::lock_guard lock(mutex_);
    if (found != earlier_.end() && found->second.source == source)
      say(listed.name + ": what was made of it is damaged, and is made again");
    return false;
  }

  void make(const ListedPatient& listed, const std::string& source, CtPatient& patient) {
    std::vector<std::uint16_t> xrays;
    if (settings_.xrays)
      xrays = make_xrays(listed.xrays, *settings_.xrays, listed.name, surroundings_.read_xray);
    data::CtVolume volume = listed.slices.empty()
                                ? surroundings_.read(listed.file, listed.name)
                                : surroundings_.read_slices(listed.slices, listed.name);
    CtCubes cubes = make_cubes(std::move(volume), settings_, listed.name);
    cubes.xrays = std::move(xrays);
    patient = {.code = listed.code,
               .split = listed.split,
               .source = source,
               .sizes = cubes.sizes,
               .spacing_mm = cubes.spacing_mm,
               .affine = cubes.affine};
    for (std::size_t array = 0; array < cubes.num_arrays(); ++array)
      patient.hashes.push_back(base::xxh3_128_hex(cubes.bytes(array)));
    CtPart::write(surroundings_.files, part_path(listed.code), patient, cubes);
    const std::lock_guard lock(mutex_);
    ++made_;
  }

  void refuse_failures() {
    if (problems_.empty()) return;
    std::ranges::sort(problems_);
    for (const std::string& problem : std::span(problems_).subspan(1)) say(problem);
    if (problems_.size() == 1) throw base::DataError(problems_[0]);
    throw base::DataError(fmt::format("{} of {} scans cannot be used, of which the first: {}",
                                      problems_.size(), patients_.size(), problems_[0]));
  }

  /// Two names of one patient, who could be trained on and evaluated.
  void refuse_same_scans(const CtListing& listing) const {
    std::map<std::string, std::string> names;  // by the checksum of the largest cube
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < patients_.size(); ++i) {
      const std::string& name = listing.patients[i].name;
      const auto [known, is_new] = names.emplace(patients_[i].hashes.front(), name);
      if (!is_new) problems.push_back(known->second + " and " + name);
    }
    if (!problems.empty())
      throw base::DataError(
          fmt::format("{} have the same scan; leave one of them", base::join(problems, "; ")));
  }

  void put_together() {
    CtManifest manifest{.settings = settings_, .patients = patients_};
    std::map<PatientSplit, std::int64_t> counts;
    for (CtPatient& patient : manifest.patients) patient.index = counts[patient.split]++;
    if (is_all_there(manifest)) return;
    // An earlier place is told by the earlier manifest; a damaged one has a part instead.
    std::optional<CtPart> part;
    write_ct_arrays(surroundings_.files, options_.folder, manifest, ct_array_layouts(old_settings_),
                    [&](const CtPatient& patient, std::size_t array) {
                      if (!part || part->patient().code != patient.code)
                        part = CtPart::open(part_path(patient.code), settings_);
                      if (part && part->patient().source == patient.source)
                        return part->values(array);
                      return old_arrays_.values(earlier_.at(patient.code), array);
                    });
  }

  bool is_all_there(const CtManifest& manifest) const {
    return !tells_seed_ && manifest.patients.size() == earlier_.size() &&
           old_arrays_.are_those_of(manifest) &&
           std::ranges::all_of(manifest.patients, [&](const CtPatient& patient) {
             const auto found = earlier_.find(patient.code);
             return found != earlier_.end() && found->second == patient &&
                    !fs::exists(part_path(patient.code));
           });
  }

  CtPrepareResult result(const CtListing& listing) const {
    CtPrepareResult result{
        .made = made_, .left_out = listing.left_out, .has_xrays = settings_.xrays.has_value()};
    for (const CtPatient& patient : patients_)
      ++result.patients[static_cast<std::size_t>(patient.split)];
    return result;
  }

  void tell_progress() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (surroundings_.progress) surroundings_.progress(done_, std::ssize(patients_));
  }
  void say(const std::string& what) const {
    if (surroundings_.say) surroundings_.say(what);
  }

  const CtPrepareOptions& options_;
  const CtSettings settings_;
  const CtSurroundings& surroundings_;
  const fs::path work_;
  const CtSettings old_settings_;
  const bool tells_seed_;  ///< the manifest that is there
  const CtArrays old_arrays_{options_.folder, old_settings_};
  std::map<std::string, CtPatient> earlier_;
  std::vector<CtPatient> patients_;
  std::mutex mutex_;
  std::int64_t made_ = 0;
  std::int64_t done_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace

CtPrepareResult prepare_ct(const CtPrepareOptions& options, const CtSurroundings& surroundings) {
  check_settings(options.settings);
  refuse_one_in_the_other(options);
  CtListing listing = list_ct_patients(options.source, options.seed);
  CtSettings settings = options.settings;
  settings.seed_mark = seed_mark(options.seed);
  if (settings.xrays && !find_xrays(listing.patients)) settings.xrays.reset();
  const CtLock lock(options.folder, surroundings.files);
  const auto earlier = read_ct_manifest(options.folder);
  if (earlier) refuse_other_settings(options.folder, earlier->settings, settings);
  return CtPreparation(options, std::move(settings), earlier, surroundings).run(listing);
}

}  // namespace paceline::dataset_tools
