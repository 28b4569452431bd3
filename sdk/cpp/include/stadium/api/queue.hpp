// Queue: the jobs of one queue, by the service `queue`. docs/queue.md describes what each command
// does, its bounds and its guarantees. For a program that works on jobs, use worker.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <stadium/api/api.hpp>
#include <stadium/api/new_job.hpp>
#include <stadium/api/queue_methods.hpp>

namespace stadium {

/// The id of a job. It stays the same over all attempts.
using JobId = std::uint64_t;

/// The right to work on a job, until its time is over.
class Lease {
  public:
    Lease(JobId job, std::uint32_t reservation) noexcept : job_(job), reservation_(reservation) {}
    explicit Lease(const v1::ReservedJob& job) noexcept : Lease(job.job(), job.reservation()) {}

    [[nodiscard]] JobId job() const noexcept { return job_; }
    [[nodiscard]] std::uint32_t reservation() const noexcept { return reservation_; }

    friend auto operator<=>(const Lease&, const Lease&) = default;

  private:
    JobId job_;
    std::uint32_t reservation_;
};

/// A job that was put.
struct PlacedJob {
    JobId id;
    /// Its dedup id was known: nothing was put, and this is the first job.
    bool duplicate;
};

/// When a job that is given back is due again.
class Due {
  public:
    /// After the queue's back-off. The attempt counts.
    [[nodiscard]] static Due after_backoff() { return Due(By::backoff, {}); }
    /// After a time. The attempt counts.
    [[nodiscard]] static Due after(std::chrono::milliseconds delay) {
        return Due(By::delay, delay);
    }
    /// After a time, as though it had not been reserved: the worker never began.
    [[nodiscard]] static Due not_tried(std::chrono::milliseconds delay = {}) {
        return Due(By::not_tried, delay);
    }

    void describe(v1::ReleaseRequest& request) const {
        switch (by_) {
            case By::backoff: break;
            case By::delay: request.set_delay_ms(detail::span_of(delay_, "the delay")); break;
            case By::not_tried:
                request.set_not_tried_ms(detail::span_of(delay_, "the delay"));
                break;
        }
    }

    friend auto operator<=>(const Due&, const Due&) = default;

  private:
    enum class By { backoff, delay, not_tried };

    Due(By by, std::chrono::milliseconds delay) noexcept : by_(by), delay_(delay) {}

    By by_;
    std::chrono::milliseconds delay_;
};

/// How a schedule treats times that passed while the server was down.
using Missed = v1::Cron::Missed;

namespace detail {

inline void add_leases(google::protobuf::RepeatedPtrField<v1::Lease>& to,
                       const std::vector<Lease>& leases) {
    for (const Lease& lease : leases) {
        v1::Lease& added = *to.Add();
        added.set_job(lease.job());
        added.set_reservation(lease.reservation());
    }
}

inline std::vector<v1::Outcome> outcomes_of(v1::Outcomes answer) {
    return {std::make_move_iterator(answer.mutable_outcomes()->begin()),
            std::make_move_iterator(answer.mutable_outcomes()->end())};
}

/// Throws the outcome of a single job where nothing, or nobody knows what, happened.
inline v1::Outcome::Status checked_outcome(const v1::Outcomes& answer) {
    const v1::Outcome& outcome = only(answer.outcomes());
    switch (outcome.status()) {
        case v1::Outcome::REJECTED:
        case v1::Outcome::BUSY:
        case v1::Outcome::UNKNOWN:
            throw_refused(outcome.code(), outcome.reason(), outcome.retry_after_ms(),
                          outcome.status() == v1::Outcome::UNKNOWN);
        default: return outcome.status();
    }
}

}  // namespace detail

/// A queue. Cheap to copy; any thread may use it.
///
/// settle, release, extend and bury take one lease, or up to 1,000. One lease that was refused is
/// thrown; of several each has its outcome, in their order.
class Queue {
  public:
    using Status = v1::Outcome::Status;
    using Outcomes = std::vector<v1::Outcome>;

