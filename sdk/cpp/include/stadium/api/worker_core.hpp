// WorkerCore: the threads of a worker, and what they share.
//
//   receiver   keeps the Work stream open, with as much credit as jobs may begin
//   handlers   run the handler, and the coroutines that it started
//   settler    sends results in batches, again and again until the server has them
//   extender   extends the leases of the jobs that are held
//
// The threads own it together, so that one that does not return in time can be left behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stadium/api/worker_state.hpp>
#include <stadium/log.hpp>
#include <stadium/wake.hpp>

namespace stadium::detail {

/// The time of one Work stream; then it is opened again. A server allows no more.
inline constexpr std::chrono::minutes stream_time{9};
/// The time that an answer is waited for before the end of the worker is looked at.
inline constexpr std::chrono::milliseconds look_time{50};
/// Bytes of a reason that the history keeps.
inline constexpr std::size_t reason_bytes_max = 1024;

/// The bytes of the UTF-8 character at the beginning of a text; 0 where there is none.
inline std::size_t character_size(std::string_view text) noexcept {
    const auto byte_at = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char first = byte_at(0);
    const std::size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2
                           : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size > text.size()) {
        return 0;
    }
    for (std::size_t at = 1; at < size; at++) {
        if ((byte_at(at) & 0xC0) != 0x80) {
            return 0;
        }
    }
    // Longer than it need be, a surrogate, or beyond the last character.
    const bool is_wrong = (first == 0xE0 && byte_at(1) < 0xA0) ||
                          (first == 0xED && byte_at(1) > 0x9F) ||
                          (first == 0xF0 && byte_at(1) < 0x90) ||
                          (first == 0xF4 && byte_at(1) > 0x8F);
    return is_wrong ? 0 : size;
}

/// A text as the history takes it: UTF-8 without control characters, and not too long. Other bytes
/// become question marks.
inline std::string reason_of(std::string_view text) {
    std::string reason;
    while (!text.empty()) {
        const std::size_t size = character_size(text);
        const std::size_t taken = std::max<std::size_t>(size, 1);
        if (reason.size() + taken > reason_bytes_max) {
            break;
        }
        const auto first = static_cast<unsigned char>(text[0]);
        if (size == 0) {
            reason += '?';
        } else if (first < 0x20 || first == 0x7F) {
            reason += ' ';
        } else {
            reason += text.substr(0, size);
        }
        text.remove_prefix(taken);
    }
    return reason;
}

/// Whether the server refuses the key, and so everything.
inline bool is_refused_key(const Rejected& rejected) {
    return rejected.code() == "HTTP-001" || rejected.code() == "HTTP-002" ||
           rejected.code() == "HTTP-003" || rejected.code() == "NODE-009";
}

/// Times between attempts: from `min` on twice the one before, at most `max`, a random half of it
/// less.
class BackOff {
  public:
    BackOff(std::chrono::milliseconds min, std::chrono::milliseconds max) : min_(min), max_(max) {}

    std::chrono::milliseconds next() {
        const std::chrono::milliseconds now = std::min<std::chrono::milliseconds>(
            min_ * (1LL << std::min(failures_, 20U)), max_);
        failures_++;
        std::uniform_real_distribution<double> part(0.5, 1.0);
        return std::chrono::milliseconds(
            static_cast<std::int64_t>(static_cast<double>(now.count()) * part(random_)));
    }
    void reset() noexcept { failures_ = 0; }
    [[nodiscard]] unsigned failures() const noexcept { return failures_; }

  private:
    const std::chrono::milliseconds min_;
    const std::chrono::milliseconds max_;
    unsigned failures_ = 0;
    std::minstd_rand random_{std::random_device{}()};
};

struct WorkerSettings {
    std::string queue;
    std::string name;
    std::chrono::milliseconds retry_min;
    std::chrono::milliseconds retry_max;
};

class WorkerCore : public std::enable_shared_from_this<WorkerCore> {
  public:
    /// Runs the handler of a job, on a thread of the handlers, and calls finish() in the end.
    using Start = std::function<void(WorkerCore&, std::shared_ptr<HeldJob>)>;

    WorkerCore(Api api, WorkerSettings settings, WorkerState state, Start start)
        : api_(std::move(api)),
          queue_(api_, settings.queue),
          settings_(std::move(settings)),
          start_(std::move(start)),
          state_(std::move(state)) {}

    // The threads' bodies.
    inline void receive() noexcept;
    inline void handle() noexcept;
    inline void settle() noexcept;
    inline void extend() noexcept;

