// Runtime: a completion queue, and the one dispatcher thread that takes its events.
//
// The dispatcher completes futures and streams. Coroutines without an executor of their own resume
// on it, so they must not block there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include <stadium/call_state.hpp>
#include <stadium/fork.hpp>
#include <stadium/wake.hpp>

namespace stadium {

namespace detail {

/// The receiver of a stream's events.
class StreamSink {
  public:
    StreamSink() noexcept = default;
    StreamSink(const StreamSink&) = delete;
    StreamSink& operator=(const StreamSink&) = delete;
    virtual void receive(OwnedEvent event) noexcept = 0;

  protected:
    ~StreamSink() = default;
};

/// Events that are taken at a time. More only delays the first of them.
inline constexpr std::size_t events_max = 256;

/// The part of a Runtime that its thread shares.
class RuntimeCore {
  public:
    RuntimeCore() : queue_(made<QueueHandle>(stadium_queue_new())) {}

    [[nodiscard]] const stadium_queue* queue() const noexcept { return queue_.get(); }
    void check_process() const { process_.check(); }
    [[nodiscard]] const Process& process() const noexcept { return process_; }

    /// A call begins, or did not begin after all.
    void begin_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }
    void end_call() noexcept { calls_.fetch_sub(1, std::memory_order_relaxed); }

    /// Adds a receiver of events; returns the tag of its stream. Tags of streams are odd.
    std::uint64_t add_stream(std::weak_ptr<StreamSink> sink) {
        const std::lock_guard lock(streams_mutex_);
        const std::uint64_t tag = next_stream_;
        next_stream_ += 2;
        streams_.emplace(tag, std::move(sink));
        return tag;
    }

    void remove_stream(std::uint64_t tag) noexcept {
        const std::lock_guard lock(streams_mutex_);
        streams_.erase(tag);
    }

    [[nodiscard]] bool is_dispatcher() const noexcept {
        return dispatcher_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    /// Takes events until it is stopped and no call is under way.
    void dispatch() noexcept {
        dispatcher_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        std::array<stadium_event, events_max> events;
        while (true) {
            const std::int64_t count =
                stadium_queue_take(queue_.get(), events.data(), events.size(), 0);
            if (count < 0) {
                log({LogLevel::error, "Taking events failed", {}, stadium_last_error()});
                std::terminate();
            }
            for (std::int64_t nth = 0; nth < count; nth++) {
                deliver(events[static_cast<std::size_t>(nth)]);
            }
            if (count == 0) {
                if (stopping_.load() && calls_.load() == 0) {
                    return;
                }
                if (bell_.wait_with(stadium_queue_descriptor(queue_.get()))) {
                    bell_.silence();
                }
            }
        }
    }

    void stop() noexcept {
        stopping_.store(true);
        bell_.ring();
    }

  private:
    void deliver(stadium_event& taken) noexcept {
        const std::uint64_t tag = taken.tag;
        OwnedEvent event(taken);
        if (event->kind == STADIUM_ANSWER) {
            end_call();
            CallState::of_tag(tag).complete(std::move(event));
            return;
        }
        std::shared_ptr<StreamSink> sink;
        {
            const std::lock_guard lock(streams_mutex_);
            if (const auto found = streams_.find(tag); found != streams_.end()) {
                sink = found->second.lock();
            }
        }
        if (sink) {
            sink->receive(std::move(event));
        }
    }

    const QueueHandle queue_;
    const Bell bell_;
    const Process process_;
    std::atomic<std::thread::id> dispatcher_{};
    std::atomic<bool> stopping_{false};
    /// Unary calls that have no answer yet.
    std::atomic<std::int64_t> calls_{0};
    std::mutex streams_mutex_;
    std::unordered_map<std::uint64_t, std::weak_ptr<StreamSink>> streams_;
    std::uint64_t next_stream_ = 1;
};

}  // namespace detail

/// A completion queue with a dispatcher thread, for any number of clients. Clients, and streams
/// that are open, keep it alive.
class Runtime {
  public:
    /// Starts the dispatcher.
    [[nodiscard]] static std::shared_ptr<Runtime> make() {
        return std::shared_ptr<Runtime>(new Runtime);
    }

    /// The runtime of this process. It is made when it is first asked for, and it is never
    /// destroyed. After a fork the child has one of its own.
    [[nodiscard]] static std::shared_ptr<Runtime> shared() {
        static std::atomic<std::shared_ptr<Runtime>*> current{nullptr};
        while (true) {
            std::shared_ptr<Runtime>* found = current.load(std::memory_order_acquire);
            if (found != nullptr && !(*found)->core_->process().is_gone()) {
                return *found;
            }
            // The parent's is left alone in a child.
            auto fresh = std::make_unique<std::shared_ptr<Runtime>>(make());
            if (current.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) {
                return *fresh.release();
            }
        }
    }

    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Ends the dispatcher when the calls under way have ended.
    ~Runtime() {
        if (core_->process().is_gone()) {
            // The thread is the parent's.
            static_cast<void>(thread_.release());
            return;
        }
        core_->stop();
        if (core_->is_dispatcher()) {
            thread_->detach();
        } else {
            thread_->join();
        }
    }

    /// For this library.
    [[nodiscard]] const std::shared_ptr<detail::RuntimeCore>& core() const noexcept {
        return core_;
    }

  private:
    Runtime() : core_(std::make_shared<detail::RuntimeCore>()) {
        try {
            thread_ = std::make_unique<std::thread>([core = core_] { core->dispatch(); });
        } catch (const std::system_error& error) {
            throw SystemError(std::string("the dispatcher thread does not start: ") + error.what());
        }
    }

    std::shared_ptr<detail::RuntimeCore> core_;
    std::unique_ptr<std::thread> thread_;
};

}  // namespace stadium
