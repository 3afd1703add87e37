#include "paceline/pretrained/weight_source.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/remote/http_exchange.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace paceline::pretrained {
namespace {

constexpr std::string_view kTorchvision = "torchvision:";
constexpr std::array<std::string_view, 3> kHub{"hf://", "hf:", "hf-hub:"};
constexpr std::array<std::string_view, 2> kServers{"https://", "http://"};
constexpr std::array<std::string_view, 2> kBuckets{"s3://", "gs://"};

template <class Prefixes>
bool has_prefix(std::string_view text, const Prefixes& prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return text.starts_with(prefix); });
}

[[noreturn]] void refuse(std::string_view text, std::string_view problem) {
  throw base::ConfigError(
      fmt::format("model.pretrained: '{}': {}", base::excerpt(text, 200), problem));
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](unsigned char letter) {
           return std::isalnum(letter) != 0 || letter == '.' || letter == '_' || letter == '-';
         });
}

HubSource parse_hub(const std::string& text) {
  constexpr std::string_view kExpected =
      "expected hf:OWNER/NAME, hf:OWNER/NAME@REVISION or hf:OWNER/NAME:FILE, as "
      "hf:timm/resnet50.a1_in1k";
  std::string_view rest = text;
  for (const std::string_view prefix : kHub) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    break;
  }
  HubSource source;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    source.file = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!stays_inside(source.file)) refuse(text, "FILE must be a path in the repository");
  }
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    source.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!stays_inside(source.revision)) refuse(text, "REVISION must be a branch, tag or commit");
  }
  source.repository = rest;
  const std::vector<std::string> parts = base::split(rest, '/');
  if (parts.size() > 2 && source.file.empty())
    refuse(text, fmt::format("a file stands behind a colon: write hf:{}/{}:{}", parts[0], parts[1],
                             rest.substr(parts[0].size() + parts[1].size() + 2)));
  if (parts.size() != 2 || !is_plain_name(parts[0]) || !is_plain_name(parts[1]))
    refuse(text, kExpected);
  return source;
}

TorchvisionSource parse_torchvision(const std::string& text) {
  const std::vector<std::string> parts =
      base::split(std::string_view(text).substr(kTorchvision.size()), '/');
  if (parts.size() > 2 || !std::ranges::all_of(parts, is_plain_name))
    refuse(text,
           "expected torchvision:WEIGHTS or torchvision:MODEL/WEIGHTS, as "
           "torchvision:IMAGENET1K_V2 or torchvision:resnet50/IMAGENET1K_V2");
  return {parts.size() == 2 ? parts[0] : "", parts.back()};
}

void require_file_name(const std::string& text) {
  const std::string_view without_scheme = std::string_view(text).substr(text.find("://") + 3);
  const std::string name = file_name_of(text);
  if (without_scheme.find('/') == std::string_view::npos || name.empty() || !stays_inside(name))
    refuse(text, "it must end with the name of a file, as in https://host/weights.safetensors");
}

}  // namespace

bool is_weight_source(std::string_view text) {
  return text.starts_with(kTorchvision) || has_prefix(text, kHub) || has_prefix(text, kServers) ||
         has_prefix(text, kBuckets);
}

WeightSource parse_weight_source(const std::string& text) {
  if (has_prefix(text, kHub)) return parse_hub(text);
  if (text.starts_with(kTorchvision)) return parse_torchvision(text);
  require_file_name(text);
  if (has_prefix(text, kServers)) return UrlSource{text};
  return BucketSource{text};
}

bool stays_inside(std::string_view path) {
  const std::vector<std::string> parts = base::split(path, '/');
  return std::ranges::all_of(parts, [](const std::string& part) {
    return !part.empty() && part != "." && part != ".." && part.find('\\') == std::string::npos &&
           std::ranges::none_of(part, [](unsigned char letter) { return letter < 0x20; });
  });
}

std::string file_name_of(std::string_view url) {
  url = data::without_query(url.substr(0, url.find('#')));
  return std::string(url.substr(url.rfind('/') + 1));
}

}  // namespace paceline::pretrained
