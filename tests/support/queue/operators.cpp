#include "support/queue/operators.h"

#include "support/queue/fake_gpu.h"
#include "support/queue/memory.h"

#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

namespace paceline::test {
namespace {

using torch::jit::Stack;
using Tensors = std::vector<at::Tensor>;

FakeGpu& gpu_of(const at::Tensor& tensor) { return FakeGpu::at(tensor.device().index()); }

bool is_there(const at::Tensor& tensor) { return tensor.defined() && tensor.is_hpu(); }

/// Runs `compute`, on the CPU, now and at each replay, and gives what it returns as tensors there.
Tensors produce(FakeGpu& gpu, const std::string& what, const std::function<Tensors()>& compute,
                const Tensors& uses) {
  Tensors results;
  Tensors targets;
  for (const at::Tensor& made : compute()) {
    results.emplace_back();
    targets.emplace_back();
    if (!made.defined()) continue;
    results.back() =
        at::empty_strided(made.sizes(), made.strides(), made.options().device(gpu.place()));
    targets.back() = host_alias(results.back());
    targets.back().copy_(made);
  }
  const auto again = [compute, targets] {
    const Tensors made = compute();
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].defined()) targets[i].copy_(made[i]);
    }
  };
  gpu.queued(what, again, uses);
  return results;
}

at::Scalar read_scalar(const at::Tensor& self) {
  gpu_of(self).wait("item()");
  return host_alias(self).item();
}

void copy_from_host(const at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  FakeGpu& gpu = gpu_of(self);
  if (!gpu.is_pinned(source.const_data_ptr())) {
    gpu.copies_pageable("copy_");
  } else if (!non_blocking) {
    gpu.wait("copy_ from the host that blocks");
  } else if (!gpu.is_recording()) {
    gpu.must_not_change(source.const_data_ptr(), source.nbytes());
  }
  const at::Tensor target = host_alias(self);
  const auto work = [target, source] { target.copy_(source); };
  work();
  gpu.queued("copy_ from the host", work, {self});
}

void copy_to_host(const at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  FakeGpu& gpu = gpu_of(source);
  const auto work = [self, kept = source, from = host_alias(source)] { self.copy_(from); };
  if (non_blocking && gpu.is_pinned(self.const_data_ptr())) {
    gpu.queue_late("copy_ to the host", work);
  } else {
    gpu.wait("copy_ to the host that blocks");
    work();
  }
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.numel() == 0) return self;
  if (!is_there(source)) {
    copy_from_host(self, source, non_blocking);
  } else if (!is_there(self)) {
    copy_to_host(self, source, non_blocking);
  } else {
    const auto work = [target = host_alias(self), from = host_alias(source)] {
      target.copy_(from);
    };
    work();
    gpu_of(self).queued("copy_", work, {self, source});
  }
  return self;
}

// LibTorch asks a device that is not its own for convolutions under these names.
at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, c10::IntArrayRef stride,
                       c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
                       c10::IntArrayRef output_padding, std::int64_t groups) {
  const at::Tensor host_bias = bias ? host_alias(*bias) : at::Tensor();
  const auto compute = [=, in = host_alias(input), w = host_alias(weight), s = stride.vec(),
                        p = padding.vec(), d = dilation.vec(), o = output_padding.vec()] {
    const at::AutoDispatchBelowAutograd below;
    return Tensors{at::convolution(in, w, host_bias, s, p, d, transposed, o, groups)};
  };
  return produce(gpu_of(input), "convolution", compute, {input, weight}).front();
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
    c10::IntArrayRef stride, c10::IntArrayRef padding, c10::IntArrayRef dilation, bool transposed,
    c10::IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> mask) {
  const auto compute = [=, g = host_alias(grad), in = host_alias(input), w = host_alias(weight),
                        s = stride.vec(), p = padding.vec(), d = dilation.vec(),
                        o = output_padding.vec()] {
    const at::AutoDispatchBelowAutograd below;
    const std::vector<std::int64_t> bias_sizes{w.size(0)};
    auto [of_input, of_weight, of_bias] =
        at::convolution_backward(g, in, w, bias_sizes, s, p, d, transposed, o, groups, mask);
    return Tensors{of_input, of_weight, of_bias};
  };
  const Tensors grads =
      produce(gpu_of(input), "convolution_backward", compute, {grad, input, weight});
  return {grads[0], grads[1], grads[2]};
}

/// The arguments of one call of an operator, as the CPU takes them.
class Call {
 public:
  Call(c10::OperatorHandle op, const Stack& arguments) : op_(std::move(op)) {
    for (const c10::IValue& value : arguments) arguments_.push_back(on_host(value));
  }

  std::optional<at::Device> device() const {
    return uses_.empty() ? asked_ : std::optional(uses_.front().device());
  }
  const Tensors& uses() const { return uses_; }  ///< tensors there
  /// So that a recording does not keep them alive.
  void forget_uses() { uses_.clear(); }
  bool takes_host_memory() const { return takes_host_memory_; }

  Stack run() const {
    const at::AutoDispatchBelowAutograd below;
    Stack stack = arguments_;
    op_.callBoxed(stack);
    for (std::size_t i = 0; i < resized_.size(); ++i) {
      if (resized_[i].defined()) resized_[i].copy_(aliases_[i]);
    }
    return stack;
  }

