#include "paceline/nn/volume/projection.h"

#include "paceline/base/error.h"
#include "paceline/nn/volume/deterministic_sampling.h"
#include "paceline/tensor/torch.h"
#include "paceline/volume/view_frame.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace paceline::nn {

struct Projection::Plan {
  volume::CubeGrid grid;
  volume::DetectorGrid detector;
  volume::RayMethod method;
  std::vector<volume::ViewRays> views;

  std::int64_t num_pixels() const {
    return std::int64_t{detector.rows} * std::int64_t{detector.columns};
  }

  /// How a view adds up the voxels of cubes [N, z, y, x].
  struct AxisView {
    std::int64_t summed_dim = 0;
    bool turns_rows = false;
    bool turns_columns = false;
  };
  /// Of views along the cube's axes with a pixel for each line of voxels; empty unless all are.
  std::vector<AxisView> axis_views;
  static std::optional<AxisView> axis_view(const volume::ProjectionGeometry& geometry, double angle,
                                           int side, const volume::DetectorGrid& detector);

  /// Of each pixel first, step, weight and count of a RayPlaces, [rows, columns, 8].
  struct PlacesOfView {
    at::Tensor of_rows;
    std::int64_t longest;
  };
  PlacesOfView places_of(const volume::ViewRays& rays) const;
  /// Of each view, beside tensors with these options.
  std::vector<PlacesOfView> places_beside(const at::TensorOptions& options) const;
  mutable std::mutex mutex;
  mutable std::vector<PlacesOfView> placed;  ///< as they were asked for last

  at::Tensor along_axes(const at::Tensor& cubes) const;
  at::Tensor project(const at::Tensor& cubes) const;
  at::Tensor project_back(const at::Tensor& images) const;
  at::Tensor by_operations(const at::Tensor& cubes) const;

  /// project() with its transpose as gradient.
  class Node;
};

namespace {

constexpr double kNowhere = -3;  // outside of what grid_sampler reads

template <class Value>
std::span<Value> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<std::remove_const_t<Value>>(), static_cast<std::size_t>(tensor.numel())};
}

/// Calls work with a float or a double, as the tensor's values are.
template <class Work>
void by_dtype(const at::Tensor& tensor, Work work) {
  if (tensor.scalar_type() == at::kDouble) {
    work(double{});
  } else {
    work(float{});
  }
}

}  // namespace

/// A row of a view of a cube is one task.
at::Tensor Projection::Plan::project(const at::Tensor& cubes) const {
  const at::Tensor input = cubes.contiguous();
  const auto num_views = std::ssize(views);
  const at::Tensor images =
      at::empty({input.size(0), num_views, detector.rows, detector.columns}, input.options());
  const std::int64_t num_rows = input.size(0) * num_views * detector.rows;
  at::parallel_for(0, num_rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / detector.rows;
      const int row = static_cast<int>(i % detector.rows);
      const volume::ViewRays& rays = views[static_cast<std::size_t>(image % num_views)];
      by_dtype(input, [&](auto value) {
        using Value = decltype(value);
        volume::project<Value>(values_of<const Value>(input[image / num_views]), grid, rays, method,
                               row, row + 1,
                               values_of<Value>(images[image / num_views][image % num_views][row]));
      });
    }
  });
  return images;
}

/// A view of a cube is one task, with a cube of its own; the views are added in their order.
at::Tensor Projection::Plan::project_back(const at::Tensor& images) const {
  const at::Tensor input = images.contiguous();
  const auto num_views = std::ssize(views);
  const at::Tensor cubes =
      at::zeros({input.size(0), num_views, grid.side, grid.side, grid.side}, input.options());
  at::parallel_for(0, input.size(0) * num_views, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t view = i % num_views;
      by_dtype(input, [&](auto value) {
        using Value = decltype(value);
        volume::project_back<Value>(values_of<const Value>(input[i / num_views][view]), grid,
                                    views[static_cast<std::size_t>(view)], method, 0, detector.rows,
                                    values_of<Value>(cubes[i / num_views][view]));
      });
    }
  });
  return cubes.sum(1);
}

class Projection::Plan::Node : public torch::autograd::Function<Node> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& cubes,
                            std::shared_ptr<const Plan> plan) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    at::Tensor images = plan->project(cubes);
    context->saved_data["plan"] =
        c10::IValue::make_capsule(c10::make_intrusive<PlanHolder>(std::move(plan)));
    return images;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& gradients) {
    const auto holder = context->saved_data["plan"].toCapsule();
    const auto& plan = static_cast<const PlanHolder&>(*holder).plan;
    return {plan->project_back(gradients.at(0)), at::Tensor()};
  }

 private:
  struct PlanHolder final : torch::CustomClassHolder {
    explicit PlanHolder(std::shared_ptr<const Plan> held) : plan(std::move(held)) {}
    std::shared_ptr<const Plan> plan;
  };
};

