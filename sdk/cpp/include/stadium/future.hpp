// Future: the answer of a unary call, which may be there already.
//
// It is taken once: by get(), or by co_await. Destroying a future whose call is under way cancels
// the call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <coroutine>
#include <memory>
#include <utility>

#include <stadium/call_state.hpp>
#include <stadium/codec.hpp>
#include <stadium/runtime.hpp>

namespace stadium {

template <class Answer>
class Future;

namespace detail {

/// A call that has begun, without the type of its answer.
class PendingCall {
  public:
    PendingCall(std::shared_ptr<RuntimeCore> core, CallStateShare state, CallHandle handle) noexcept
        : core_(std::move(core)), state_(std::move(state)), handle_(std::move(handle)) {}
    PendingCall(PendingCall&&) noexcept = default;
    PendingCall& operator=(PendingCall&& other) noexcept {
        if (this != &other) {
            cancel();
            core_ = std::move(other.core_);
            state_ = std::move(other.state_);
            handle_ = std::move(other.handle_);
        }
        return *this;
    }
    ~PendingCall() { cancel(); }

    [[nodiscard]] CallState& state() const {
        if (!state_) {
            throw InvalidArgument("the future is empty: it was moved from");
        }
        return *state_;
    }

    void cancel() noexcept {
        if (handle_ && state_ && !state_->is_done()) {
            stadium_call_cancel(handle_.get());
        }
    }

    bool wait(const Until& until) const {
        CallState& state = this->state();
        if (state.is_done()) {
            return true;
        }
        check_can_wait();
        if (core_->is_dispatcher()) {
            throw InvalidArgument(
                "a blocking wait on the dispatcher thread would never end; use co_await");
        }
        ThreadWaiter waiter;
        if (!state.wait_by(waiter) || waiter.wait(until)) {
            return true;
        }
        if (state.withdraw(waiter)) {
            return false;
        }
        return waiter.wait(std::nullopt);
    }

    /// A child of a fork never sees the end of its parent's call.
    void check_can_wait() const { core_->check_process(); }

    /// The event; throws an outcome that is not OK.
    [[nodiscard]] const OwnedEvent& answer() const {
        const OwnedEvent& event = state().event();
        if (event->outcome != STADIUM_OK) {
            throw_outcome(*event);
        }
        return event;
    }

  private:
    std::shared_ptr<RuntimeCore> core_;
    CallStateShare state_;
    CallHandle handle_;
};

}  // namespace detail

/// Awaits a future, and resumes on an executor.
template <class Answer>
class [[nodiscard]] FutureAwaiter {
  public:
    FutureAwaiter(Future<Answer>&& future, Executor executor) noexcept
        : future_(std::move(future)), executor_(std::move(executor)) {}
    FutureAwaiter(const FutureAwaiter&) = delete;
    FutureAwaiter& operator=(const FutureAwaiter&) = delete;
    ~FutureAwaiter() {
        if (registered_) {
            future_.call_.state().withdraw(waiter_);
        }
    }

    /// Replaces an executor that was not chosen.
    void default_executor(const Executor& executor) {
        if (!executor_) {
            executor_ = executor;
        }
    }

    [[nodiscard]] bool await_ready() const { return future_.is_ready(); }
    bool await_suspend(std::coroutine_handle<> coroutine) {
        future_.call_.check_can_wait();
        waiter_.set(coroutine, executor_);
        // Once it is registered, another thread may resume the coroutine and end this object.
        registered_ = true;
        if (future_.call_.state().wait_by(waiter_)) {
            return true;
        }
        registered_ = false;
        return false;
    }
    Answer await_resume() {
        registered_ = false;
        return std::move(future_).get();
    }

  private:
    Future<Answer> future_;
    Executor executor_;
    detail::CoroutineWaiter waiter_;
    bool registered_ = false;
};

/// The answer of a call.
template <class Answer>
class [[nodiscard]] Future {
  public:
    explicit Future(detail::PendingCall call) noexcept : call_(std::move(call)) {}

    /// Whether get() returns at once.
    [[nodiscard]] bool is_ready() const { return call_.state().is_done(); }

    /// Blocks until the call has ended. The call's deadline bounds this time.
    void wait() const { static_cast<void>(call_.wait(std::nullopt)); }

    /// Blocks until the call has ended, but no longer than a time. True where it has ended.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
        return call_.wait(detail::until_after(time));
    }

    /// Blocks until the call has ended, and returns its answer. Throws the outcome where it is not
    /// OK. An answer that borrows its bytes is valid as long as the future, so it is not taken from
    /// a temporary one.
    Answer get() & {
        wait();
        return detail::decoded<Answer>(call_.answer());
    }
    Answer get() && requires(!BorrowedMessage<Answer>) {
        wait();
        return detail::decoded<Answer>(call_.answer());
    }

    /// Gives the call up. It ends as Cancelled, unless it has ended.
    void cancel() noexcept { call_.cancel(); }

    /// For co_await: the coroutine resumes on the executor.
    FutureAwaiter<Answer> via(Executor executor) && requires(!BorrowedMessage<Answer>) {
        return FutureAwaiter<Answer>(std::move(*this), std::move(executor));
    }

    /// The coroutine resumes on the dispatcher thread; a Task resumes on its own executor.
    FutureAwaiter<Answer> operator co_await() && requires(!BorrowedMessage<Answer>) {
        return FutureAwaiter<Answer>(std::move(*this), Executor());
    }

  private:
    friend class FutureAwaiter<Answer>;

    detail::PendingCall call_;
};

}  // namespace stadium
