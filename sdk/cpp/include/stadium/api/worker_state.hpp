// WorkerState: the jobs that a worker holds, the credit that it gave, and the results that wait to
// be settled.
//
// It has no thread and no connection, and every function takes the time. The caller holds the
// worker's lock. Jobs that run and credit that is out are never more than the concurrency.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stadium/api/job.hpp>

namespace stadium {

/// What became of the jobs of a worker.
struct WorkerCounts {
    std::uint64_t settled = 0;
    std::uint64_t released = 0;
    std::uint64_t buried = 0;
    /// Jobs whose lease was lost before their result was settled. Somebody else does them.
    std::uint64_t lost = 0;
};

}  // namespace stadium

namespace stadium::detail {

using SteadyTime = std::chrono::steady_clock::time_point;

/// What a handler's end means for its job.
struct JobResult {
    enum class Kind { settle, release, bury };

    Kind kind = Kind::settle;
    Due due = Due::after_backoff();
    /// For the history of a job that failed.
    std::string text = {};

    friend auto operator<=>(const JobResult&, const JobResult&) = default;
};

struct Finished {
    std::shared_ptr<HeldJob> job;
    JobResult result;
    /// Not sent before this time.
    SteadyTime at;
};

class WorkerState {
  public:
    /// Results that may wait to be settled before no more jobs are taken. One request takes as
    /// many.
    static constexpr std::size_t results_max = 1000;

    WorkerState(std::uint32_t concurrency, std::size_t batch_max,
                std::chrono::milliseconds batch_delay, std::chrono::milliseconds lease)
        : concurrency_(concurrency),
          batch_max_(batch_max),
          batch_delay_(batch_delay),
          lease_(lease) {}

    /// Jobs that may be asked for now. They count as asked for.
    std::uint32_t take_credit() noexcept {
        if (results_.size() >= results_max || running_ + credit_out_ >= concurrency_) {
            return 0;
        }
        const std::uint32_t credit = concurrency_ - running_ - credit_out_;
        credit_out_ += credit;
        return credit;
    }
    /// The stream has ended: what was asked for does not come.
    void lose_credit() noexcept { credit_out_ = 0; }

    /// A job has come.
    std::shared_ptr<HeldJob> begin(v1::ReservedJob message, SteadyTime now) {
        auto job = std::make_shared<HeldJob>(std::move(message), now);
        if (credit_out_ > 0) {
            credit_out_--;
        }
        job->is_running = true;
        running_++;
        held_[job->lease] = job;
        return job;
    }
    /// Its handler has ended.
    void finish(const std::shared_ptr<HeldJob>& job, JobResult result, SteadyTime now) {
        if (!job->is_running) {
            return;
        }
        job->is_running = false;
        running_--;
        if (job->is_settled || job->is_lost) {
            (job->is_settled ? counts_.settled : counts_.lost)++;
            held_.erase(job->lease);
            return;
        }
        const SteadyTime at = result.kind == JobResult::Kind::settle ? now + batch_delay_ : now;
        results_.push_back({job, std::move(result), at});
    }
    /// Gives the jobs back whose handlers have not ended. Their results do not count any more.
    std::size_t give_back(SteadyTime now) {
        std::size_t given = 0;
        for (const auto& [lease, job] : held_) {
            if (job->is_running) {
                job->is_running = false;
                running_--;
                given++;
                if (!job->is_lost.exchange(true)) {
                    results_.push_back(
                        {job,
                         {JobResult::Kind::release, Due::after({}), "the worker was drained"},
                         now});
                }
            }
        }
        return given;
    }

    /// When the next results are to be sent; nothing where there are none.
    [[nodiscard]] std::optional<SteadyTime> results_at() const {
        if (results_.empty()) {
            return std::nullopt;
        }
        if (results_.size() >= batch_max_) {
            return SteadyTime::min();
        }
        return std::min_element(results_.begin(), results_.end(),
                                [](const auto& a, const auto& b) { return a.at < b.at; })
            ->at;
    }
    /// The results of a batch. Where one is due, those that are not yet go with it.
    std::vector<Finished> take_results() {
        std::vector<Finished> batch;
        while (!results_.empty() && batch.size() < batch_max_) {
            batch.push_back(std::move(results_.front()));
            results_.pop_front();
        }
        sending_ += batch.size();
        return batch;
    }
    /// The server has this result.
    void settled(const Finished& finished) {
        sending_--;
        held_.erase(finished.job->lease);
        switch (finished.result.kind) {
            case JobResult::Kind::settle: counts_.settled++; break;
            case JobResult::Kind::release: counts_.released++; break;
            case JobResult::Kind::bury: counts_.buried++; break;
        }
    }
    /// The server will never take this result.
    void lost(const Finished& finished) {
        sending_--;
        held_.erase(finished.job->lease);
        counts_.lost++;
    }
    /// The result is to be sent again.
    void again(Finished finished, SteadyTime at) {
        sending_--;
        finished.at = at;
        results_.push_back(std::move(finished));
    }

    /// Jobs whose leases are to be extended: a third of the time is over.
    [[nodiscard]] std::vector<std::shared_ptr<HeldJob>> to_extend(SteadyTime now) const {
        std::vector<std::shared_ptr<HeldJob>> jobs;
        for (const auto& [lease, job] : held_) {
            if (!job->is_lost && !job->is_settled && extend_at(*job) <= now) {
                jobs.push_back(job);
            }
        }
        return jobs;
    }
    /// When the next lease is to be extended; nothing where no job is held.
    [[nodiscard]] std::optional<SteadyTime> extend_at() const {
        std::optional<SteadyTime> first;
        for (const auto& [lease, job] : held_) {
            if (!job->is_lost && !job->is_settled && (!first || extend_at(*job) < *first)) {
                first = extend_at(*job);
            }
        }
        return first;
    }

    [[nodiscard]] std::uint32_t running() const noexcept { return running_; }
    [[nodiscard]] bool has_results() const noexcept { return !results_.empty() || sending_ > 0; }
    [[nodiscard]] std::chrono::milliseconds lease() const noexcept { return lease_; }
    [[nodiscard]] const WorkerCounts& counts() const noexcept { return counts_; }

  private:
    [[nodiscard]] SteadyTime extend_at(const HeldJob& job) const noexcept {
        return job.leased_at + lease_ / 3;
    }

    const std::uint32_t concurrency_;
    const std::size_t batch_max_;
    const std::chrono::milliseconds batch_delay_;
    const std::chrono::milliseconds lease_;
    std::uint32_t running_ = 0;
    std::uint32_t credit_out_ = 0;
    std::map<Lease, std::shared_ptr<HeldJob>> held_;
    std::deque<Finished> results_;
    std::size_t sending_ = 0;
    WorkerCounts counts_;
};

}  // namespace stadium::detail
