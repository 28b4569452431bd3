// NewJob: a job that is to be put, written in one expression.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <stadium/v1/queue.pb.h>

#include <stadium/api/api.hpp>

namespace stadium {

/// A job, such as `NewJob("receipt of order 17").delay(5s).dedup_id("order-17")`. docs/queue.md
/// says what each part does.
class NewJob {
  public:
    /// The payload: bytes for the worker, at most 1 MiB unless the server has another bound.
    explicit NewJob(std::string payload) { message_.set_payload(std::move(payload)); }

    /// Due so long from now. Default at once.
    NewJob& delay(std::chrono::milliseconds delay) {
        message_.set_delay_ms(detail::span_of(delay, "the delay"));
        return *this;
    }
    /// Due at that time, instead of a delay; at once where it has passed.
    NewJob& run_at(std::chrono::system_clock::time_point time) {
        message_.set_run_at_ms(milliseconds_of(time));
        return *this;
    }
    /// 0 to 9; 9 goes first. Default 4.
    NewJob& priority(std::uint32_t priority) {
        message_.set_priority(priority);
        return *this;
    }
    /// The job is removed where it was not settled so long after its put. Default never.
    NewJob& time_to_live(std::chrono::milliseconds time) {
        message_.set_time_to_live_ms(detail::span_of(time, "the time to live"));
        return *this;
    }
    /// At most one job with this id within the window: the put may be sent again. At most 128
    /// bytes. Default none.
    NewJob& dedup_id(std::string id) {
        message_.set_dedup_id(std::move(id));
        return *this;
    }
    /// The time that the id is remembered. Default: as the queue does.
    NewJob& dedup_window(std::chrono::milliseconds window) {
        message_.set_dedup_window_ms(detail::span_of(window, "the window"));
        return *this;
    }
    /// Jobs of one key run one after another, in their order. At most 128 bytes. Default none.
    NewJob& key(std::string key) {
        message_.set_key(std::move(key));
        return *this;
    }
    /// Attempts before it is dead. Default: as the queue does.
    NewJob& attempts_max(std::uint32_t attempts) {
        message_.set_attempts_max(attempts);
        return *this;
    }

    [[nodiscard]] const v1::NewJob& message() const noexcept { return message_; }

  private:
    v1::NewJob message_;
};

}  // namespace stadium
