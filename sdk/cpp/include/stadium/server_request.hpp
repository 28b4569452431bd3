// A request to a server, and its messages where it is a stream or a channel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stadium/pipe.hpp>
#include <stadium/refusal.hpp>
#include <stadium/worker_pool.hpp>

namespace stadium::detail {

class ServerRequest;
using RequestShare = std::shared_ptr<ServerRequest>;

/// Runs a method's function for a request, and answers it.
using Serve = std::function<void(const RequestShare&)>;

/// What a server's threads and requests share.
class ServerCore : public std::enable_shared_from_this<ServerCore> {
  public:
    explicit ServerCore(std::vector<Serve> functions)
        : functions_(std::move(functions)),
          executor_([this](Job job) { pool_.post(std::move(job)); }),
          pool_([this](OwnedEvent event, std::vector<Job>& jobs) {
              route(std::move(event), jobs);
          }) {}

    [[nodiscard]] WorkerPool& pool() noexcept { return pool_; }
    /// Resumes coroutines on the pool.
    [[nodiscard]] const Executor& executor() const noexcept { return executor_; }

    void remove(std::uint64_t id) noexcept {
        {
            const std::lock_guard lock(mutex_);
            requests_.erase(id);
        }
        pool_.end_work();
    }

  private:
    inline void route(OwnedEvent event, std::vector<Job>& jobs);

    const std::vector<Serve> functions_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, RequestShare> requests_;
    const Executor executor_;
    WorkerPool pool_;
};

class ServerRequest final : public Pipe {
  public:
    ServerRequest(std::shared_ptr<ServerCore> core, OwnedEvent event)
        : Pipe(credit_default),
          core_(std::move(core)),
          event_(std::move(event)),
          request_(event_->request),
          deadline_(std::chrono::steady_clock::now() +
                    std::chrono::microseconds(std::max<std::int64_t>(
                        stadium_request_time_left_us(event_->request), 0))) {}

    [[nodiscard]] ServerCore& core() const noexcept { return *core_; }
    [[nodiscard]] const OwnedEvent& event() const noexcept { return event_; }
    [[nodiscard]] const stadium_request* abi() const noexcept { return request_.get(); }
    [[nodiscard]] std::string_view route() const noexcept {
        return text_of(from_abi(stadium_request_route(request_.get())));
    }
    [[nodiscard]] std::chrono::steady_clock::time_point deadline() const noexcept {
        return deadline_;
    }

    /// Whether nobody waits for the answer any more. Looks at the queue, because its threads may
    /// all be in functions.
    [[nodiscard]] bool is_cancelled() const {
        if (!cancelled_.load(std::memory_order_acquire)) {
            core_->pool().look();
        }
        return was_cancelled();
    }
    /// As the events that were taken have it.
    [[nodiscard]] bool was_cancelled() const noexcept {
        return cancelled_.load(std::memory_order_acquire);
    }

    /// Answers. That nobody waits any more is no error.
    void answer(Bytes message) {
        const std::int32_t status = stadium_request_answer(request_.get(), to_abi(message));
        ended(status);
    }
    void refuse(const Refusal& refusal) {
        std::int32_t status = stadium_request_refuse(request_.get(), refusal.abi());
        if (status == STADIUM_INVALID) {
            log({LogLevel::error, "A refusal is wrong", route(), stadium_last_error()});
            const Refusal unknown =
                Refusal::unknown("RPC-007", "the service failed on this request");
            status = stadium_request_refuse(request_.get(), unknown.abi());
        }
        ended(status);
    }

    /// Asks for the first messages of a channel.
    void begin_receiving() noexcept { want(credit()); }

    void receive(OwnedEvent event) {
        switch (event->kind) {
            case STADIUM_REQUEST_ITEM: item_came(std::move(event)); break;
            case STADIUM_REQUEST_END: end_came(std::move(event)); break;
            case STADIUM_WRITABLE: writable_came(); break;
            case STADIUM_REQUEST_CANCELLED: {
                cancelled_.store(true, std::memory_order_release);
                stadium_event end{};
                end.outcome = STADIUM_CANCELLED;
                end.payload = to_abi(stadium::bytes_of("nobody waits for the answer any more"));
                end_came(OwnedEvent(end));
                writable_came();
                break;
            }
            default: break;
        }
    }

    std::int32_t send_now(Bytes message) noexcept override {
        const std::int32_t status = stadium_request_send(request_.get(), to_abi(message));
        if (status == STADIUM_ENDED) {
            // Its event may be still on its way.
            cancelled_.store(true, std::memory_order_release);
        }
        return status;
    }
    void throw_sent(std::int32_t status) const override {
        switch (status) {
            case STADIUM_ENDED: throw Cancelled("nobody waits for the answer any more");
            default: throw_status(status);
        }
    }
    void throw_malformed() const override {
        throw Refusal::rejected("RPC-004", "a message does not decode as the method's type");
    }
    void check_can_wait() const override { core_->pool().process().check(); }
    /// A reader and a sender of a server wait until the request ends at its deadline: `until` is
    /// none.
    bool block(ThreadWaiter& waiter, const Until&) override {
        core_->pool().block(waiter);
        return true;
    }

  private:
    void want(std::uint32_t count) noexcept override {
        stadium_request_want(request_.get(), count);
    }

    void ended(std::int32_t status) {
        if (status != STADIUM_DONE && status != STADIUM_ENDED) {
            log({LogLevel::error, "A request cannot be answered", route(), stadium_last_error()});
        }
        core_->remove(event_->request_id);
    }

    const std::shared_ptr<ServerCore> core_;
    const OwnedEvent event_;
    const RequestHandle request_;
    const std::chrono::steady_clock::time_point deadline_;
    std::atomic<bool> cancelled_{false};
};

inline void ServerCore::route(OwnedEvent event, std::vector<Job>& jobs) {
    const std::uint64_t id = event->request_id;
    if (event->kind == STADIUM_REQUEST) {
        const Serve& serve = functions_[static_cast<std::size_t>(event->tag)];
        pool_.begin_work();
        const auto request = std::make_shared<ServerRequest>(shared_from_this(), std::move(event));
        {
            const std::lock_guard lock(mutex_);
            requests_.emplace(id, request);
        }
        jobs.emplace_back([request, &serve] { serve(request); });
        return;
    }
    RequestShare request;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = requests_.find(id); found != requests_.end()) {
            request = found->second;
        }
    }
    if (request) {
        request->receive(std::move(event));
    }
}

}  // namespace stadium::detail
