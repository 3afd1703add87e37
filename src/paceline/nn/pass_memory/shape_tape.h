#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace paceline::nn {

/// A tensor that has memory and no values. A copy is a view of the same memory, which lasts as long
/// as one of them.
struct Shaped {
  std::int64_t values = 0;
  std::int64_t width = 0;                   ///< bytes of a value
  std::shared_ptr<const void> memory = {};  ///< null: of the caller's, which does not count
  int place = -1;                           ///< where its gradient comes together; -1: nowhere

  bool wants_gradient() const { return place >= 0; }
};

/// Autograd of tensors without values: what is recorded runs back in reverse order, as LibTorch's
/// engine does it, and what is held meanwhile is counted. So the most memory of a pass of any size
/// is known without computing it.
class ShapeTape {
 public:
  using Gradients = std::vector<Shaped>;
  /// From the gradient of an operation's result to those of its inputs, in their order; a Shaped{}
  /// for one that has none.
  using Backward = std::function<Gradients(Shaped grad)>;

  /// New memory, rounded up as allocators do.
  Shaped take(std::int64_t values, std::int64_t width);

  /// Makes `output` the result of an operation, which keeps what `backward` has captured until it
  /// has run. Outside a recording, and where no input wants a gradient and `has_parameters` is
  /// false, it is given back as one that wants none.
  Shaped record(Shaped output, const std::vector<Shaped>& inputs, Backward backward,
                bool has_parameters = false);
  /// A view whose gradient comes together for itself: gradient_of() takes it.
  Shaped leaf(Shaped of);
  Shaped gradient_of(const Shaped& leaf);

  /// What record() has recorded since then runs back by backward().
  std::size_t position() const { return operations_.size(); }
  void backward(const Shaped& output, Shaped grad, std::size_t since);

  bool is_recording() const { return is_recording_; }
  void set_recording(bool is_recording) { is_recording_ = is_recording; }

  std::int64_t held() const { return count_->held; }
  std::int64_t peak() const { return count_->peak; }

 private:
  struct Count {
    std::int64_t held = 0;
    std::int64_t peak = 0;
  };
  struct Input {
    int place = -1;
    std::int64_t width = 0;
  };
  struct Operation {
    int output = -1;
    std::vector<Input> inputs;
    Backward backward;
  };
  void add_gradient(const Input& to, Shaped grad);

  std::shared_ptr<Count> count_ = std::make_shared<Count>();
  std::vector<Operation> operations_;
  std::map<int, Shaped> gradients_;
  int num_places_ = 0;
  bool is_recording_ = true;
};

}  // namespace paceline::nn