    Queue(Api api, std::string name) : api_(std::move(api)), name_(std::move(name)) {}

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Puts a job. It is on disk when the reply is there. Makes the queue where there is none.
    Reply<PlacedJob> put(const NewJob& job) const {
        return placing<PlacedJob>({job}, [](const v1::Placed& placed) {
            return PlacedJob{detail::only(placed.jobs()), placed.duplicates_size() > 0};
        });
    }
    Reply<PlacedJob> put(std::string payload) const { return put(NewJob(std::move(payload))); }
    /// Puts 1 to 1,000 jobs, all or none. Their ids are in the order of `jobs`.
    Reply<std::vector<PlacedJob>> put(const std::vector<NewJob>& jobs) const {
        return placing<std::vector<PlacedJob>>(jobs, [](const v1::Placed& placed) {
            std::vector<PlacedJob> ids;
            for (const JobId id : placed.jobs()) {
                ids.push_back({id, false});
            }
            for (const std::uint32_t index : placed.duplicates()) {
                if (index >= ids.size()) {
                    throw ProtocolError("the server names a duplicate that was not put");
                }
                ids[index].duplicate = true;
            }
            return ids;
        });
    }

    /// Reserves up to `jobs_max` jobs, 1 to 1,000, that are due. Waits for the first one no longer
    /// than `wait`, and answers with none then: the deadline of the call is longer than that. A
    /// `lease` of 0 is the queue's. `worker` is a name for the history.
    Reply<std::vector<v1::ReservedJob>> reserve(std::uint32_t jobs_max = 1,
                                                std::chrono::milliseconds wait = {},
                                                std::chrono::milliseconds lease = {},
                                                const std::string& worker = {}) const {
        v1::ReserveRequest request;
        request.set_queue(name_);
        request.set_jobs_max(jobs_max);
        request.set_wait_ms(detail::span_of(wait, "the wait"));
        request.set_lease_ms(detail::span_of(lease, "the lease"));
        request.set_worker(worker);
        CallOptions options;
        if (wait.count() > 0) {
            options.deadline(wait + answer_time);
        }
        return api_.reply<std::vector<v1::ReservedJob>>(
            queue_methods::reserve, request,
            [](v1::ReservedJobs answer) -> std::vector<v1::ReservedJob> {
                return {std::make_move_iterator(answer.mutable_jobs()->begin()),
                        std::make_move_iterator(answer.mutable_jobs()->end())};
            },
            options);
    }

    /// The job is done. Settling again is no error: `ALREADY`.
    Reply<Status> settle(const Lease& lease) const {
        return one(queue_methods::settle, leased<v1::SettleRequest>({lease}));
    }
    Reply<Outcomes> settle(const std::vector<Lease>& leases) const {
        return many(queue_methods::settle, leased<v1::SettleRequest>(leases));
    }
    /// The job is to be tried again. `error` is for the history, at most 1,024 bytes. `DEAD`: that
    /// was its last attempt.
    Reply<Status> release(const Lease& lease, const Due& due = Due::after_backoff(),
                          const std::string& error = {}) const {
        return one(queue_methods::release, released({lease}, due, error));
    }
    Reply<Outcomes> release(const std::vector<Lease>& leases, const Due& due = Due::after_backoff(),
                            const std::string& error = {}) const {
        return many(queue_methods::release, released(leases, due, error));
    }
    /// The lease ends so long from now.
    Reply<Status> extend(const Lease& lease, std::chrono::milliseconds time) const {
        return one(queue_methods::extend, extended({lease}, time));
    }
    Reply<Outcomes> extend(const std::vector<Lease>& leases, std::chrono::milliseconds time) const {
        return many(queue_methods::extend, extended(leases, time));
    }
    /// Sets the job aside for people. `reason` is for them, at most 1,024 bytes.
    Reply<Status> bury(const Lease& lease, const std::string& reason = {}) const {
        return one(queue_methods::bury, buried({lease}, reason));
    }
    Reply<Outcomes> bury(const std::vector<Lease>& leases, const std::string& reason = {}) const {
        return many(queue_methods::bury, buried(leases, reason));
    }
    /// The job is done here, and goes on as a new job in another queue, in one step. An empty
    /// payload keeps the payload.
    Reply<JobId> forward(const Lease& lease, const std::string& queue,
                         const NewJob& job = NewJob({})) const {
        v1::ForwardRequest request;
        request.mutable_lease()->set_job(lease.job());
        request.mutable_lease()->set_reservation(lease.reservation());
        request.set_queue(queue);
        *request.mutable_job() = job.message();
        return api_.reply<JobId>(
            queue_methods::forward, request,
            [](const v1::Placed& placed) -> JobId { return detail::only(placed.jobs()); });
    }

