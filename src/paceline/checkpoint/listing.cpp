#include "paceline/checkpoint/listing.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/agreement.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Whether a file could not be read for a reason that lies outside of it, such as its rights or too
/// many open files: then nobody knows whether the checkpoint is good, and none may take its place.
bool is_unknown(const base::Error& problem) {
  const auto* error = dynamic_cast<const base::FileError*>(&problem);
  if (error == nullptr) return false;
  const int number = error->error_number();
  return number != ENOENT && number != EIO && number != EINVAL;
}

/// What `verify` finds.
std::string damage_by(const std::function<void()>& verify) {
  try {
    verify();
    return {};
  } catch (const base::Error& problem) {
    if (is_unknown(problem)) throw;
    return problem.what();
  }
}

/// What all ranks find together.
std::string damage_in(CheckpointReader& reader, comm::Communicator& communicator) {
  std::string own;
  on_all_ranks(communicator, "cannot read the checkpoint",
               [&] { own = damage_by([&] { reader.verify(); }); });
  std::set<std::string> damages;
  for (std::string& text : comm::texts_if_any(communicator, own)) damages.insert(std::move(text));
  damages.erase("");
  return fmt::format("{}", fmt::join(damages, "; "));
}

}  // namespace

Listing list_checkpoints(const fs::path& folder) {
  Listing listing;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const auto step = step_of_name(entry.path().filename().string());
    if (!step) continue;
    try {
      const CheckpointReader reader(entry.path());
      listing.complete.push_back({entry.path(), *step, reader.manifest().monitored});
    } catch (const base::Error& problem) {
      if (is_unknown(problem)) throw;
      listing.damaged.push_back({entry.path(), *step, problem.what()});
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw base::CheckpointError(
        fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
  }
  std::sort(listing.complete.begin(), listing.complete.end(),
            [](const Listed& a, const Listed& b) { return a.step < b.step; });
  return listing;
}

std::string damage_of(const fs::path& checkpoint) {
  return damage_by([&] { CheckpointReader(checkpoint).verify(); });
}

Latest find_latest(const fs::path& folder, const DamageOf& damage) {
  Listing listing = list_checkpoints(folder);
  Latest latest;
  std::int64_t step = -1;
  while (!listing.complete.empty() && !latest.path) {
    const Listed newest = listing.complete.back();
    listing.complete.pop_back();
    if (std::string reason = damage(newest.path); !reason.empty()) {
      latest.skipped.push_back({newest.path, newest.step, std::move(reason)});
    } else {
      latest.path = newest.path;
      step = newest.step;
    }
  }
  for (Damaged& damaged : listing.damaged) {  // only newer ones change what a resume does
    if (damaged.step > step) latest.skipped.push_back(std::move(damaged));
  }
  return latest;
}

std::vector<Listed> best_of(const std::vector<Listed>& checkpoints, const std::string& monitor,
                            MonitorMode mode, std::size_t count) {
  // Smaller scores are better; of equal ones the sort keeps the order of steps.
  std::vector<std::pair<double, const Listed*>> ranking;
  for (const Listed& listed : checkpoints) {
    if (!listed.monitored || listed.monitored->name != monitor) continue;
    const double value = listed.monitored->value;
    if (!std::isnan(value))
      ranking.emplace_back(mode == MonitorMode::kMax ? -value : value, &listed);
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Listed> best;
  for (std::size_t i = 0; i < std::min(count, ranking.size()); ++i)
    best.push_back(*ranking[i].second);
  return best;
}

std::optional<Listed> best_whole(const fs::path& folder, const std::string& monitor,
                                 MonitorMode mode, const DamageOf& damage) {
  const std::vector<Listed> all = list_checkpoints(folder).complete;
  for (Listed& best : best_of(all, monitor, mode, all.size())) {
    if (damage(best.path).empty()) return std::move(best);
  }
  return std::nullopt;
}

std::unique_ptr<CheckpointReader> open_whole(
    const std::function<fs::path(const DamageOf& known)>& name, comm::Communicator& communicator) {
  std::map<fs::path, std::string> damaged;
  const DamageOf known = [&](const fs::path& checkpoint) {
    const auto found = damaged.find(checkpoint);
    return found == damaged.end() ? std::string() : found->second;
  };
  for (;;) {
    const fs::path path =
        comm::first_rank_decides(communicator, [&] { return name(known).string(); });
    if (path.empty()) return nullptr;
    std::unique_ptr<CheckpointReader> reader = open_checkpoint(path, communicator);
    const std::string damage = damage_in(*reader, communicator);
    if (damage.empty()) return reader;
    damaged[path] = damage;
  }
}

std::string describe_newest(const fs::path& folder) try {
  if (std::string loss = describe_lost_run(folder); !loss.empty()) return loss;
  const Listing listing = list_checkpoints(folder);
  if (listing.complete.empty()) return "There is no earlier checkpoint";
  return fmt::format("Earlier checkpoints are untouched; the newest is {}",
                     listing.complete.back().path.string());
} catch (const base::Error& error) {  // must not hide what is being told
  return fmt::format("Which earlier checkpoints there are is not known: {}", error.what());
}

}  // namespace paceline::checkpoint
