#include "paceline/nn/volume/shaped_parts.h"

#include "paceline/volume/projector.h"
#include "paceline/volume/view_frame.h"

#include <algorithm>

namespace paceline::nn {
namespace {

using Gradients = ShapeTape::Gradients;
using Keeps = ShapedPass::Keeps;

constexpr std::int64_t kGroups = 8;
constexpr std::int64_t kCoordinates = 3;
constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kNumWaves = 128;

std::int64_t square(std::int64_t value) { return value * value; }
std::int64_t cube(std::int64_t value) { return value * value * value; }

/// Views that one tensor of features is of.
std::int64_t views_at_once(const XrayEncoderConfig& config) {
  return config.share_view_weights ? config.num_views : 1;
}

std::int64_t features_per_side(const XrayEncoderConfig& config) { return config.xray_size / 8; }

Shaped tower(const XrayEncoderConfig& config, const Shaped& images, ShapedPass& pass) {
  const std::int64_t count = pass.options().samples * views_at_once(config);
  const std::int64_t half = square(config.xray_size / 2);
  const auto layer = [&](const Shaped& x, std::int64_t weight, std::int64_t out) {
    const Shaped normed = pass.norm(pass.convolution(x, weight, out), count * kGroups);
    return pass.pointwise(normed, Keeps::kOutput);
  };
  const std::int64_t first = config.dim / 8;
  const std::int64_t second = config.dim / 4;
  Shaped x = layer(images, first * 49, count * first * half);
  x = pass.max_pool(x, x.values / 4);
  x = layer(x, first * second * 9, count * second * half / 4);
  x = pass.max_pool(x, x.values / 4);
  return layer(x, second * config.dim * 9, count * config.dim * half / 16);
}

/// A product with a matrix that is no parameter, behind which are so many values.
Shaped multiplied(const Shaped& x, std::int64_t out, ShapedPass& pass) {
  return pass.pooled(x, out, x.width);
}

bool is_along_axes(const volume::ProjectionGeometry& geometry, std::size_t view) {
  return volume::view_frame(geometry, geometry.angles_degrees.at(view)).is_along_axes();
}

bool are_along_axes(const volume::ProjectionGeometry& geometry) {
  for (std::size_t view = 0; view < geometry.angles_degrees.size(); ++view)
    if (!is_along_axes(geometry, view)) return false;
  return true;
}

/// grid_sampler's of one tensor at places that all samples share.
Shaped sampled(const Shaped& x, std::int64_t out, std::int64_t places, ShapedPass& pass) {
  const Shaped grid = pass.take(places * kCoordinates, x.width);
  return pass.tape().record(pass.take(out, x.width), {x}, [&pass, x, grid](Shaped /*grad*/) {
    return Gradients{pass.take(x.values, x.width)};
  });
}

/// `view`: the first of those whose layers these are.
Shaped voxels(const ShapedSight& sight, const Shaped& layers, std::size_t view, ShapedPass& pass) {
  const std::int64_t size = features_per_side(sight.encoder);
  const std::int64_t count = layers.values / square(size);  // layers of all samples
  const std::int64_t out = count * square(sight.side);
  const Shaped x = pass.at_least_float(layers);
  if (!is_along_axes(*sight.geometry, view)) return sampled(x, out, cube(sight.side), pass);
  // A product with a matrix from the left turns its input, and its gradient, around.
  const Shaped by_columns = multiplied(x, count * size * sight.side, pass);
  const Shaped turned = pass.rearranged(by_columns);
  return pass.tape().record(pass.take(out, x.width), {turned},
                            [&pass, out, values = turned.values, width = x.width](Shaped grad) {
                              const Shaped copied = pass.take(out, grad.width);
                              return Gradients{pass.take(values, width)};
                            });
}

/// Places along rays, as many for each of a view as the longest has.
std::int64_t places_of_views(const volume::ProjectionGeometry& geometry, std::int64_t side,
                             std::int64_t grid) {
  const auto pixels = static_cast<int>(grid);
  const volume::CubeGrid cubes{static_cast<int>(side), geometry.fov_mm};
  std::int64_t places = 0;
  for (const double angle : geometry.angles_degrees) {
    const volume::ViewRays rays(geometry, angle, {.rows = pixels, .columns = pixels});
    int longest = 1;
    for (int row = 0; row < pixels; ++row) {
      for (int column = 0; column < pixels; ++column)
        longest = std::max(longest, volume::places_on(rays.at(row, column), cubes).count);
    }
    places += grid * grid * longest;
  }
  return places;
}

/// Projection::along_axes(): gradients of views are spread without memory, and become one by being
/// added.
Shaped projected_along_axes(const Shaped& cubes, std::int64_t num_views, std::int64_t pixels,
                            ShapedPass& pass) {
  return pass.tape().record(
      pass.take(pixels, cubes.width), {cubes},
      [&pass, num_views, values = cubes.values, width = cubes.width](Shaped /*grad*/) {
        return Gradients{num_views > 1 ? pass.take(values, width) : Shaped{values, width}};
      });
}

/// Projection's own node on the CPU, which makes a cube for each view on the way back.
Shaped projected_by_rays(const Shaped& cubes, std::int64_t num_views, std::int64_t pixels,
                         ShapedPass& pass) {
  return pass.tape().record(
      pass.take(pixels, cubes.width), {cubes},
      [&pass, num_views, values = cubes.values, width = cubes.width](Shaped /*grad*/) {
        const Shaped of_views = pass.take(values * num_views, width);
        return Gradients{pass.take(values, width)};
      });
}

/// Projection::by_operations(): the places of all rows are kept, and on the way back one more cube
/// is added to the sum at a time.
Shaped projected_by_sampling(const Shaped& cubes, std::int64_t places, std::int64_t pixels,
                             ShapedPass& pass) {
  const Shaped kept = pass.take(places * kCoordinates, cubes.width);
  return pass.tape().record(pass.take(pixels, cubes.width), {cubes},
                            [&pass, cubes, kept](Shaped /*grad*/) {
                              const Shaped sum = pass.take(cubes.values, cubes.width);
                              return Gradients{pass.take(cubes.values, cubes.width)};
                            });
}

}  // namespace

std::vector<Shaped> shaped_features(const XrayEncoderConfig& config, ShapedPass& pass) {
  const std::int64_t pixels =
      pass.options().samples * views_at_once(config) * square(config.xray_size);
  std::vector<Shaped> features;
  for (std::int64_t view = 0; view < config.num_views; view += views_at_once(config)) {
    features.push_back(pass.unit({pass.given(pixels)}, [config, &pass](const auto& inputs) {
      return tower(config, inputs.front(), pass);
    }));
  }
  return features;
}

Shaped shaped_tokens(const XrayEncoderConfig& config, const std::vector<Shaped>& features,
                     ShapedPass& pass) {
  std::int64_t values = 0;
  std::vector<Shaped> parts;
  for (const Shaped& view : features) {
    parts.push_back(config.token_pool == 1
                        ? view
                        : pass.pooled(view, view.values / square(config.token_pool), view.width));
    values += parts.back().values;
  }
  const std::int64_t tokens = square(features_per_side(config) / config.token_pool);
  const Shaped of_views =
      pass.plus_parameter(pass.stacked(parts, values), config.num_views * config.dim);
  return pass.plus_parameter(of_views, tokens * config.dim);
}

Shaped shaped_means(const XrayEncoderConfig& config, const std::vector<Shaped>& features,
                    ShapedPass& pass) {
  std::vector<Shaped> means;
  for (const Shaped& view : features)
    means.push_back(pass.pooled(view, view.values / square(features_per_side(config)), view.width));
  return pass.stacked(means, pass.options().samples * config.num_views * config.dim);
}

std::vector<Shaped> shaped_lifts(const ShapedSight& sight, const std::vector<Shaped>& features,
                                 ShapedPass& pass) {
  const std::int64_t dim = sight.encoder.dim;
  const auto lift = [&pass, dim, layers = sight.side,
                     stats = pass.options().samples * views_at_once(sight.encoder) *
                             kGroups](const std::vector<Shaped>& inputs) {
    const Shaped& x = inputs.front();
    const std::int64_t pixels = x.values / dim;
    const Shaped normed = pass.norm(pass.convolution(x, dim * dim / 4 * 9, x.values / 4), stats);
    const Shaped hidden = pass.pointwise(normed, Keeps::kInput);
    const Shaped depths = pass.convolution(hidden, dim / 4 * layers, pixels * layers);
    const Shaped weights = pass.pointwise(pass.as_norms_see(depths), Keeps::kOutput);
    const Shaped value = pass.pointwise(pass.convolution(x, dim, pixels), Keeps::kNothing);
    return pass.product(weights, value);
  };
  std::vector<Shaped> lifts;
  for (const Shaped& view : features) {
    // Views that share weights are joined anew.
    const Shaped joined =
        sight.encoder.share_view_weights ? pass.stacked({view}, view.values) : view;
    lifts.push_back(pass.unit({joined}, lift));
  }
  return lifts;
}

std::vector<Shaped> shaped_lookups(const ShapedSight& sight, const std::vector<Shaped>& lifts,
                                   ShapedPass& pass) {
  const std::int64_t values = pass.options().samples * cube(sight.side);
  const std::int64_t width = std::max(pass.options().width, kFloatBytes);
  const auto num_views = static_cast<std::size_t>(sight.encoder.num_views);
  std::vector<Shaped> channels;
  for (std::size_t view = 0; view < num_views; ++view) {
    // Along an axis pixels are spread without memory.
    const bool is_spread = is_along_axes(*sight.geometry, view);
    channels.push_back(is_spread ? Shaped{values, width} : pass.take(values, width));
  }
  for (std::size_t i = 0; i < lifts.size(); ++i)
    channels.push_back(voxels(sight, lifts[i], i, pass));
  return channels;
}

Shaped shaped_number(std::int64_t dim, ShapedPass& pass) {
  const std::int64_t samples = pass.options().samples;
  const Shaped waves = pass.take(samples * 2 * kNumWaves, pass.options().width);
  const Shaped hidden = pass.linear(waves, samples, 2 * kNumWaves, dim);
  return pass.linear(pass.pointwise(hidden, Keeps::kInput), samples, dim, dim);
}

Shaped shaped_projection_loss(const volume::ProjectionGeometry& geometry, std::int64_t side,
                              std::int64_t xray_size, const Shaped& volumes, ShapedPass& pass) {
  const auto num_views = std::ssize(geometry.angles_degrees);
  const std::int64_t grid = std::min(side, xray_size);
  const std::int64_t pixels = pass.options().samples * num_views * square(grid);
  const auto scaled = [&](const Shaped& x) { return pass.pointwise(x, Keeps::kNothing); };
  {
    const std::int64_t given = pass.options().samples * num_views * square(xray_size);
    const Shaped shifted = pass.take(given, pass.options().width);
    const Shaped integrals = pass.take(given, pass.options().width);
  }
  const Shaped wanted = pass.take(pixels, pass.options().width);
  Shaped images;
  {
    Shaped hu;
    {
      const Shaped shifted = scaled(volumes);
      const Shaped stretched = scaled(shifted);
      hu = scaled(stretched);
    }
    Shaped cubes;
    {
      const Shaped divided = scaled(hu);
      cubes = pass.pointwise(scaled(divided), Keeps::kInput);
    }
    cubes = pass.at_least_float(cubes);
    if (grid == side && are_along_axes(geometry)) {
      images = projected_along_axes(cubes, num_views, pixels, pass);
    } else if (pass.options().is_on_gpu) {
      images = projected_by_sampling(cubes, places_of_views(geometry, side, grid), pixels, pass);
    } else {
      images = projected_by_rays(cubes, num_views, pixels, pass);
    }
  }
  const Shaped differences = scaled(images);
  const Shaped squares = pass.square(differences);
  return pass.pooled(squares, pass.options().samples, squares.width);
}

}  // namespace paceline::nn
