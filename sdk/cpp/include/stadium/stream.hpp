// Streams and channels of a client.
//
// Messages are taken from the service as they are read, so that a slow reader slows its service
// down. Destroying a stream that has not ended gives it up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <stadium/method.hpp>
#include <stadium/pipe_awaiters.hpp>
#include <stadium/runtime.hpp>

namespace stadium {

namespace detail {

/// A stream of the C ABI, and its events.
class ClientPipe final : public Pipe,
                         public StreamSink,
                         public std::enable_shared_from_this<ClientPipe> {
  public:
    ClientPipe(std::shared_ptr<Runtime> runtime, std::uint32_t credit, CreditBy credit_by)
        : Pipe(credit, credit_by), runtime_(std::move(runtime)), core_(*runtime_->core()) {}
    ~ClientPipe() {
        if (tag_ != 0) {
            core_.remove_stream(tag_);
        }
    }

    /// Opens it. Events may come before this returns.
    template <class Open>
    void open(Open open) {
        tag_ = core_.add_stream(weak_from_this());
        stream_ = made<StreamHandle>(open(tag_));
    }

    std::int32_t send_now(Bytes message) noexcept override {
        return stadium_stream_send(stream_.get(), to_abi(message));
    }
    void throw_sent(std::int32_t status) const override {
        switch (status) {
            case STADIUM_ENDED:
                throw Ended("the channel has ended: the service takes no more messages");
            default: throw_status(status);
        }
    }
    void throw_malformed() const override {
        throw ProtocolError("a message does not decode as the method's type");
    }
    void check_can_wait() const override { core_.check_process(); }
    bool block(ThreadWaiter& waiter, const Until& until) override {
        if (core_.is_dispatcher()) {
            throw InvalidArgument(
                "a blocking wait on the dispatcher thread would never end; use co_await");
        }
        return waiter.wait(until);
    }

    void complete() { checked(stadium_stream_complete(stream_.get())); }
    void cancel() noexcept { stadium_stream_cancel(stream_.get()); }
    void request(std::uint32_t count) noexcept { want(count); }

    void receive(OwnedEvent event) noexcept override {
        switch (event->kind) {
            case STADIUM_ITEM: item_came(std::move(event)); break;
            case STADIUM_END:
                end_came(std::move(event));
                writable_came();
                break;
            case STADIUM_WRITABLE: writable_came(); break;
            default: break;
        }
    }

  private:
    void want(std::uint32_t count) noexcept override { stadium_stream_want(stream_.get(), count); }

    const std::shared_ptr<Runtime> runtime_;
    RuntimeCore& core_;
    std::uint64_t tag_ = 0;
    StreamHandle stream_;
};

}  // namespace detail

/// A stream of answers.
template <Message Answer>
class Stream {
  public:
    explicit Stream(std::shared_ptr<detail::ClientPipe> pipe) noexcept : pipe_(std::move(pipe)) {}
    Stream(Stream&&) noexcept = default;
    Stream& operator=(Stream&& other) noexcept {
        if (this != &other) {
            give_up();
            pipe_ = std::move(other.pipe_);
            last_ = std::move(other.last_);
        }
        return *this;
    }
    ~Stream() { give_up(); }

    /// Blocks until there is a message, and returns it; nothing at the end. Throws the outcome
    /// where it is not OK. An answer that borrows its bytes is valid until the next read.
    [[nodiscard]] std::optional<Answer> read() {
        pipe().wait_readable(std::nullopt);
        return take();
    }

    /// Whether a read returns at once, after waiting for that no longer than a time.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> time) {
        return pipe().wait_readable(detail::until_after(time));
    }

    /// The next message, for co_await; nothing at the end.
    NextAwaiter<Answer> next() requires(!BorrowedMessage<Answer>) {
        static_cast<void>(pipe());
        return NextAwaiter<Answer>(pipe_, Executor());
    }

    /// Takes so many more messages, of a stream with CallOptions::credit_by_hand. Any thread may
    /// call it.
    void request(std::uint32_t count) const { pipe().request(count); }

    /// Gives the stream up. It ends as Cancelled, unless it has ended. Any thread may call it.
    void cancel() noexcept {
        if (pipe_) {
            pipe_->cancel();
        }
    }

    /// Reads the stream in a range-for loop, which blocks.
    class Iterator {
      public:
        using value_type = Answer;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        explicit Iterator(Stream& stream) : stream_(&stream), current_(stream.read()) {}
        [[nodiscard]] const Answer& operator*() const noexcept { return *current_; }
        [[nodiscard]] const Answer* operator->() const noexcept { return &*current_; }
        Iterator& operator++() {
            current_ = stream_->read();
            return *this;
        }
        void operator++(int) { ++*this; }
        [[nodiscard]] bool operator==(std::default_sentinel_t) const noexcept { return !current_; }

      private:
        Stream* stream_;
        std::optional<Answer> current_;
    };

    [[nodiscard]] Iterator begin() { return Iterator(*this); }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  protected:
    [[nodiscard]] detail::ClientPipe& pipe() const {
        if (!pipe_) {
            throw InvalidArgument("the stream is empty: it was moved from");
        }
        return *pipe_;
    }
    [[nodiscard]] const std::shared_ptr<detail::ClientPipe>& shared_pipe() const {
        static_cast<void>(pipe());
        return pipe_;
    }

  private:
    std::optional<Answer> take() {
        last_ = pipe().take();
        if (!last_) {
            return std::nullopt;
        }
        auto message = pipe().template decoded<Answer>(*last_);
        if constexpr (!BorrowedMessage<Answer>) {
            last_.reset();
        }
        return message;
    }

    void give_up() noexcept { cancel(); }

    std::shared_ptr<detail::ClientPipe> pipe_;
    /// The event of the last message, where the message borrows its bytes.
    std::optional<detail::OwnedEvent> last_;
};

/// A stream of requests and a stream of answers.
template <Message Request, Message Answer>
class Channel : public Stream<Answer> {
  public:
    using Stream<Answer>::Stream;

    /// Sends a message; blocks while the service is full. Throws Ended where the service takes no
    /// more: the outcome is at the end of the answers.
    void send(const Request& message) {
        const auto& encoded = Codec<Request>::encode(message);
        this->pipe().send(detail::view_of(encoded));
    }

    /// Sends a message when it is awaited. The message lives until then.
    SendAwaiter<Request> async_send(const Request& message) {
        return SendAwaiter<Request>(this->shared_pipe(), message, Executor());
    }

    /// Sends a message unless the service is full. Whether it was sent.
    [[nodiscard]] bool try_send(const Request& message) {
        const auto& encoded = Codec<Request>::encode(message);
        const std::int32_t status = this->pipe().send_now(detail::view_of(encoded));
        if (status != STADIUM_DONE && status != STADIUM_FULL) {
            this->pipe().throw_sent(status);
        }
        return status == STADIUM_DONE;
    }

    /// Ends the requests. The answers go on.
    void complete() { this->pipe().complete(); }
};

}  // namespace stadium
