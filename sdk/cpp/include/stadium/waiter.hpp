// Waiting for an event: a blocked thread or a suspended coroutine, in one list.
//
// A waiter lies in the stack frame or the coroutine frame of the one who waits. Waking one is the
// last use of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <stadium/log.hpp>

namespace stadium {

/// Runs functions on threads of its own choice. Any callable that takes a function can be one.
using Executor = std::function<void(std::function<void()>)>;

namespace detail {

/// A time in the future, or none. Durations that reach beyond the clock's range mean none.
using Until = std::optional<std::chrono::steady_clock::time_point>;

template <class Rep, class Period>
Until until_after(std::chrono::duration<Rep, Period> time) {
    using Clock = std::chrono::steady_clock;
    if (std::chrono::duration<double>(time) > std::chrono::hours(24 * 365)) {
        return std::nullopt;
    }
    return Clock::now() + std::chrono::ceil<Clock::duration>(time);
}

class Waiter {
  public:
    Waiter() noexcept = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    virtual void wake() noexcept = 0;

    /// The next of a list; the list's own.
    Waiter* next = nullptr;

  protected:
    ~Waiter() = default;
};

/// A thread that is blocked.
class ThreadWaiter final : public Waiter {
  public:
    void wake() noexcept override {
        // Under the lock: the one who waits destroys the condition when it sees the flag.
        const std::lock_guard lock(mutex_);
        woken_ = true;
        condition_.notify_one();
    }

    [[nodiscard]] bool is_woken() {
        const std::lock_guard lock(mutex_);
        return woken_;
    }

    /// Whether it was woken in time.
    bool wait(const Until& until) {
        std::unique_lock lock(mutex_);
        const auto woken = [this] { return woken_; };
        if (until) {
            return condition_.wait_until(lock, *until, woken);
        }
        condition_.wait(lock, woken);
        return true;
    }

  private:
    std::mutex mutex_;
    std::condition_variable condition_;
    bool woken_ = false;
};

/// A coroutine that is suspended. It resumes on its executor; without one, on the thread that wakes
/// it.
class CoroutineWaiter final : public Waiter {
  public:
    void set(std::coroutine_handle<> coroutine, Executor executor) {
        coroutine_ = coroutine;
        executor_ = std::move(executor);
    }

    void wake() noexcept override {
        // The frame, and this waiter in it, may be gone when the call returns.
        try {
            if (executor_) {
                const Executor executor = std::move(executor_);
                executor([coroutine = coroutine_] { coroutine.resume(); });
            } else {
                coroutine_.resume();
            }
        } catch (...) {
            escaped("An exception left a coroutine or an executor");
        }
    }

  private:
    std::coroutine_handle<> coroutine_;
    Executor executor_;
};

/// Waiters in the order in which they came. The owner's lock guards it.
class WaiterList {
  public:
    void add(Waiter& waiter) noexcept {
        waiter.next = nullptr;
        Waiter** end = &first_;
        while (*end != nullptr) {
            end = &(*end)->next;
        }
        *end = &waiter;
    }

    /// Whether it was in the list.
    bool remove(const Waiter& waiter) noexcept {
        for (Waiter** place = &first_; *place != nullptr; place = &(*place)->next) {
            if (*place == &waiter) {
                *place = waiter.next;
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] Waiter* take_all() noexcept { return std::exchange(first_, nullptr); }

  private:
    Waiter* first_ = nullptr;
};

/// Wakes waiters that were taken from a list. Call it without the lock.
inline void wake_all(Waiter* waiter) noexcept {
    while (waiter != nullptr) {
        Waiter* const next = waiter->next;
        waiter->wake();
        waiter = next;
    }
}

}  // namespace detail
}  // namespace stadium
