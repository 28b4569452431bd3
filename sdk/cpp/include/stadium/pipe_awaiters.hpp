// co_await for the two sides of a pipe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include <stadium/codec.hpp>
#include <stadium/pipe.hpp>

namespace stadium {

/// The next message of a stream, when it is awaited; nothing at the end.
template <Message T>
class [[nodiscard]] NextAwaiter {
  public:
    NextAwaiter(std::shared_ptr<detail::Pipe> pipe, Executor executor) noexcept
        : pipe_(std::move(pipe)), executor_(std::move(executor)) {}
    NextAwaiter(const NextAwaiter&) = delete;
    NextAwaiter& operator=(const NextAwaiter&) = delete;
    ~NextAwaiter() {
        if (registered_) {
            pipe_->withdraw(waiter_);
        }
    }

    /// The coroutine resumes on the executor.
    NextAwaiter via(Executor executor) && {
        return NextAwaiter(std::move(pipe_), std::move(executor));
    }
    /// Replaces an executor that was not chosen.
    void default_executor(const Executor& executor) {
        if (!executor_) {
            executor_ = executor;
        }
    }

    [[nodiscard]] bool await_ready() const { return pipe_->is_readable(); }
    bool await_suspend(std::coroutine_handle<> coroutine) {
        pipe_->check_can_wait();
        waiter_.set(coroutine, executor_);
        // Once it is registered, another thread may resume the coroutine and end this object.
        registered_ = true;
        if (pipe_->wait_by_reader(waiter_)) {
            return true;
        }
        registered_ = false;
        return false;
    }
    std::optional<T> await_resume() {
        registered_ = false;
        const auto event = pipe_->take();
        return event ? std::optional<T>(pipe_->template decoded<T>(*event)) : std::nullopt;
    }

  private:
    std::shared_ptr<detail::Pipe> pipe_;
    Executor executor_;
    detail::CoroutineWaiter waiter_;
    bool registered_ = false;
};

/// Sends a message when it is awaited, as soon as the peer is not full.
template <Message T>
class [[nodiscard]] SendAwaiter final : private detail::Waiter {
  public:
    SendAwaiter(std::shared_ptr<detail::Pipe> pipe, const T& message, Executor executor)
        : pipe_(std::move(pipe)),
          encoded_(Codec<T>::encode(message)),
          executor_(std::move(executor)) {}
    SendAwaiter(const SendAwaiter&) = delete;
    SendAwaiter& operator=(const SendAwaiter&) = delete;
    ~SendAwaiter() {
        if (registered_) {
            pipe_->withdraw(*this);
        }
    }

    /// The coroutine resumes on the executor.
    SendAwaiter via(Executor executor) && {
        return SendAwaiter(std::move(*this), std::move(executor));
    }
    /// Replaces an executor that was not chosen.
    void default_executor(const Executor& executor) {
        if (!executor_) {
            executor_ = executor;
        }
    }

    [[nodiscard]] bool await_ready() {
        status_ = pipe_->send_now(detail::view_of(encoded_));
        return status_ != STADIUM_FULL;
    }
    bool await_suspend(std::coroutine_handle<> coroutine) {
        pipe_->check_can_wait();
        waiter_.set(coroutine, executor_);
        return suspended();
    }
    void await_resume() {
        registered_ = false;
        if (status_ != STADIUM_DONE) {
            pipe_->throw_sent(status_);
        }
    }

  private:
    SendAwaiter(SendAwaiter&& other, Executor executor)
        : pipe_(std::move(other.pipe_)),
          encoded_(std::move(other.encoded_)),
          executor_(std::move(executor)) {}

    /// Whether the sender waits. Where it does, another thread may have ended this object.
    bool suspended() noexcept {
        registered_ = true;
        status_ = STADIUM_FULL;
        const std::int32_t status = pipe_->send_or_wait(detail::view_of(encoded_), *this);
        if (status == STADIUM_FULL) {
            return true;
        }
        registered_ = false;
        status_ = status;
        return false;
    }

    void wake() noexcept override {
        // The pipe may be full again.
        if (!suspended()) {
            waiter_.wake();
        }
    }

    std::shared_ptr<detail::Pipe> pipe_;
    decltype(Codec<T>::encode(std::declval<const T&>())) encoded_;
    Executor executor_;
    detail::CoroutineWaiter waiter_;
    std::int32_t status_ = STADIUM_FULL;
    bool registered_ = false;
};

}  // namespace stadium
