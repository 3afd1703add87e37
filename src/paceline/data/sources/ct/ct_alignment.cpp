#include "paceline/data/sources/ct/ct_alignment.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/parallel_for.h"
#include "paceline/base/text.h"
#include "paceline/volume/view_alignment.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

constexpr std::int64_t kMostPatients = 64;
/// Of X-rays that were made as the recipe says; grids of few voxels come close to it.
constexpr double kMostError = 0.15;

/// What is misplaced of a patient's views, in words; empty: nothing.
std::string misplaced_views(const std::vector<volume::ViewAlignment>& views) {
  std::vector<std::string> problems;
  for (const volume::ViewAlignment& view : views) {
    if (view.is_misplaced() || view.is_inverted())
      problems.push_back(volume::describe_problem(view, kMostError));
  }
  return base::join(problems, "; ");
}

/// The sum of squared differences.
double apart(const std::vector<float>& one, const std::vector<float>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double difference = static_cast<double>(one[i]) - other[i];
    sum += difference * difference;
  }
  return sum;
}

/// Projections are linear, so that the mean volume's is the mean of them.
std::optional<double> truth_loss_share(const std::vector<XrayPair>& pairs) {
  if (pairs.size() < 2) return std::nullopt;
  std::vector<float> mean(pairs.front().projected.size());
  for (const XrayPair& pair : pairs) {
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += pair.projected[i] / static_cast<float>(pairs.size());
  }
  double own = 0;
  double of_mean = 0;
  for (const XrayPair& pair : pairs) {
    own += apart(pair.projected, pair.given);
    of_mean += apart(mean, pair.given);
  }
  return of_mean > 0 ? std::optional(own / of_mean) : std::nullopt;
}

[[noreturn]] void refuse(const std::vector<std::string>& problems, std::int64_t num_patients) {
  throw base::DataError(fmt::format(
      "data.validate_alignment: X-rays are not those of the volumes as they lie in {} of {} "
      "patients that were compared, such as {}. Mend the files of the views and run `paceline data "
      "prepare ct` again (--flip-xrays-vertical is for images that are all upside down), or write "
      "data.validate_alignment: false to train with them as they are",
      problems.size(), num_patients, problems.front()));
}

}  // namespace

AlignmentFacts check_alignment(const CtDataset& dataset) {
  const std::int64_t count = std::min(kMostPatients, dataset.size());
  const auto index_of = [&](std::int64_t i) { return i * dataset.size() / count; };
  std::vector<std::optional<XrayPair>> found(static_cast<std::size_t>(count));
  base::parallel_for(count, /*num_threads=*/0, [&](std::int64_t i) {
    try {
      found[static_cast<std::size_t>(i)] = dataset.coarse_xrays(index_of(i));
    } catch (const base::DataError&) {  // data.on_error says what becomes of it
    }
  });
  std::vector<std::string> problems;
  std::vector<XrayPair> pairs;
  double error = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    auto& pair = found[static_cast<std::size_t>(i)];
    if (!pair) continue;
    pairs.push_back(*std::move(pair));
    const auto views = dataset.alignment_of(pairs.back());
    for (const volume::ViewAlignment& view : views)
      error += view.given.error / static_cast<double>(views.size());
    const std::string problem = misplaced_views(views);
    if (!problem.empty()) problems.push_back(dataset.describe(index_of(i)) + ": " + problem);
  }
  const std::int64_t compared = std::ssize(pairs);
  if (!problems.empty()) refuse(problems, compared);
  return {.patients = compared,
          .projection_error = compared > 0 ? error / static_cast<double>(compared) : 0,
          .truth_loss_share = truth_loss_share(pairs)};
}

void tell(const AlignmentFacts& facts, const std::filesystem::path& folder) {
  if (facts.patients == 0) return;
  std::string text = fmt::format(
      "data.validate_alignment: the X-rays of {} patients of {} and projections of their volumes "
      "differ by {:.3g} % of their norms",
      facts.patients, folder.string(), 100 * facts.projection_error);
  if (facts.truth_loss_share)
    text += fmt::format("; the truth's own physics loss is {:.3g} % of the mean volume's",
                        100 * *facts.truth_loss_share);
  if (facts.projection_error <= kMostError) {
    base::log_info("{}", text);
    return;
  }
  base::log_warning(
      "{}. No other arrangement of the views fits better: their brightness (data.full_scale) or "
      "their geometry (data.geometry) is another, and what the physics loss asks for is wrong",
      text);
}

}  // namespace paceline::data
