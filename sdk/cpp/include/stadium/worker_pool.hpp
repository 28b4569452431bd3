// WorkerPool: the threads that run a server's functions.
//
// One thread at a time leads: it takes events from the server's queue, in their order, and hands
// out jobs. A thread that waits for an event inside of a function leads too, so that a pool whose
// threads all wait goes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <stadium/fork.hpp>
#include <stadium/handle.hpp>
#include <stadium/waiter.hpp>
#include <stadium/wake.hpp>

namespace stadium::detail {

using Job = std::function<void()>;

class WorkerPool {
  public:
    /// Receives the events, in order, from one thread at a time; adds jobs.
    using Route = std::function<void(OwnedEvent, std::vector<Job>&)>;

    explicit WorkerPool(Route route)
        : queue_(made<QueueHandle>(stadium_queue_new())), route_(std::move(route)) {}

    [[nodiscard]] const stadium_queue* queue() const noexcept { return queue_.get(); }
    [[nodiscard]] const Process& process() const noexcept { return process_; }

    /// Whether this thread is one of the pool.
    [[nodiscard]] bool is_worker() const noexcept { return current() == this; }

    /// The body of a worker thread. Ends when the pool is stopped and no work is left.
    void work() noexcept {
        current() = this;
        std::unique_lock lock(mutex_);
        while (true) {
            if (!jobs_.empty()) {
                const Job job = std::move(jobs_.front());
                jobs_.pop_front();
                lock.unlock();
                run(job);
                lock.lock();
            } else if (stopping_ && active_ == 0) {
                return;
            } else if (!leading_) {
                lead(lock, true);
            } else {
                idle_++;
                changed_.wait(lock);
                idle_--;
            }
        }
    }

    /// Has a function run by a worker.
    void post(Job job) {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
        if (idle_ > 0) {
            changed_.notify_one();
        } else if (leading_) {
            bell_.ring();
        }
    }

    /// Blocks until the waiter was woken; leads meanwhile, where nobody else does.
    void block(ThreadWaiter& waiter) {
        std::unique_lock lock(mutex_);
        blocked_++;
        while (!waiter.is_woken()) {
            if (!leading_) {
                lead(lock, true);
            } else {
                changed_.wait(lock);
            }
        }
        blocked_--;
        if (!leading_ && idle_ + blocked_ > 0) {
            changed_.notify_all();
        }
    }

    /// Takes the events that are there, where no other thread does.
    void look() {
        std::unique_lock lock(mutex_);
        if (!leading_) {
            lead(lock, false);
        }
    }

    /// Work that keeps the workers running after stop().
    void begin_work() {
        const std::lock_guard lock(mutex_);
        active_++;
    }
    void end_work() noexcept {
        const std::lock_guard lock(mutex_);
        if (--active_ == 0 && stopping_) {
            wake_everybody();
        }
    }

    /// The workers end when no work is left.
    void stop() noexcept {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        wake_everybody();
    }

  private:
    static const WorkerPool*& current() noexcept {
        thread_local const WorkerPool* pool = nullptr;
        return pool;
    }

    static void run(const Job& job) noexcept {
        try {
            job();
        } catch (...) {
            escaped("An exception left a job of a server");
        }
    }

    void wake_everybody() noexcept {
        changed_.notify_all();
        bell_.ring();
    }

    /// Takes events once, and waits for them where `waits`.
    void lead(std::unique_lock<std::mutex>& lock, bool waits) noexcept {
        leading_ = true;
        lock.unlock();
        std::array<stadium_event, 64> events;
        std::int64_t count = stadium_queue_take(queue_.get(), events.data(), events.size(), 0);
        if (count == 0 && waits) {
            if (bell_.wait_with(stadium_queue_descriptor(queue_.get()))) {
                bell_.silence();
            }
            count = stadium_queue_take(queue_.get(), events.data(), events.size(), 0);
        }
        if (count < 0) {
            log({LogLevel::error, "Taking requests failed", {}, stadium_last_error()});
            std::terminate();
        }
        std::vector<Job> jobs;
        for (std::int64_t nth = 0; nth < count; nth++) {
            route_(OwnedEvent(events[static_cast<std::size_t>(nth)]), jobs);
        }
        lock.lock();
        leading_ = false;
        for (Job& job : jobs) {
            jobs_.push_back(std::move(job));
        }
        if (blocked_ > 0) {
            changed_.notify_all();
            return;
        }
        // One of them runs for each job, and one leads: this thread is one of these.
        const std::size_t wanted = std::min<std::size_t>(idle_, jobs.size() + (waits ? 0 : 1));
        for (std::size_t nth = 0; nth < wanted; nth++) {
            changed_.notify_one();
        }
    }

    const QueueHandle queue_;
    const Route route_;
    const Bell bell_;
    const Process process_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    /// A thread takes events.
    bool leading_ = false;
    bool stopping_ = false;
    /// Threads that wait for a job or to lead, and threads that wait inside of a function.
    std::size_t idle_ = 0;
    std::size_t blocked_ = 0;
    /// Requests that are not answered.
    std::size_t active_ = 0;
};

}  // namespace stadium::detail
