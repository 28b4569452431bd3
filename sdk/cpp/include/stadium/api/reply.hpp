// Reply: the answer of a Stadium server, which may be there already.
//
// It is a Future whose answer is converted: an item that the server refused is thrown as the error
// of its code. A request that was split has one reply for all of its parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <stadium/future.hpp>
#include <stadium/task.hpp>

namespace stadium {

namespace detail {

/// The calls of a reply, without the type of their answers.
template <class T>
class PendingReply {
  public:
    PendingReply() noexcept = default;
    PendingReply(const PendingReply&) = delete;
    PendingReply& operator=(const PendingReply&) = delete;
    virtual ~PendingReply() = default;

    virtual bool wait(const Until& until) = 0;
    virtual T get() = 0;
    virtual Task<T> task() = 0;
    virtual void cancel() noexcept = 0;
};

template <class T, class Answer>
class ConvertedCalls final : public PendingReply<T> {
  public:
    using Convert = std::function<T(std::vector<Answer>)>;

    ConvertedCalls(std::vector<Future<Answer>> calls, Convert convert)
        : calls_(std::move(calls)), convert_(std::move(convert)) {}

    bool wait(const Until& until) override {
        for (const Future<Answer>& call : calls_) {
            if (!until) {
                call.wait();
            } else if (!call.wait_for(*until - std::chrono::steady_clock::now())) {
                return false;
            }
        }
        return true;
    }

    T get() override {
        std::vector<Answer> answers;
        answers.reserve(calls_.size());
        for (Future<Answer>& call : calls_) {
            answers.push_back(std::move(call).get());
        }
        return convert_(std::move(answers));
    }

    Task<T> task() override {
        std::vector<Answer> answers;
        answers.reserve(calls_.size());
        for (Future<Answer>& call : calls_) {
            answers.push_back(co_await std::move(call));
        }
        co_return convert_(std::move(answers));
    }

    void cancel() noexcept override {
        for (Future<Answer>& call : calls_) {
            call.cancel();
        }
    }

  private:
    std::vector<Future<Answer>> calls_;
    const Convert convert_;
};

}  // namespace detail

/// The answer of a request, converted to a T. It is taken once: by get(), or by co_await.
/// Destroying a reply whose calls are under way cancels them.
template <class T>
class [[nodiscard]] Reply {
  public:
    explicit Reply(std::unique_ptr<detail::PendingReply<T>> pending) noexcept
        : pending_(std::move(pending)) {}

    /// Blocks until the answer is there. The call's deadline bounds this time.
    void wait() const { static_cast<void>(pending().wait(std::nullopt)); }
    /// Blocks until then, but no longer than a time. True where the answer is there.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) const {
        return pending().wait(detail::until_after(time));
    }
    [[nodiscard]] bool is_ready() const { return wait_for(std::chrono::seconds(0)); }

    /// Blocks until the answer is there, and returns it. Throws the outcome where it is not OK. Of
    /// a request that was split, the first part's that is not OK; the parts after it may have
    /// happened.
    T get() { return pending().get(); }

    /// Gives the request up.
    void cancel() noexcept {
        if (pending_) {
            pending_->cancel();
        }
    }

    // For co_await. The coroutine resumes as it does behind a Future.
    void default_executor(const Executor& executor) { executor_ = executor; }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> coroutine) {
        task_.emplace(pending().task());
        task_->default_executor(executor_);
        return task_->await_suspend(coroutine);
    }
    T await_resume() { return task_->await_resume(); }

  private:
    [[nodiscard]] detail::PendingReply<T>& pending() const {
        if (!pending_) {
            throw InvalidArgument("the reply is empty: it was moved from");
        }
        return *pending_;
    }

    std::unique_ptr<detail::PendingReply<T>> pending_;
    Executor executor_;
    /// Reads the pending calls, so it ends before them.
    std::optional<Task<T>> task_;
};

}  // namespace stadium
