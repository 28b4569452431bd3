// Worker: a program that works on the jobs of a queue.
//
// It takes no more jobs than it can work on, extends their leases while its handler runs, settles
// results in batches, and survives a server that restarts. A job of a worker that dies is done by
// the next one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <stadium/api/reason.hpp>
#include <stadium/api/worker_core.hpp>
#include <stadium/api/worker_results.hpp>
#include <stadium/fork.hpp>
#include <stadium/signals.hpp>
#include <stadium/task.hpp>

namespace stadium {

/// Settings of a worker. `queue` is needed.
struct WorkerOptions {
    std::string queue = {};
    /// Jobs that are worked on at once. 1 to 1,000. More takes memory: a payload each.
    std::uint32_t concurrency = 8;
    /// Threads that run the handler. 0: one for each job at once; for handlers that are
    /// coroutines, one for each core.
    std::uint32_t threads = 0;
    /// The time after which the jobs of a worker that died are done by others. 1 s to 12 h. A
    /// shorter time costs more extensions: one each third of it.
    std::chrono::milliseconds lease = std::chrono::seconds(30);
    /// Results of one request to the server. 1 to 1,000.
    std::uint32_t settle_batch_max = 100;
    /// The time that a result waits for others. 0 to 1 s. More makes fewer requests.
    std::chrono::milliseconds settle_delay = std::chrono::milliseconds(5);
    /// Times between attempts to reach a server that is away.
    std::chrono::milliseconds retry_min = std::chrono::milliseconds(100);
    std::chrono::milliseconds retry_max = std::chrono::seconds(5);
    /// The name in the history of jobs, at most 64 bytes. Default HOST:PROCESS.
    std::string name = {};
};

/// What a drain did.
struct Drained {
    /// Over the life of the worker.
    WorkerCounts counts;
    /// Jobs that were given back because their handlers did not end in time.
    std::size_t given_back = 0;
};

namespace detail {

/// The result of a handler that threw the exception that is being handled.
inline JobResult failed_result() {
    try {
        throw;
    } catch (const Bury& bury) {
        return {JobResult::Kind::bury, Due::after_backoff(), reason_of(bury.what())};
    } catch (const Retry& retry) {
        return {JobResult::Kind::release,
                Due::after(std::max(retry.after(), std::chrono::milliseconds(0))),
                reason_of(retry.what())};
    } catch (...) {
        return {JobResult::Kind::release, Due::after_backoff(),
                reason_of(current_exception_text())};
    }
}

/// Awaits the handler's task, and finishes the job.
template <class Handler>
Task<> run_handler(Handler& handler, std::shared_ptr<WorkerCore> core,
                   std::shared_ptr<HeldJob> held) {
    const stadium::Job job(held);
    JobResult result;
    try {
        co_await handler(job);
    } catch (...) {
        result = failed_result();
    }
    core->finish(held, std::move(result));
}

template <class Handler>
inline constexpr bool is_coroutine = is_task<std::invoke_result_t<Handler&, const stadium::Job&>>;

/// How a core runs this handler.
template <class Handler>
WorkerCore::Start starter(Handler handler) {
    auto shared = std::make_shared<Handler>(std::move(handler));
    return [shared](WorkerCore& core, const std::shared_ptr<HeldJob>& held) {
        if constexpr (is_coroutine<Handler>) {
            const auto self = core.shared_from_this();
            spawn(run_handler(*shared, self, held),
                  [self](std::function<void()> resume) { self->post(std::move(resume)); });
        } else {
            JobResult result;
            try {
                (*shared)(stadium::Job(held));
            } catch (...) {
                result = failed_result();
            }
            core.finish(held, std::move(result));
        }
    };
}

}  // namespace detail

/// Works on jobs from its construction until it is drained.
///
/// The handler takes a `const Job&`. It is a plain function, or a coroutine that returns a
/// `Task<>`; several threads call it at once. Where it returns, the job is settled. Where it throws
/// `Bury` or `Retry`, the job is buried or tried again after that time; where it throws anything
/// else, it is tried again after the queue's back-off. A job may be handed out more than once, so
/// the handler has the effect of once for an id, or does no harm when it runs again.
class Worker {
  public:
    /// Starts. Throws InvalidArgument where an option is wrong.
    template <class Handler>
    Worker(const Api& api, const WorkerOptions& options, Handler handler)
        : core_(std::make_shared<detail::WorkerCore>(
              api, settings(options),
              detail::WorkerState(options.concurrency, options.settle_batch_max,
                                  options.settle_delay, options.lease),
              detail::starter(std::move(handler)))) {
        start(handler_threads(options, detail::is_coroutine<Handler>));
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    /// Drains, where that was not done.
    ~Worker() { end(std::chrono::seconds(30)); }

    /// Takes no new jobs, lets handlers end for no longer than `within`, gives back the jobs of
    /// those that did not, and settles all. Settling may take 5 s more. Handlers that have not
    /// ended then are left alone: what they refer to must live as long as the process.
    Drained drain(std::chrono::milliseconds within = std::chrono::seconds(30)) {
        end(within);
        return drained_;
    }

    /// Throws the error that stopped the worker: Rejected where the server refuses its key or its
    /// requests. A server that is away is no error.
    void check() const { core_->check(); }
    /// What has become of its jobs so far.
    [[nodiscard]] WorkerCounts counts() const { return core_->counts(); }

  private:
    friend Drained work_until_signal(Worker&, std::chrono::milliseconds);

    /// The time beyond its bound that a drain may take to settle.
    static constexpr std::chrono::seconds settle_time{5};

    static void check_between(std::int64_t value, std::int64_t min, std::int64_t max,
                              const char* what) {
        if (value < min || value > max) {
            throw InvalidArgument(std::string(what) + " is " + std::to_string(min) + " to " +
                                  std::to_string(max) + ", not " + std::to_string(value));
        }
    }

    static detail::WorkerSettings settings(const WorkerOptions& options) {
        if (options.queue.empty()) {
            throw InvalidArgument("a worker needs the name of a queue");
        }
        check_between(options.concurrency, 1, 1000, "the concurrency of a worker");
        check_between(options.threads, 0, 1000, "the number of a worker's threads");
        check_between(options.lease.count(), 1000, 12 * 3600 * 1000, "a worker's lease in ms");
        check_between(options.settle_batch_max, 1, 1000, "a worker's batch");
        check_between(options.settle_delay.count(), 0, 1000, "a worker's settle delay in ms");
        check_between(options.retry_min.count(), 1, 3600 * 1000, "a worker's retry_min in ms");
        check_between(options.retry_max.count(), options.retry_min.count(), 3600 * 1000,
                      "a worker's retry_max in ms");
        return {options.queue, options.name.empty() ? default_name() : options.name,
                options.retry_min, options.retry_max};
    }

    static std::string default_name() {
        char host[48] = {};
        if (gethostname(host, sizeof host - 1) != 0) {
            host[0] = '\0';
        }
        return std::string(host) + ':' + std::to_string(getpid());
    }

    static std::uint32_t handler_threads(const WorkerOptions& options, bool is_coroutine) {
        if (options.threads > 0) {
            return std::min(options.threads, options.concurrency);
        }
        if (is_coroutine) {
            return std::min(options.concurrency, std::max(std::thread::hardware_concurrency(), 1U));
        }
        return options.concurrency;
    }

    void start(std::uint32_t handlers) {
        const auto core = core_;
        try {
            services_.emplace_back([core] { core->receive(); });
            services_.emplace_back([core] { core->settle(); });
            services_.emplace_back([core] { core->extend(); });
            for (std::uint32_t nth = 0; nth < handlers; nth++) {
                handlers_.emplace_back([core] { core->handle(); });
            }
        } catch (const std::system_error& error) {
            end({});
            throw SystemError(std::string("a thread of a worker does not start: ") + error.what());
        }
    }

    void end(std::chrono::milliseconds within) {
        if (is_drained_ || process_.is_gone()) {
            leave_to_parent();
            return;
        }
        is_drained_ = true;
        drained_.given_back = core_->drain(within, settle_time);
        drained_.counts = core_->counts();
        for (std::thread& service : services_) {
            service.join();
        }
        for (std::thread& handler : handlers_) {
            if (drained_.given_back > 0) {
                handler.detach();
            } else {
                handler.join();
            }
        }
    }

    /// In a child of a fork the threads, and the locks that they may hold, are the parent's.
    void leave_to_parent() {
        if (process_.is_gone() && !is_drained_) {
            static_cast<void>(new std::vector<std::thread>(std::move(services_)));
            static_cast<void>(new std::vector<std::thread>(std::move(handlers_)));
            static_cast<void>(new std::shared_ptr<detail::WorkerCore>(std::move(core_)));
        }
    }

    std::shared_ptr<detail::WorkerCore> core_;
    std::vector<std::thread> services_;
    std::vector<std::thread> handlers_;
    const detail::Process process_;
    bool is_drained_ = false;
    Drained drained_;
};

/// Blocks until the process gets SIGTERM or SIGINT, and then drains the worker. A second signal
/// has its old effect. Throws the error that stopped the worker, where one did.
inline Drained work_until_signal(Worker& worker,
                                 std::chrono::milliseconds within = std::chrono::seconds(30)) {
    const detail::Bell& bell = detail::bell_for_signals();
    {
        bell.silence();
        const detail::SignalHandlers handlers(bell);
        while (!bell.wait_with(worker.core_->stopped())) {
            if (worker.core_->stopped().has_rung()) {
                break;
            }
        }
    }
    const Drained drained = worker.drain(within);
    worker.check();
    return drained;
}

}  // namespace stadium