    /// Jobs as they stand, 1 to 1,000, of one state or of all. `after` is the last one of the page
    /// before.
    Reply<v1::Jobs> peek(std::uint32_t jobs_max = 100, v1::JobState state = v1::JOB_STATE_UNSET,
                         JobId after = 0) const {
        v1::PeekRequest request;
        request.set_queue(name_);
        request.set_state(state);
        request.set_after(after);
        request.set_jobs_max(jobs_max);
        return api_.reply(queue_methods::peek, request);
    }
    /// One job as it stands.
    Reply<v1::Job> find(JobId job) const { return api_.reply(queue_methods::find, named(job)); }
    /// The attempts of a job, newest first.
    Reply<v1::JobHistory> history(JobId job) const {
        return api_.reply(queue_methods::history, named(job));
    }
    /// The figures of the queue.
    Reply<v1::QueueStats> stats() const { return api_.reply(queue_methods::stats, named()); }

    /// Makes the queue, or replaces all its settings. What is not set is the default.
    Reply<void> declare(const v1::QueueSettings& settings = {}) const {
        v1::DeclareRequest request;
        request.set_queue(name_);
        *request.mutable_settings() = settings;
        return api_.done(queue_methods::declare, request);
    }
    /// Hands out nothing until resume.
    Reply<void> pause() const { return api_.done(queue_methods::pause, named()); }
    Reply<void> resume() const { return api_.done(queue_methods::resume, named()); }
    /// Removes the queue, which has no jobs, with its schedules.
    Reply<void> drop() const { return api_.done(queue_methods::drop, named()); }

    /// Makes the oldest buried jobs due again, at most so many. Returns how many there were.
    Reply<std::uint64_t> kick(std::uint32_t oldest) const {
        v1::KickRequest request;
        request.set_queue(name_);
        request.set_oldest(oldest);
        return counted(queue_methods::kick, request);
    }
    /// Makes the oldest dead jobs due again, here or in queue `to`. Returns how many there were.
    Reply<std::uint64_t> redrive(std::uint32_t oldest, const std::string& to = {}) const {
        v1::RedriveRequest request;
        request.set_queue(name_);
        request.set_oldest(oldest);
        request.set_to(to);
        return counted(queue_methods::redrive, request);
    }
    /// Removes a job in any state.
    Reply<Status> remove(JobId job) const {
        v1::DeleteRequest request;
        request.add_jobs(job);
        return one(queue_methods::remove, request);
    }
    /// Changes a job that nobody works on.
    Reply<void> edit(const v1::EditRequest& request) const {
        return api_.done(queue_methods::edit, request);
    }
    /// Removes the jobs of one state; `JOB_STATE_UNSET`: of any but reserved. Returns how many
    /// there were.
    Reply<std::uint64_t> purge(v1::JobState state) const {
        v1::PurgeRequest request;
        request.set_queue(name_);
        request.set_state(state);
        return counted(queue_methods::purge, request);
    }

