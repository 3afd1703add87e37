#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace paceline::pretrained {

/// "hf:OWNER/NAME[@REVISION][:FILE]": a file of a repository of models of Hugging Face's hub.
struct HubSource {
  std::string repository;  ///< OWNER/NAME
  std::string revision = "main";
  std::string file = {};  ///< empty: whatever holds the repository's weights

  friend bool operator==(const HubSource&, const HubSource&) = default;
};

/// "torchvision:[MODEL/]WEIGHTS": weights that torchvision publishes, by the names of its enums.
struct TorchvisionSource {
  std::string model = {};  ///< empty: the recipe's
  std::string weights;     ///< as IMAGENET1K_V2; DEFAULT: the best

  friend bool operator==(const TorchvisionSource&, const TorchvisionSource&) = default;
};

/// "https://HOST/FILE".
struct UrlSource {
  std::string url;

  friend bool operator==(const UrlSource&, const UrlSource&) = default;
};

/// "s3://BUCKET/FILE" or "gs://BUCKET/FILE".
struct BucketSource {
  std::string path;

  friend bool operator==(const BucketSource&, const BucketSource&) = default;
};

using WeightSource = std::variant<HubSource, TorchvisionSource, UrlSource, BucketSource>;

/// Whether a recipe's words name weights of other machines, rather than a path of this one.
bool is_weight_source(std::string_view text);

/// What the words name. Throws ConfigError that says what was expected and the cure.
WeightSource parse_weight_source(const std::string& text);

/// The name of a URL's or bucket's file: what stands behind the last slash, without a query.
std::string file_name_of(std::string_view url);

/// Whether a path that is joined to a folder stays in it: not absolute, without "..".
bool stays_inside(std::string_view path);

}  // namespace paceline::pretrained
