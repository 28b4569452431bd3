// What the settler and the extender of a worker do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <stadium/api/worker_core.hpp>

namespace stadium::detail {

inline void WorkerCore::settle() noexcept {
    BackOff backoff(settings_.retry_min, settings_.retry_max);
    std::unique_lock lock(mutex_);
    while (!ended_) {
        const auto at = state_.results_at();
        if (!at) {
            changed_.wait(lock);
            continue;
        }
        if (!stopping_ && *at > Clock::now()) {
            changed_.wait_until(lock, *at);
            continue;
        }
        std::vector<Finished> batch = state_.take_results();
        lock.unlock();
        const bool is_whole = send(std::move(batch));
        lock.lock();
        give_credit();
        changed_.notify_all();
        if (is_whole) {
            backoff.reset();
        } else {
            pause(lock, backoff.next(), [this] { return ended_; });
        }
    }
}

/// Sends results: one request for each kind, all at once. Whether none is to be sent again.
inline bool WorkerCore::send(std::vector<Finished> batch) {
    std::map<JobResult, std::vector<Finished>> groups;
    for (Finished& finished : batch) {
        const JobResult& result = finished.result;
        groups[result].push_back(std::move(finished));
    }
    struct Request {
        std::vector<Finished> group;
        std::optional<Reply<Queue::Outcomes>> reply;
    };
    std::vector<Request> requests;
    for (auto& [result, group] : groups) {
        std::vector<Lease> leases;
        for (const Finished& finished : group) {
            leases.push_back(finished.job->lease);
        }
        Request request{std::move(group), std::nullopt};
        try {
            switch (result.kind) {
                case JobResult::Kind::settle: request.reply.emplace(queue_.settle(leases)); break;
                case JobResult::Kind::release:
                    request.reply.emplace(queue_.release(leases, result.due, result.text));
                    break;
                case JobResult::Kind::bury:
                    request.reply.emplace(queue_.bury(leases, result.text));
                    break;
            }
        } catch (const std::exception& error) {
            log({LogLevel::warn, "Results cannot be settled now", "queue/Settle", error.what()});
        }
        requests.push_back(std::move(request));
    }
    bool is_whole = true;
    for (Request& request : requests) {
        Queue::Outcomes outcomes;
        bool is_refused = false;
        try {
            if (request.reply) {
                outcomes = answer_of(*request.reply);
            }
        } catch (const Rejected& rejected) {
            if (is_refused_key(rejected)) {
                fail(std::current_exception());
            }
            is_refused = true;
            log({LogLevel::error, "Results were refused", "queue/Settle", rejected.what()});
        } catch (const std::exception& error) {
            log({LogLevel::info, "Results are sent again", "queue/Settle", error.what()});
        }
        const std::lock_guard lock(mutex_);
        for (std::size_t nth = 0; nth < request.group.size(); nth++) {
            Finished& finished = request.group[nth];
            const auto status =
                nth < outcomes.size() ? outcomes[nth].status() : v1::Outcome::UNKNOWN;
            if (is_refused || status == v1::Outcome::REJECTED) {
                state_.lost(finished);
            } else if (status == v1::Outcome::BUSY || status == v1::Outcome::UNKNOWN) {
                state_.again(std::move(finished), Clock::now());
                is_whole = false;
            } else {
                state_.settled(finished);
            }
        }
    }
    return is_whole;
}

inline void WorkerCore::extend() noexcept {
    std::unique_lock lock(mutex_);
    while (!ended_) {
        const auto at = state_.extend_at();
        const auto now = Clock::now();
        if (!at) {
            changed_.wait(lock);
            continue;
        }
        if (*at > now) {
            changed_.wait_until(lock, *at);
            continue;
        }
        const auto jobs = state_.to_extend(now);
        lock.unlock();
        Queue::Outcomes outcomes;
        try {
            std::vector<Lease> leases;
            for (std::size_t nth = 0; nth < std::min(jobs.size(), WorkerState::results_max);
                 nth++) {
                leases.push_back(jobs[nth]->lease);
            }
            auto reply = queue_.extend(leases, state_.lease());
            outcomes = answer_of(reply);
        } catch (const std::exception& error) {
            log({LogLevel::info, "Leases are extended later", "queue/Extend", error.what()});
        }
        lock.lock();
        bool is_whole = outcomes.size() == jobs.size();
        for (std::size_t nth = 0; nth < outcomes.size() && nth < jobs.size(); nth++) {
            switch (outcomes[nth].status()) {
                case v1::Outcome::REJECTED: jobs[nth]->is_lost = true; break;
                case v1::Outcome::BUSY:
                case v1::Outcome::UNKNOWN: is_whole = false; break;
                default: jobs[nth]->leased_at = now; break;
            }
        }
        if (!is_whole) {
            pause(lock, settings_.retry_min, [this] { return ended_; });
        }
    }
}

}  // namespace stadium::detail