    /// Puts a job at each time of a cron expression, in an IANA time zone; empty: UTC. The same
    /// name replaces the schedule.
    Reply<void> schedule(const std::string& name, const NewJob& job, const std::string& cron,
                         const std::string& time_zone = {}, Missed missed = v1::Cron::ONCE) const {
        v1::ScheduleRequest request;
        request.set_queue(name_);
        request.set_name(name);
        request.mutable_cron()->set_expression(cron);
        request.mutable_cron()->set_time_zone(time_zone);
        request.mutable_cron()->set_missed(missed);
        *request.mutable_job() = job.message();
        return api_.done(queue_methods::schedule, request);
    }
    /// Ends a schedule. Jobs that it put stay.
    Reply<void> unschedule(const std::string& name) const {
        v1::UnscheduleRequest request;
        request.set_queue(name_);
        request.set_name(name);
        return api_.done(queue_methods::unschedule, request);
    }
    /// The schedules of the queue.
    Reply<v1::ScheduleList> schedules() const {
        return api_.reply(queue_methods::schedules, named());
    }

  private:
    /// The time beyond its wait that a reserve may take.
    static constexpr std::chrono::seconds answer_time{5};

    template <class T>
    Reply<T> placing(const std::vector<NewJob>& jobs,
                     std::type_identity_t<std::function<T(v1::Placed)>> convert) const {
        v1::PutRequest request;
        request.set_queue(name_);
        for (const NewJob& job : jobs) {
            *request.add_jobs() = job.message();
        }
        // With dedup ids the put has the effect of one however often it is sent.
        const bool may_repeat = std::all_of(jobs.begin(), jobs.end(), [](const NewJob& job) {
            return !job.message().dedup_id().empty();
        });
        return api_.reply<T>(may_repeat ? queue_methods::put.idempotent() : queue_methods::put,
                             request, std::move(convert));
    }

    template <class Request>
    [[nodiscard]] static Request leased(const std::vector<Lease>& leases) {
        Request request;
        detail::add_leases(*request.mutable_leases(), leases);
        return request;
    }
    [[nodiscard]] static v1::ReleaseRequest released(const std::vector<Lease>& leases,
                                                     const Due& due, const std::string& error) {
        auto request = leased<v1::ReleaseRequest>(leases);
        due.describe(request);
        request.set_error(error);
        return request;
    }
    [[nodiscard]] static v1::ExtendRequest extended(const std::vector<Lease>& leases,
                                                    std::chrono::milliseconds time) {
        auto request = leased<v1::ExtendRequest>(leases);
        request.set_lease_ms(detail::span_of(time, "the lease"));
        return request;
    }
    [[nodiscard]] static v1::BuryRequest buried(const std::vector<Lease>& leases,
                                                const std::string& reason) {
        auto request = leased<v1::BuryRequest>(leases);
        request.set_reason(reason);
        return request;
    }

    template <class Request>
    Reply<Status> one(const Method<Request, v1::Outcomes>& method, const Request& request) const {
        return api_.reply<Status>(method, request, detail::checked_outcome);
    }
    template <class Request>
    Reply<Outcomes> many(const Method<Request, v1::Outcomes>& method,
                         const Request& request) const {
        return api_.reply<Outcomes>(method, request, detail::outcomes_of);
    }
    template <class Request>
    Reply<std::uint64_t> counted(const Method<Request, v1::Counted>& method,
                                 const Request& request) const {
        return api_.reply<std::uint64_t>(method, request,
                                         [](const v1::Counted& counted) { return counted.jobs(); });
    }

    [[nodiscard]] v1::QueueNamed named() const {
        v1::QueueNamed request;
        request.set_queue(name_);
        return request;
    }
    [[nodiscard]] static v1::JobNamed named(JobId job) {
        v1::JobNamed request;
        request.set_job(job);
        return request;
    }

    Api api_;
    std::string name_;
};

/// The figures of all queues, by name: 1 to 1,000. `after` is the last one of the page before.
inline Reply<v1::QueueList> list_queues(const Api& api, std::uint32_t queues_max = 1000,
                                        const std::string& after = {}) {
    v1::ListRequest request;
    request.set_after(after);
    request.set_queues_max(queues_max);
    return api.reply(queue_methods::list, request);
}

}  // namespace stadium
