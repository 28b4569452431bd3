// Job: what the handler of a worker gets, and the errors by which it decides what becomes of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <stadium/api/queue.hpp>

namespace stadium {

/// Thrown by a handler: the job will never work. It is set aside for people, with this reason.
class Bury : public std::runtime_error {
  public:
    explicit Bury(const std::string& reason) : std::runtime_error(reason) {}
};

/// Thrown by a handler: the job is to be tried again after a time. The attempt counts.
class Retry : public std::runtime_error {
  public:
    explicit Retry(std::chrono::milliseconds after, const std::string& reason = "tried later")
        : std::runtime_error(reason), after_(after) {}
    [[nodiscard]] std::chrono::milliseconds after() const noexcept { return after_; }

  private:
    std::chrono::milliseconds after_;
};

namespace detail {

/// A job that a worker holds, from its arrival until its result is settled.
struct HeldJob {
    HeldJob(v1::ReservedJob reserved, std::chrono::steady_clock::time_point now)
        : message(std::move(reserved)), lease(message), leased_at(now) {}

    const v1::ReservedJob message;
    const Lease lease;
    /// When the lease began, or was extended last. Guarded by the worker's lock.
    std::chrono::steady_clock::time_point leased_at;
    /// The handler has not ended. Guarded by the worker's lock.
    bool is_running = false;
    /// The handler has settled, forwarded or buried it by its lease.
    std::atomic<bool> is_settled{false};
    /// The job is somebody else's now: the handler's result does not count.
    std::atomic<bool> is_lost{false};
};

}  // namespace detail

/// A job, as its handler sees it. It is valid while the handler runs.
class Job {
  public:
    explicit Job(std::shared_ptr<detail::HeldJob> held) noexcept : held_(std::move(held)) {}

    /// The same over all attempts: a handler that remembers it applies each effect once.
    [[nodiscard]] JobId id() const noexcept { return held_->lease.job(); }
    [[nodiscard]] const std::string& payload() const noexcept { return held_->message.payload(); }
    /// Which attempt this is, from 1.
    [[nodiscard]] std::uint32_t attempt() const noexcept { return held_->message.attempt(); }
    /// Empty where it has none.
    [[nodiscard]] const std::string& key() const noexcept { return held_->message.key(); }
    [[nodiscard]] std::uint32_t priority() const noexcept { return held_->message.priority(); }
    [[nodiscard]] std::chrono::system_clock::time_point put_at() const noexcept {
        return time_of(held_->message.put_at_ms());
    }
    [[nodiscard]] std::chrono::system_clock::time_point due() const noexcept {
        return time_of(held_->message.due_ms());
    }
    /// For commands of Queue such as forward; then call mark_settled.
    [[nodiscard]] Lease lease() const noexcept { return held_->lease; }
    /// The handler has settled, forwarded or buried the job itself: the worker leaves it alone.
    void mark_settled() const noexcept { held_->is_settled.store(true); }
    /// Whether the job is somebody else's now: its lease is lost, or the worker ended without it. A
    /// handler that works for long asks from time to time, and returns.
    [[nodiscard]] bool is_lost() const noexcept {
        return held_->is_lost.load(std::memory_order_relaxed);
    }

  private:
    std::shared_ptr<detail::HeldJob> held_;
};

}  // namespace stadium
