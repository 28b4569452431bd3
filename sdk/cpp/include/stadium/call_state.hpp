// The state of a unary call: its answer, and the one who waits for it.
//
// Two own it: the Future, and the completion queue until the call's one event came.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <stadium/handle.hpp>
#include <stadium/waiter.hpp>

namespace stadium::detail {

class CallState {
  public:
    [[nodiscard]] bool is_done() const noexcept {
        return waiter_.load(std::memory_order_acquire) == done();
    }

    /// Registers the one who waits; false where the call has ended.
    bool wait_by(Waiter& waiter) noexcept {
        Waiter* none = nullptr;
        return waiter_.compare_exchange_strong(none, &waiter, std::memory_order_acq_rel);
    }

    /// Withdraws the one who waits; false where the call has ended and the waiter is woken.
    bool withdraw(Waiter& waiter) noexcept {
        Waiter* expected = &waiter;
        return waiter_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel);
    }

    /// Adds the share of the completion queue, before the call begins.
    void share() noexcept { owners_.fetch_add(1, std::memory_order_acq_rel); }

    /// Ends the call, and gives up the queue's share.
    void complete(OwnedEvent event) noexcept {
        // The queue orders this after share(). A race detector that does not see into the library
        // sees it here.
        static_cast<void>(owners_.load(std::memory_order_acquire));
        event_ = std::move(event);
        Waiter* const waiter = waiter_.exchange(done(), std::memory_order_acq_rel);
        release();
        if (waiter != nullptr) {
            waiter->wake();
        }
    }

    void release() noexcept {
        if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete this;
        }
    }

    /// The event of a call that has ended.
    [[nodiscard]] const OwnedEvent& event() const noexcept { return event_; }

    /// The number that stands in the call's events. It is even.
    [[nodiscard]] std::uint64_t tag() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this);
    }

    static CallState& of_tag(std::uint64_t tag) noexcept {
        return *reinterpret_cast<CallState*>(tag);
    }

  private:
    /// Stands in the place of the waiter when the call has ended.
    static Waiter* done() noexcept { return reinterpret_cast<Waiter*>(std::uintptr_t{1}); }

    ~CallState() = default;

    std::atomic<Waiter*> waiter_{nullptr};
    std::atomic<int> owners_{1};
    OwnedEvent event_;
};

struct CallStateReleased {
    void operator()(CallState* state) const noexcept { state->release(); }
};

/// The Future's share.
using CallStateShare = std::unique_ptr<CallState, CallStateReleased>;

}  // namespace stadium::detail