  /// After the first run: gives outputs that were made larger their new sizes there, too.
  void follow_sizes() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      resized_.emplace_back();
      if (uses_[i].sizes() == aliases_[i].sizes()) continue;
      uses_[i].resize_(aliases_[i].sizes());
      resized_.back() = host_alias(uses_[i]);
      resized_.back().copy_(aliases_[i]);
    }
  }

 private:
  at::Tensor on_host(const at::Tensor& tensor) {
    if (is_there(tensor)) {
      uses_.push_back(tensor);
      aliases_.push_back(host_alias(tensor));
      return aliases_.back();
    }
    if (tensor.defined() && tensor.dim() > 0) {
      takes_host_memory_ = true;
    }
    return tensor;
  }

  c10::IValue on_host(const c10::IValue& value) {
    if (value.isTensor()) return on_host(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> tensors;
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(on_host(tensor));
      return tensors;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> tensors;
      for (const c10::IValue& tensor : value.toListRef())
        tensors.push_back(tensor.isTensor() ? std::optional(on_host(tensor.toTensor()))
                                            : std::nullopt);
      return tensors;
    }
    if (value.isDevice() && value.toDevice().is_hpu()) {
      asked_ = value.toDevice();
      return at::Device(at::kCPU);
    }
    return value;
  }

  c10::OperatorHandle op_;
  Stack arguments_;
  Tensors uses_;
  Tensors aliases_;  ///< of uses_
  Tensors resized_;  ///< what uses_ became where the operator made an alias larger
  std::optional<at::Device> asked_;
  bool takes_host_memory_ = false;
};

/// The argument that a result of the operator is, if it is one.
std::optional<std::size_t> argument_returned(const c10::FunctionSchema& schema,
                                             std::size_t result) {
  const c10::AliasInfo* const returned = schema.returns()[result].alias_info();
  if (returned == nullptr || !returned->isWrite()) return std::nullopt;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* const taken = schema.arguments()[i].alias_info();
    if (taken != nullptr && *taken == *returned) return i;
  }
  return std::nullopt;
}

/// Operators whose result has a size that only the device knows, or that answer the host.
bool answers_host(const std::string& name) {
  static const std::set<std::string> kNames{"aten::nonzero", "aten::masked_select", "aten::equal",
                                            "aten::_unique2", "aten::is_nonzero"};
  return kNames.contains(name);
}

/// As CUDA's kernels do: numbers may come from the host, and the indices of index operators.
void refuse_host_memory(FakeGpu& gpu, const std::string& name) {
  if (!name.starts_with("aten::index") && !name.starts_with("aten::_index"))
    TORCH_CHECK(false, name + ": expected all tensors to be on the same device");
  gpu.copies_pageable(name);
}

/// New tensors among the results, in order; what is an argument is left out.
Tensors new_tensors(const c10::FunctionSchema& schema, const Stack& results) {
  Tensors tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (argument_returned(schema, i)) continue;
    if (results[i].isTensor()) tensors.push_back(results[i].toTensor());
    if (!results[i].isTensorList()) continue;
    for (const at::Tensor& tensor : results[i].toTensorVector()) tensors.push_back(tensor);
  }
  return tensors;
}

void refuse_views(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite())
      TORCH_CHECK(false, schema.name() + ": the fake GPU has no such view");
  }
}

void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const Stack arguments = torch::jit::last(*stack, schema.arguments().size()).vec();
  const auto call = std::make_shared<Call>(op, arguments);
  const at::Device device =
      call->device().value_or(c10::impl::VirtualGuardImpl(at::kHPU).getDevice());
  FakeGpu& gpu = FakeGpu::at(device.index());
  const c10::DeviceGuard guard(device);
  refuse_views(schema);
  if (answers_host(schema.name())) gpu.wait(schema.name());
  if (call->takes_host_memory()) refuse_host_memory(gpu, schema.name());

  const auto results = std::make_shared<Stack>();
  const auto compute = [call, results, &schema, is_first = std::make_shared<bool>(true)] {
    *results = call->run();
    if (std::exchange(*is_first, false)) call->follow_sizes();
    return new_tensors(schema, *results);
  };
  Tensors made = produce(gpu, schema.name(), compute, call->uses());
  call->forget_uses();
  torch::jit::drop(*stack, arguments.size());
  auto next = made.begin();
  for (std::size_t i = 0; i < results->size(); ++i) {
    const c10::IValue& result = (*results)[i];
    if (const auto argument = argument_returned(schema, i)) {
      stack->push_back(arguments[*argument]);
    } else if (result.isTensor()) {
      stack->push_back(*next++);
    } else if (result.isTensorList()) {
      c10::List<at::Tensor> list;
      for (std::size_t n = result.toTensorVector().size(); n > 0; --n) list.push_back(*next++);
      stack->push_back(list);
    } else {
      stack->push_back(result);
    }
  }
}

void register_operators() {
  static torch::Library all(torch::Library::IMPL, "_", c10::DispatchKey::HPU, __FILE__, __LINE__);
  all.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  static torch::Library autocast(torch::Library::IMPL, "_", c10::DispatchKey::AutocastHPU, __FILE__,
                                 __LINE__);
  autocast.fallback(torch::CppFunction::makeFallthrough());
  static torch::Library own(torch::Library::IMPL, "aten", c10::DispatchKey::HPU, __FILE__,
                            __LINE__);
  own.impl("copy_", &copy);
  own.impl("_local_scalar_dense", &read_scalar);
  own.impl("convolution_overrideable", &convolution);
  own.impl("convolution_backward_overrideable", &convolution_backward);
}

}  // namespace

void register_fake_gpu() {
  static std::once_flag is_registered;
  std::call_once(is_registered, [] {
    register_memory();
    register_operators();
  });
}

}  // namespace paceline::test
