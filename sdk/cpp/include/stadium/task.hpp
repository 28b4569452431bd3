// Task: a coroutine that runs when it is awaited.
//
// It carries an executor: what it awaits resumes it there, and so do the tasks that it awaits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <stadium/future.hpp>
#include <stadium/waiter.hpp>

namespace stadium {

template <class T>
class Task;

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<Task<T>> = true;

/// Awaits an awaiter where it is. It lives until the end of the co_await expression; g++ 12 would
/// copy a reference.
template <class Awaiter>
struct AwaiterInPlace {
    Awaiter& awaiter;

    bool await_ready() { return awaiter.await_ready(); }
    template <class Promise>
    decltype(auto) await_suspend(std::coroutine_handle<Promise> coroutine) {
        return awaiter.await_suspend(coroutine);
    }
    decltype(auto) await_resume() { return awaiter.await_resume(); }
};

/// What the promises of all tasks have.
class TaskPromise {
  public:
    std::suspend_always initial_suspend() const noexcept { return {}; }

    struct FinalAwaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<Promise> coroutine) const noexcept {
            return coroutine.promise().continuation;
        }
        void await_resume() const noexcept {}
    };
    FinalAwaiter final_suspend() const noexcept { return {}; }

    template <class Answer>
    FutureAwaiter<Answer> await_transform(Future<Answer>&& future) {
        return std::move(future).via(executor);
    }
    template <class Awaiter>
        requires requires(Awaiter& awaiter) {
            awaiter.await_ready();
        }
    AwaiterInPlace<std::remove_reference_t<Awaiter>> await_transform(Awaiter&& awaiter) {
        if constexpr (requires { awaiter.default_executor(executor); }) {
            awaiter.default_executor(executor);
        }
        return AwaiterInPlace<std::remove_reference_t<Awaiter>>{awaiter};
    }
    template <class Awaitable>
    Awaitable&& await_transform(Awaitable&& awaitable) {
        return std::forward<Awaitable>(awaitable);
    }

    void unhandled_exception() noexcept { exception = std::current_exception(); }

    std::coroutine_handle<> continuation = std::noop_coroutine();
    Executor executor;
    std::exception_ptr exception;
};

template <class T>
class ValuePromise : public TaskPromise {
  public:
    Task<T> get_return_object() noexcept;
    template <class U>
    void return_value(U&& value) {
        value_.emplace(std::forward<U>(value));
    }
    T result() {
        if (exception) {
            std::rethrow_exception(exception);
        }
        return *std::move(value_);
    }

  private:
    std::optional<T> value_;
};

template <>
class ValuePromise<void> : public TaskPromise {
  public:
    Task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void result() const {
        if (exception) {
            std::rethrow_exception(exception);
        }
    }
};

}  // namespace detail

/// A coroutine with a result. Destroying a task that is suspended ends it where it is.
template <class T = void>
class [[nodiscard]] Task {
  public:
    using promise_type = detail::ValuePromise<T>;

    explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}
    Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            destroy();
            coroutine_ = std::exchange(other.coroutine_, nullptr);
        }
        return *this;
    }
    ~Task() { destroy(); }

    /// Chooses the executor, before the task runs. A task that a task awaits has its executor.
    void default_executor(const Executor& executor) {
        if (!coroutine_.promise().executor) {
            coroutine_.promise().executor = executor;
        }
    }

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) noexcept {
        coroutine_.promise().continuation = continuation;
        return coroutine_;
    }
    T await_resume() { return coroutine_.promise().result(); }

  private:
    void destroy() noexcept {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }

    std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
Task<T> ValuePromise<T>::get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<ValuePromise>::from_promise(*this));
}
inline Task<void> ValuePromise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<ValuePromise>::from_promise(*this));
}

/// A coroutine that nobody owns. It catches what it awaits: an exception that leaves it ends the
/// process.
struct Detached {
    struct promise_type {
        Detached get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        [[noreturn]] void unhandled_exception() const noexcept {
            escaped("An exception left a detached coroutine");
        }
    };
};

template <class T>
Detached run_and_wake(Task<T>& task,
                      std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>& value,
                      std::exception_ptr& exception, ThreadWaiter& waiter) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await task;
            value = true;
        } else {
            value.emplace(co_await task);
        }
    } catch (...) {
        exception = std::current_exception();
    }
    waiter.wake();
}

inline Detached run_detached(Task<void> task) {
    co_await task;
}

}  // namespace detail

/// Runs a task, and blocks until it has ended. Returns its result, or throws its exception.
template <class T>
T sync_wait(Task<T> task, const Executor& executor = {}) {
    task.default_executor(executor);
    std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};
    std::exception_ptr exception;
    detail::ThreadWaiter waiter;
    detail::run_and_wake(task, value, exception, waiter);
    waiter.wait(std::nullopt);
    if (exception) {
        std::rethrow_exception(exception);
    }
    if constexpr (!std::is_void_v<T>) {
        return *std::move(value);
    }
}

/// Starts a task on this thread, and goes on when it is suspended first. An exception that leaves
/// the task ends the process, as one that leaves a std::thread does.
inline void spawn(Task<void> task, const Executor& executor = {}) {
    task.default_executor(executor);
    detail::run_detached(std::move(task));
}

}  // namespace stadium
