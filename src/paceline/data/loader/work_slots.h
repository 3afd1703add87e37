#pragma once

#include <memory>
#include <string>

namespace paceline::data {

/// Places at work that the loaders of several processes of one machine share: a thread works only
/// while it holds one. So the ranks of a node have one pool: whoever lacks samples works with the
/// slots of those who have enough. A process that ends, however it does, gives its slots back.
class WorkSlots {
 public:
  /// Slots that others can join. Throws DataError.
  static std::shared_ptr<const WorkSlots> create(int count);
  /// The slots with that path() of another process, or of this one. Throws DataError.
  static std::shared_ptr<const WorkSlots> join(const std::string& path, int count);

  WorkSlots(const WorkSlots&) = delete;
  WorkSlots& operator=(const WorkSlots&) = delete;
  ~WorkSlots();

  int count() const { return count_; }
  /// Where other processes find them, as long as this one lives.
  std::string path() const;

 private:
  friend class SlotLease;
  WorkSlots(int descriptor, int count) : descriptor_(descriptor), count_(count) {}

  int descriptor_;  ///< of an empty file in memory; a slot is a lock on one of its bytes
  int count_;
};

/// One thread's claim to a slot.
class SlotLease {
 public:
  /// `slots` must outlive it. Threads with different first choices wait less for each other.
  SlotLease(const WorkSlots& slots, int first_choice);
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  ~SlotLease();

  /// Waits for a free slot. Throws DataError if the system refuses locks.
  void take();
  /// Does nothing where none is taken.
  void leave() noexcept;

  /// Holds a slot in its scope; without a lease it does nothing.
  class Hold {
   public:
    explicit Hold(SlotLease* lease) : lease_(lease) {
      if (lease_ != nullptr) lease_->take();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      if (lease_ != nullptr) lease_->leave();
    }

   private:
    SlotLease* lease_;
  };

 private:
  bool lock(int slot, bool waits);

  const WorkSlots& slots_;
  int first_choice_;
  int descriptor_;
  int taken_ = -1;
};

}  // namespace paceline::data
