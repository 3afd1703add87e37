#include "paceline/data/dataset/subset.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/base/philox.h"
#include "paceline/data/dataset/dataset_view.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

using ClassMembers = std::vector<std::vector<std::int64_t>>;

ClassMembers members_of_classes(const Dataset& dataset) {
  // Samples without classes have the label 0.
  ClassMembers members(static_cast<std::size_t>(std::max(1, dataset.num_classes())));
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    members.at(static_cast<std::size_t>(dataset.label(i))).push_back(i);
  }
  return members;
}

/// Each class's part of `size`: its proportional share rounded down, and one more for those whose
/// share lost most by that.
std::vector<std::int64_t> share_out(const ClassMembers& members, std::int64_t size,
                                    std::int64_t total) {
  std::vector<std::int64_t> shares;
  std::vector<std::int64_t> remainders;
  for (const auto& members_of_class : members) {
    const std::int64_t product = size * static_cast<std::int64_t>(members_of_class.size());
    shares.push_back(product / total);
    remainders.push_back(product % total);
  }
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const std::int64_t rest = size - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < rest; ++i) ++shares[order[static_cast<std::size_t>(i)]];
  return shares;
}

/// Puts a class's samples in the order of their names' ranks.
void rank_by_name(const Dataset& dataset, std::vector<std::int64_t>& members) {
  std::vector<std::pair<std::string, std::int64_t>> named;
  named.reserve(members.size());
  for (const std::int64_t index : members) named.emplace_back(dataset.name(index), index);
  const auto is_less = [](const auto& a, const auto& b) { return ranks_before(a.first, b.first); };
  if (std::is_sorted(named.begin(), named.end(), is_less)) return;  // as most formats have it
  std::stable_sort(named.begin(), named.end(), is_less);
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = named[i].second;
}

/// Leaves `share` of the samples, drawn without replacement (the start of Fisher's and Yates's
/// shuffle).
void draw_share(std::vector<std::int64_t>& members, std::int64_t share, std::uint64_t seed,
                std::uint64_t class_number) {
  base::Philox draws(seed, base::DrawPurpose::kSubset, class_number, 0);
  const auto count = static_cast<std::size_t>(share);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(members[i], members[i + draws.below(members.size() - i)]);
  }
  members.resize(count);
}

unsigned rank_of_letter(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return std::isalnum(byte) != 0 || byte >= 128 ? byte : 0u;
}

}  // namespace

bool ranks_before(std::string_view a, std::string_view b) {
  const std::size_t both = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < both; ++i) {
    const unsigned left = rank_of_letter(a[i]);
    const unsigned right = rank_of_letter(b[i]);
    if (left != right) return left < right;
  }
  return a.size() == b.size() ? a < b : a.size() < b.size();
}

std::optional<std::int64_t> parse_subset_size(const std::string& text) {
  constexpr std::pair<std::string_view, std::int64_t> kNamed[] = {
      {"tiny", 1'000}, {"small", 10'000}, {"medium", 100'000}, {"large", 500'000}};
  if (text == "full") return std::nullopt;
  for (const auto& [name, size] : kNamed) {
    if (text == name) return size;
  }
  std::int64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc() || behind != end || size < 1) {
    throw base::ConfigError(
        fmt::format("'{}' is no subset: expected full, tiny (1,000 samples), small (10,000), "
                    "medium (100,000), large (500,000) or a number from 1",
                    text));
  }
  return size;
}

std::unique_ptr<Dataset> make_subset(std::unique_ptr<Dataset> dataset, std::int64_t size,
                                     std::uint64_t seed) {
  PACELINE_CHECK(size > 0, "a subset of {} samples", size);
  const std::int64_t total = dataset->size();
  if (size >= total) return dataset;
  ClassMembers members = members_of_classes(*dataset);
  const std::vector<std::int64_t> shares = share_out(members, size, total);
  base::parallel_for(static_cast<std::int64_t>(members.size()), 0, [&](std::int64_t i) {
    const auto which = static_cast<std::size_t>(i);
    if (shares[which] == static_cast<std::int64_t>(members[which].size())) return;
    if (shares[which] > 0) rank_by_name(*dataset, members[which]);
    draw_share(members[which], shares[which], seed, static_cast<std::uint64_t>(i));
  });
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(size));
  for (const auto& kept : members) indices.insert(indices.end(), kept.begin(), kept.end());
  std::sort(indices.begin(), indices.end());
  return std::make_unique<SelectedSamples>(std::move(dataset), std::move(indices),
                                           fmt::format("subset:{}:{}", size, seed));
}

}  // namespace paceline::data