    /// Has a function run by a handler thread.
    void post(std::function<void()> function) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(function));
        task_came_.notify_one();
    }

    /// A handler has ended.
    void finish(const std::shared_ptr<HeldJob>& job, JobResult result) {
        const std::lock_guard lock(mutex_);
        state_.finish(job, std::move(result), std::chrono::steady_clock::now());
        give_credit();
        changed_.notify_all();
    }

    /// Takes no more jobs.
    void stop() noexcept {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        if (stream_ != nullptr) {
            stream_->cancel();
        }
        changed_.notify_all();
        stopped_.ring();
    }

    /// Stops because of an error that no repeat mends.
    void fail(std::exception_ptr error) noexcept {
        {
            const std::lock_guard lock(mutex_);
            if (!error_) {
                error_ = std::move(error);
            }
        }
        stop();
    }
    void check() {
        const std::lock_guard lock(mutex_);
        if (error_) {
            std::rethrow_exception(error_);
        }
    }
    /// Readable when the worker has stopped.
    [[nodiscard]] const Bell& stopped() const noexcept { return stopped_; }
    [[nodiscard]] WorkerCounts counts() {
        const std::lock_guard lock(mutex_);
        return state_.counts();
    }

    /// Waits until the handlers have ended, gives back what did not, and waits until the results
    /// are settled. Returns how many jobs were given back.
    std::size_t drain(std::chrono::milliseconds within, std::chrono::milliseconds settle_within) {
        stop();
        std::unique_lock lock(mutex_);
        const auto until = std::chrono::steady_clock::now() + within;
        changed_.wait_until(lock, until, [&] {
            return !receiving_ && state_.running() == 0;
        });
        const std::size_t given = state_.give_back(std::chrono::steady_clock::now());
        changed_.notify_all();
        changed_.wait_until(lock, std::chrono::steady_clock::now() + settle_within,
                            [&] { return !state_.has_results() || error_ != nullptr; });
        ended_ = true;
        changed_.notify_all();
        task_came_.notify_all();
        return given;
    }

  private:
    using Clock = std::chrono::steady_clock;

    /// Asks for as many jobs as may begin. Under the lock.
    void give_credit() {
        if (stream_ != nullptr && !stopping_) {
            if (const std::uint32_t credit = state_.take_credit(); credit > 0) {
                stream_->request(credit);
            }
        }
    }

    /// Waits for a time; true where the condition came true before.
    template <class Condition>
    bool pause(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds time,
               Condition condition) {
        return changed_.wait_until(lock, Clock::now() + time, condition);
    }

    /// The answer, or Cancelled where the worker ends before it.
    template <class T>
    T answer_of(Reply<T>& reply) {
        while (!reply.wait_for(look_time)) {
            const std::lock_guard lock(mutex_);
            if (ended_) {
                reply.cancel();
                throw Cancelled("the worker has ended");
            }
        }
        return reply.get();
    }

    inline void read_stream(Stream<v1::ReservedJob> stream, BackOff& backoff);
    inline void took(v1::ReservedJob message);
    inline bool send(std::vector<Finished> batch);

    const Api api_;
    const Queue queue_;
    const WorkerSettings settings_;
    const Start start_;
    const Bell stopped_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::condition_variable task_came_;
    WorkerState state_;
    /// Starts and resumptions of handlers: at most one for each job that runs.
    std::deque<std::function<void()>> tasks_;
    Stream<v1::ReservedJob>* stream_ = nullptr;
    bool receiving_ = true;
    bool stopping_ = false;
    bool ended_ = false;
    std::exception_ptr error_;
};

inline void WorkerCore::receive() noexcept {
    BackOff backoff(settings_.retry_min, settings_.retry_max);
    v1::WorkRequest request;
    request.set_queue(settings_.queue);
    request.set_worker(settings_.name);
    std::unique_lock lock(mutex_);
    request.set_lease_ms(static_cast<std::uint64_t>(state_.lease().count()));
    while (!stopping_) {
        const std::uint32_t credit = state_.take_credit();
        if (credit == 0) {
            changed_.wait(lock);
            continue;
        }
        lock.unlock();
        bool is_waiting = false;
        try {
            CallOptions options;
            options.deadline(stream_time).credit(credit).credit_by_hand();
            read_stream(api_.open(queue_methods::work, request, options), backoff);
            is_waiting = true;
        } catch (const DeadlineExceeded&) {
            // The time of the stream is over.
        } catch (const Cancelled&) {
            is_waiting = true;
        } catch (const Rejected& rejected) {
            // The key may have been replaced just now: it is read again once.
            if (backoff.failures() > 0 || !is_refused_key(rejected)) {
                fail(std::current_exception());
            }
            is_waiting = true;
        } catch (const InvalidArgument&) {
            fail(std::current_exception());
        } catch (const Error& error) {
            log({LogLevel::info, "The stream of jobs broke; it is opened again", "queue/Work",
                 error.what()});
            is_waiting = true;
        } catch (...) {
            fail(std::current_exception());
        }
        lock.lock();
        state_.lose_credit();
        if (is_waiting && !stopping_) {
            pause(lock, backoff.next(), [this] { return stopping_; });
        }
    }
    receiving_ = false;
    changed_.notify_all();
}

inline void WorkerCore::read_stream(Stream<v1::ReservedJob> stream, BackOff& backoff) {
    struct Current {
        WorkerCore& core;
        ~Current() {
            const std::lock_guard lock(core.mutex_);
            core.stream_ = nullptr;
        }
    };
    {
        const std::lock_guard lock(mutex_);
        stream_ = &stream;
        if (stopping_) {
            stream.cancel();
        } else {
            give_credit();
        }
    }
    const Current current{*this};
    while (auto message = stream.read()) {
        backoff.reset();
        took(*std::move(message));
    }
}

inline void WorkerCore::took(v1::ReservedJob message) {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const auto job = state_.begin(std::move(message), now);
    if (stopping_) {
        state_.finish(job, {JobResult::Kind::release, Due::not_tried(), "the worker was drained"},
                      now);
        changed_.notify_all();
        return;
    }
    tasks_.push_back([this, job] { start_(*this, job); });
    task_came_.notify_one();
    // The extender may wait for longer than this lease.
    changed_.notify_all();
}

inline void WorkerCore::handle() noexcept {
    std::unique_lock lock(mutex_);
    while (true) {
        task_came_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
        if (ended_) {
            return;
        }
        const auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        lock.lock();
    }
}

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
            for (std::size_t nth = 0; nth < std::min(jobs.size(), WorkerState::results_max); nth++) {
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