/// Places beyond the cube are 0, as project() has it; a row of pixels at once bounds the memory.
/// Places are made where the cubes are: only where rays begin comes from the host, once.
at::Tensor Projection::Plan::by_operations(const at::Tensor& cubes) const {
  if (method != volume::RayMethod::kTrilinear)
    throw base::ConfigError(
        "data.projector: on a GPU siddon is for parallel views at 0, 90, 180 and 270 degrees with "
        "as many pixels as the volume has voxels: set data.projector=trilinear");
  require_sampling_in_any_order(cubes);
  const at::Tensor input = cubes.unsqueeze(1);
  std::vector<at::Tensor> rows;
  for (const PlacesOfView& places : places_beside(input.options())) {
    const at::Tensor numbers = at::arange(places.longest, input.options());
    for (std::int64_t row = 0; row < detector.rows; ++row) {
      // [columns, what RayPlaces says]
      const at::Tensor of_row = places.of_rows[row];
      const at::Tensor counts = of_row.select(1, 7).unsqueeze(1);
      const at::Tensor along = of_row.slice(1, 0, 3).unsqueeze(1) +
                               numbers.view({1, -1, 1}) * of_row.slice(1, 3, 6).unsqueeze(1);
      const at::Tensor at_places = at::where((numbers < counts).unsqueeze(2), along, kNowhere)
                                       .view({1, 1, detector.columns, -1, 3})
                                       .expand({input.size(0), -1, -1, -1, -1});
      const at::Tensor seen = at::grid_sampler_3d(input, at_places, /*interpolation_mode=*/0,
                                                  /*padding_mode=*/0, /*align_corners=*/false);
      rows.push_back((seen.select(1, 0).select(1, 0) * of_row.select(1, 6).unsqueeze(1)).sum(2));
    }
  }
  return at::stack(rows, 1).view(
      {input.size(0), std::ssize(views), detector.rows, detector.columns});
}

std::vector<Projection::Plan::PlacesOfView> Projection::Plan::places_beside(
    const at::TensorOptions& options) const {
  const std::lock_guard lock(mutex);
  const bool are_there = !placed.empty() && placed[0].of_rows.device() == options.device() &&
                         placed[0].of_rows.dtype() == options.dtype();
  if (are_there) return placed;
  placed.clear();
  for (const volume::ViewRays& rays : views) {
    placed.push_back(places_of(rays));
    placed.back().of_rows = placed.back().of_rows.to(options);
  }
  return placed;
}

/// In the coordinates of grid_sampler without align_corners.
Projection::Plan::PlacesOfView Projection::Plan::places_of(const volume::ViewRays& rays) const {
  const auto side = static_cast<double>(grid.side);
  PlacesOfView places{at::empty({detector.rows, detector.columns, 8}, at::kDouble), 1};
  auto of_rows = places.of_rows.accessor<double, 3>();
  for (int row = 0; row < detector.rows; ++row) {
    for (int column = 0; column < detector.columns; ++column) {
      const volume::RayPlaces ray = volume::places_on(rays.at(row, column), grid);
      places.longest = std::max<std::int64_t>(places.longest, ray.count);
      auto values = of_rows[row][column];
      for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        values[axis] = (2 * ray.first.at(a) + 1) / side - 1;
        values[3 + axis] = 2 * ray.step.at(a) / side;
      }
      values[6] = ray.weight;
      values[7] = ray.count;
    }
  }
  return places;
}

/// Each of its rays passes one line of voxels, of which it takes all that they hold.
at::Tensor Projection::Plan::along_axes(const at::Tensor& cubes) const {
  std::vector<at::Tensor> images;
  for (const AxisView& view : axis_views) {
    at::Tensor image = cubes.sum(view.summed_dim) / static_cast<double>(grid.side);
    if (view.turns_rows) image = image.flip(1);
    images.push_back(view.turns_columns ? image.flip(2) : image);
  }
  return at::stack(images, 1);
}

std::optional<Projection::Plan::AxisView> Projection::Plan::axis_view(
    const volume::ProjectionGeometry& geometry, double angle, int side,
    const volume::DetectorGrid& detector) {
  const volume::ViewFrame frame = volume::view_frame(geometry, angle);
  if (!frame.is_along_axes() || detector.rows != side || detector.columns != side)
    return std::nullopt;
  const bool is_along_y = std::abs(frame.along[1]) > 0.5;
  return AxisView{.summed_dim = is_along_y ? 2 : 3,
                  .turns_rows = frame.down[2] < 0,
                  .turns_columns = frame.right[is_along_y ? 0 : 1] < 0};
}

Projection::Projection(const volume::ProjectionGeometry& geometry, int cube_side,
                       const volume::DetectorGrid& detector, volume::RayMethod method) {
  auto plan =
      std::make_shared<Plan>(volume::CubeGrid{cube_side, geometry.fov_mm}, detector, method);
  for (const double angle : geometry.angles_degrees) {
    plan->views.emplace_back(geometry, angle, detector);
    if (const auto view = Plan::axis_view(geometry, angle, cube_side, detector))
      plan->axis_views.push_back(*view);
  }
  if (plan->axis_views.size() < plan->views.size()) plan->axis_views.clear();
  plan_ = std::move(plan);
}

std::int64_t Projection::num_views() const { return std::ssize(plan_->views); }

at::Tensor Projection::forward(const at::Tensor& attenuations) const {
  const std::int64_t side = plan_->grid.side;
  PACELINE_CHECK(
      attenuations.dim() == 4 && attenuations.sizes().slice(1).equals({side, side, side}),
      "cubes of {}^3 are projected, and these have {} dimensions", side, attenuations.dim());
  const bool is_double = attenuations.scalar_type() == at::kDouble;
  const at::Tensor cubes = is_double ? attenuations : attenuations.to(at::kFloat);
  if (!plan_->axis_views.empty()) return plan_->along_axes(cubes);
  if (!cubes.is_cpu()) return plan_->by_operations(cubes);
  return Plan::Node::apply(cubes, plan_);
}

at::Tensor Projection::by_operations(const at::Tensor& attenuations) const {
  return plan_->by_operations(attenuations);
}

at::Tensor attenuations_of_hu(const at::Tensor& hu) { return (hu / 1000 + 1).clamp_min(0); }

}  // namespace paceline::nn
