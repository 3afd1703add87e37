#include "paceline/app/recipe/guide_json/guide_draft.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::Node;

/// What the guide calls small enough to keep.
constexpr std::string_view kCacheRoom = "10GB";

struct ShareOfPatients {
  std::string_view key;
  double share;
};

/// As `paceline data prepare ct` deals patients out.
constexpr std::array kShares{ShareOfPatients{"train_split", 0.8}, ShareOfPatients{"val_split", 0.1},
                             ShareOfPatients{"test_split", 0.1}};

void require_shares(GuideSection& data) {
  for (const auto& [key, share] : kShares) {
    const Node* const given = data.take(key);
    const auto number = given != nullptr ? guide_number(*given) : std::optional(share);
    if (number && std::abs(*number - share) < 1e-9) continue;
    data.refuse(key,
                fmt::format("patients are dealt out by `paceline data prepare ct`, 80 % for "
                            "training and 10 % each for validation and tests: write {}, got {}",
                            share, given->describe()));
  }
}

void require_range(GuideSection& data) {
  const Node* const given = data.take("normalize_range");
  if (given == nullptr) return;
  const auto is = [&](std::size_t index, double number) {
    return guide_number(given->items[index]) == number;
  };
  if (given->is_list() && given->items.size() == 2 && is(0, -1) && is(1, 1)) return;
  data.refuse("normalize_range",
              fmt::format("volumes and X-rays are -1 to 1: write [-1, 1], got {}; data.hu_window "
                          "says which Hounsfield units these are",
                          given->describe()));
}

/// $NAME, as shells have it, as ${NAME}, which recipes have.
std::string with_braces(std::string_view text) {
  std::string result;
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == text.npos) break;
    text.remove_prefix(dollar + 1);
    std::size_t length = 0;
    while (length < text.size() && is_part(text[length])) ++length;
    result += length == 0 ? "$" : fmt::format("${{{}}}", text.substr(0, length));
    text.remove_prefix(length);
  }
  return result;
}

void draft_path(GuideSection& data, Node& recipe) {
  const Node* const given = data.take("dataset_path");
  if (given == nullptr) return;
  Node path = *given;
  path.text = with_braces(path.text);
  put(recipe, "data.path", std::move(path));
}

/// The guide's: mirrored every other time, and intensities of X-rays by up to a tenth.
void draft_augmentation(GuideSection& data, GuideDraft& draft) {
  if (data.take_flag("augmentation") != true) return;
  put(draft.recipe, "data.augment.flip", Node::scalar("true"));
  put(draft.recipe, "data.augment.gain", Node::list({Node::scalar("0.9"), Node::scalar("1.1")}));
  put(draft.recipe, "data.xrays", Node::scalar("projected"));
  draft.notes.emplace_back(
      "augmentation: a mirrored patient's lateral view is another one, so all X-rays are projected "
      "of the volumes and none read from files; data.augment.flip=false data.xrays=files keeps "
      "those of the files");
}

void check_volume_size(GuideSection& data, const GuideDraft& draft) {
  const Node* const given = data.take("target_volume_size");
  if (given == nullptr || draft.volume_sizes.empty()) return;
  const auto last = static_cast<double>(draft.volume_sizes.back());
  for (const Node& side : given->is_list() ? given->items : std::vector<Node>{*given}) {
    if (guide_number(side) == last) continue;
    data.refuse("target_volume_size",
                fmt::format("the last stage makes volumes of {} voxels a side, got {}: make them "
                            "the same",
                            last, given->describe()));
    return;
  }
}

void draft_alignment(GuideSection& data, GuideDraft& draft) {
  if (const auto is_wanted = data.take_flag("validate_alignment"))
    put(draft.recipe, "data.validate_alignment", Node::scalar(*is_wanted ? "true" : "false"));
}

