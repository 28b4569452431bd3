// Pipe: the messages of a stream or a channel, at a client or at a server.
//
// The receiving side gives credit back as messages are read. The sending side waits while the peer
// is full. At most one coroutine or thread reads at a time; any number may send.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <stadium/handle.hpp>
#include <stadium/waiter.hpp>

namespace stadium::detail {

/// Messages that a reader has in memory where nothing else is chosen.
inline constexpr std::uint32_t credit_default = 64;

/// Who gives credit back as messages are read.
enum class CreditBy { reading, hand };

/// Events in order. It takes no memory before the first one.
class Inbox {
  public:
    [[nodiscard]] bool empty() const noexcept { return events_.empty(); }
    void push(OwnedEvent event) { events_.push_back(std::move(event)); }
    OwnedEvent pop() {
        OwnedEvent event = std::move(events_[first_++]);
        if (first_ == events_.size()) {
            events_.clear();
            first_ = 0;
        } else if (first_ >= 32 && first_ * 2 >= events_.size()) {
            events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        return event;
    }

  private:
    std::vector<OwnedEvent> events_;
    /// The first that was not taken.
    std::size_t first_ = 0;
};

class Pipe {
  public:
    explicit Pipe(std::uint32_t credit, CreditBy credit_by = CreditBy::reading) noexcept
        : credit_(credit == 0 ? credit_default : credit), credit_by_(credit_by) {}
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    /// Sends without waiting. Returns a stadium_status.
    virtual std::int32_t send_now(Bytes message) noexcept = 0;
    /// Throws for a status of send_now that is neither DONE nor FULL.
    [[noreturn]] virtual void throw_sent(std::int32_t status) const = 0;
    /// Throws for a message that does not decode.
    [[noreturn]] virtual void throw_malformed() const = 0;
    /// Refuses to wait in a process that was forked since.
    virtual void check_can_wait() const = 0;
    /// Blocks until the waiter was woken, or the time is over. True where it was woken.
    virtual bool block(ThreadWaiter& waiter, const Until& until) = 0;

    /// Whether a read returns at once.
    [[nodiscard]] bool is_readable() {
        const std::lock_guard lock(mutex_);
        return !inbox_.empty() || finished_;
    }

    /// Registers a reader; false where a read returns at once.
    bool wait_by_reader(Waiter& waiter) {
        const std::lock_guard lock(mutex_);
        if (!inbox_.empty() || finished_) {
            return false;
        }
        readers_.add(waiter);
        return true;
    }

    void withdraw(Waiter& waiter) noexcept {
        const std::lock_guard lock(mutex_);
        if (!readers_.remove(waiter)) {
            senders_.remove(waiter);
        }
    }

    /// Blocks until a read returns at once, or the time is over.
    bool wait_readable(const Until& until) {
        while (true) {
            ThreadWaiter waiter;
            if (!wait_by_reader(waiter)) {
                return true;
            }
            if (!block_registered(waiter, readers_, until)) {
                return false;
            }
        }
    }

    /// The next message; nothing at the end. Throws the outcome where it is not OK. The pipe is
    /// readable.
    std::optional<OwnedEvent> take() {
        std::uint32_t wanted = 0;
        std::optional<OwnedEvent> event;
        {
            const std::lock_guard lock(mutex_);
            if (inbox_.empty()) {
                if (!finished_) {
                    throw InvalidArgument(
                        "two readers of one stream: the other one took the message");
                }
                if (end_->outcome != STADIUM_OK) {
                    throw_outcome(*end_);
                }
                return std::nullopt;
            }
            event = inbox_.pop();
            // Half at a time: the peer sends on while this half is read.
            if (credit_by_ == CreditBy::reading && ++read_ >= std::max(credit_ / 2, 1U)) {
                wanted = std::exchange(read_, 0);
            }
        }
        if (wanted > 0) {
            want(wanted);
        }
        return event;
    }

    /// The message of an event.
    template <class T>
    T decoded(const OwnedEvent& event) const {
        auto message = Codec<T>::decode(event.payload());
        if (!message) {
            throw_malformed();
        }
        return *std::move(message);
    }

    /// Sends; blocks while the peer is full.
    void send(Bytes message) {
        while (true) {
            const std::uint64_t before = writables();
            const std::int32_t status = send_now(message);
            if (status == STADIUM_DONE) {
                return;
            }
            if (status != STADIUM_FULL) {
                throw_sent(status);
            }
            ThreadWaiter waiter;
            if (wait_by_sender(waiter, before)) {
                block_registered(waiter, senders_, std::nullopt);
            }
        }
    }

    /// Sends, or registers the waiter where the peer is full. Returns the status.
    std::int32_t send_or_wait(Bytes message, Waiter& waiter) noexcept {
        while (true) {
            const std::uint64_t before = writables();
            const std::int32_t status = send_now(message);
            if (status != STADIUM_FULL || wait_by_sender(waiter, before)) {
                return status;
            }
        }
    }

    void item_came(OwnedEvent event) {
        Waiter* waiters = nullptr;
        {
            const std::lock_guard lock(mutex_);
            inbox_.push(std::move(event));
            waiters = readers_.take_all();
        }
        wake_all(waiters);
    }

    /// The peer sends no more.
    void end_came(OwnedEvent event) noexcept {
        Waiter* waiters = nullptr;
        {
            const std::lock_guard lock(mutex_);
            if (!finished_) {
                finished_ = true;
                end_ = std::move(event);
            }
            waiters = readers_.take_all();
        }
        wake_all(waiters);
    }

    /// The peer takes messages again, or never: whoever waits tries again.
    void writable_came() noexcept {
        Waiter* waiters = nullptr;
        {
            const std::lock_guard lock(mutex_);
            writables_++;
            waiters = senders_.take_all();
        }
        wake_all(waiters);
    }

  protected:
    ~Pipe() = default;

    /// Takes more messages of the peer.
    virtual void want(std::uint32_t count) noexcept = 0;
    [[nodiscard]] std::uint32_t credit() const noexcept { return credit_; }

  private:
    [[nodiscard]] std::uint64_t writables() noexcept {
        const std::lock_guard lock(mutex_);
        return writables_;
    }

    /// Registers a sender; false where the peer became writable since.
    bool wait_by_sender(Waiter& waiter, std::uint64_t before) noexcept {
        const std::lock_guard lock(mutex_);
        if (writables_ != before) {
            return false;
        }
        senders_.add(waiter);
        return true;
    }

    /// Blocks a thread that is in the list. It is not in the list afterwards.
    bool block_registered(ThreadWaiter& waiter, WaiterList& list, const Until& until) {
        const auto withdrawn = [&] {
            const std::lock_guard lock(mutex_);
            return list.remove(waiter);
        };
        try {
            check_can_wait();
            if (block(waiter, until)) {
                return true;
            }
        } catch (...) {
            if (!withdrawn()) {
                waiter.wait(std::nullopt);
            }
            throw;
        }
        if (withdrawn()) {
            return false;
        }
        return waiter.wait(std::nullopt);
    }

    const std::uint32_t credit_;
    const CreditBy credit_by_;
    std::mutex mutex_;
    Inbox inbox_;
    /// Nothing follows what is in the inbox; `end_` has the outcome.
    bool finished_ = false;
    OwnedEvent end_;
    /// Messages that were read and not wanted again yet.
    std::uint32_t read_ = 0;
    /// Counts the times at which the peer became writable.
    std::uint64_t writables_ = 0;
    WaiterList readers_;
    WaiterList senders_;
};

}  // namespace stadium::detail
