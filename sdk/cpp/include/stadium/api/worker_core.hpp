// WorkerCore: the threads of a worker, and what they share.
//
//   receiver   keeps the Work stream open, with as much credit as jobs may begin
//   handlers   run the handler, and the coroutines that it started
//   settler    sends results in batches, again and again until the server has them
//   extender   extends the leases of the jobs that are held
//
// What the settler and the extender do is in worker_results.hpp.
//
// The threads own it together, so that one that does not return in time can be left behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <stadium/api/back_off.hpp>
#include <stadium/api/worker_state.hpp>
#include <stadium/log.hpp>
#include <stadium/wake.hpp>

namespace stadium::detail {

/// The time of one Work stream; then it is opened again. A server allows no more.
inline constexpr std::chrono::minutes stream_time{9};
/// The time that an answer is waited for before the end of the worker is looked at.
inline constexpr std::chrono::milliseconds look_time{50};
/// Whether the server refuses the key, and so everything.
inline bool is_refused_key(const Rejected& rejected) {
    return rejected.code() == "HTTP-001" || rejected.code() == "HTTP-002" ||
           rejected.code() == "HTTP-003" || rejected.code() == "NODE-009";
}

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
        changed_.wait_until(lock, until, [&] { return !receiving_ && state_.running() == 0; });
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

}  // namespace stadium::detail