/// 0 workers are the process itself, which is one thread here.
void draft_workers(GuideSection& data, GuideSection& training, Node& recipe) {
  const auto of_data = data.take_count({"num_workers"}, 0);
  const auto of_training = training.take_count({"num_workers"}, 0);
  if (of_data && of_training && of_data != of_training)
    data.refuse("num_workers", "training.num_workers says otherwise: leave one of them out");
  const auto workers = of_data ? of_data : of_training;
  if (workers)
    put(recipe, "data.num_threads",
        Node::scalar(fmt::format("{}", std::max<std::int64_t>(*workers, 1))));
  for (GuideSection* const section : {&data, &training}) {
    if (section->take_flag("pin_memory") == false)
      section->refuse("pin_memory", "batches for a GPU always lie in pinned memory: take it out");
  }
}

/// The first of two places where a key may stand; both are asked.
const Node* either(const Node* first, const Node* second) {
  return first != nullptr ? first : second;
}

void draft_xray_size(GuideSection& document, GuideSection& xrays, GuideSection& data,
                     Node& recipe) {
  const Node* const above = document.take("xray_img_size");
  const Node* const wanted = data.take("target_xray_size");
  const Node* const size = either(either(xrays.take("img_size"), above), wanted);
  if (size == nullptr) return;
  if (wanted != nullptr && wanted->text != size->text)
    data.refuse("target_xray_size", fmt::format("the network sees X-rays of {} pixels a side, got "
                                                "{}: make them the same",
                                                size->describe(), wanted->describe()));
  put(recipe, "model.xray_size", *size);
  put(recipe, "data.xray_size", *size);
}

/// The views' names, which a single view's document has without a list around them.
Node names_of_views(const Node* types, const Node* count) {
  if (types != nullptr) return types->is_list() ? *types : Node::list({*types});
  Node views = Node::list({Node::scalar("frontal")});
  if (count == nullptr || count->text == "2") views.items.push_back(Node::scalar("lateral"));
  return views;
}

void draft_views(GuideSection& document, GuideSection& xrays, Node& recipe) {
  const Node* const above = document.take("num_views");
  const Node* const count = either(xrays.take("num_views"), above);
  Node views = names_of_views(xrays.take({"view_types", "view_type"}), count);
  Node angles = Node::list();
  for (const Node& view : views.items)
    angles.items.push_back(Node::scalar(view.text == "lateral" ? "90" : "0"));
  put(recipe, "model.num_views",
      count != nullptr ? *count : Node::scalar(fmt::format("{}", views.items.size())));
  put(recipe, "model.view_types", std::move(views));
  put(recipe, "data.geometry.angles", std::move(angles));
}

}  // namespace

void draft_xrays(GuideSection& document, GuideSection& data, GuideDraft& draft) {
  GuideSection xrays = document.take_section("xray_config");
  put(draft.recipe, "model.name", Node::scalar("ct_cascade"));
  draft_xray_size(document, xrays, data, draft.recipe);
  draft_views(document, xrays, draft.recipe);
  const Node* const channels = document.take("xray_channels");
  if (channels != nullptr && channels->text != "1")
    document.refuse("xray_channels", "X-rays are grey: write 1, got " + channels->describe());
  if (const Node* const shares = xrays.take("share_view_weights"))
    put(draft.recipe, "model.share_view_weights", *shares);
  xrays.end();
}

void draft_data(GuideSection& data, GuideSection& training, GuideDraft& draft) {
  put(draft.recipe, "data.name", Node::scalar("ct"));
  draft_path(data, draft.recipe);
  require_shares(data);
  require_range(data);
  if (data.take_flag("cache_in_memory") == true)
    put(draft.recipe, "data.cache_in_memory", Node::scalar(std::string(kCacheRoom)));
  draft_augmentation(data, draft);
  check_volume_size(data, draft);
  draft_alignment(data, draft);
  draft_workers(data, training, draft.recipe);
  static_cast<void>(data.take_flag("flip_drrs_vertical"));  // read_recipe() compares it
  if (data.take("max_patients") != nullptr)
    data.refuse("max_patients",
                "takes from training and evaluation alike: prepare fewer patients, or take it out "
                "and write data.subset=N for the number that training sees");
}

}  // namespace paceline::app
