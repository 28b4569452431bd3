// Api: a Stadium server, or the nodes of a cluster, and the key by which the program may use it.
//
// Push, Wallet, Queue and Worker are made of one. They share its connections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <google/protobuf/empty.pb.h>

#include <stadium/api/key.hpp>
#include <stadium/api/reply.hpp>
#include <stadium/client.hpp>

namespace stadium {

/// Milliseconds since 1970-01-01T00:00:00Z, as Stadium's messages have them.
inline std::uint64_t milliseconds_of(std::chrono::system_clock::time_point time) noexcept {
    const auto since =
        std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
    return since.count() < 0 ? 0 : static_cast<std::uint64_t>(since.count());
}

/// The time of a message's field.
inline std::chrono::system_clock::time_point time_of(std::uint64_t milliseconds) noexcept {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds));
}

namespace detail {

/// A span for a field of a message, which has no negative ones.
inline std::uint64_t span_of(std::chrono::milliseconds span, const char* name) {
    if (span.count() < 0) {
        throw InvalidArgument(std::string(name) + " is not negative");
    }
    return static_cast<std::uint64_t>(span.count());
}

/// Throws the error of one item of a request.
[[noreturn]] inline void throw_refused(const std::string& code, const std::string& reason,
                                       std::uint64_t retry_after_ms, bool may_have_happened) {
    if (may_have_happened) {
        throw Unknown(code, reason);
    }
    if (retry_after_ms > 0) {
        throw Busy(reason + " (" + code + ')', std::chrono::milliseconds(retry_after_ms));
    }
    throw Rejected(code, reason);
}

/// The same for the messages NotDone and DeviceNotChanged.
template <class NotDone>
[[noreturn]] void throw_refused(const NotDone& refused) {
    throw_refused(refused.code(), refused.reason(), refused.retry_after_ms(),
                  refused.may_have_happened());
}

/// The only item of a list of outcomes.
template <class Items>
auto& only(Items& items) {
    if (items.size() != 1) {
        throw ProtocolError("the server answered with " + std::to_string(items.size()) +
                            " outcomes instead of one");
    }
    return *items.begin();
}

}  // namespace detail

/// A connection to Stadium. Cheap to copy; any thread may use it.
class Api {
  public:
    /// Connects to the services of a server: `ClientOptions::instances` has its address, such as
    /// 127.0.0.1:7800, or `discovery` finds it. `bearer` stays empty: the key takes its place.
    Api(const ClientOptions& options, ApiKey key,
        std::shared_ptr<Runtime> runtime = Runtime::shared())
        : client_(std::make_shared<const Client>(checked(options), std::move(runtime))),
          key_(std::move(key)) {}

    /// Calls a method with the key.
    template <class Request, class Answer>
    Future<Answer> call(const Method<Request, Answer>& method, const Request& request,
                        CallOptions options = {}) const {
        return client_->call(method, request, options.bearer(key_.read()));
    }

    /// Opens a stream with the key.
    template <class Request, class Answer>
    [[nodiscard]] Stream<Answer> open(const Method<Request, Answer, Interaction::stream>& method,
                                      const Request& request, CallOptions options = {}) const {
        return client_->open(method, request, options.bearer(key_.read()));
    }

    /// Calls a method, and converts its answer.
    template <class T, class Request, class Answer>
    Reply<T> reply(const Method<Request, Answer>& method, const Request& request,
                   std::type_identity_t<std::function<T(Answer)>> convert,
                   const CallOptions& options = {}) const {
        std::vector<Future<Answer>> calls;
        calls.push_back(call(method, request, options));
        return gathered<T, Answer>(std::move(calls),
                                   [convert = std::move(convert)](std::vector<Answer> answers) {
                                       return convert(std::move(answers.front()));
                                   });
    }
    /// Calls a method, and returns its answer as it came.
    template <class Request, class Answer>
    Reply<Answer> reply(const Method<Request, Answer>& method, const Request& request,
                        const CallOptions& options = {}) const {
        return reply<Answer>(
            method, request, [](Answer answer) { return answer; }, options);
    }
    /// Calls a method whose answer has nothing in it.
    template <class Request>
    Reply<void> done(const Method<Request, google::protobuf::Empty>& method, const Request& request,
                     const CallOptions& options = {}) const {
        return reply<void>(
            method, request, [](const google::protobuf::Empty&) {}, options);
    }

    /// One reply for several calls.
    template <class T, class Answer>
    static Reply<T> gathered(std::vector<Future<Answer>> calls,
                             std::function<T(std::vector<Answer>)> convert) {
        return Reply<T>(std::make_unique<detail::ConvertedCalls<T, Answer>>(std::move(calls),
                                                                            std::move(convert)));
    }

    /// The client, for calls of other services with this key or without.
    [[nodiscard]] const Client& client() const noexcept { return *client_; }
    [[nodiscard]] const ApiKey& key() const noexcept { return key_; }

  private:
    static const ClientOptions& checked(const ClientOptions& options) {
        if (options.bearer) {
            throw InvalidArgument("ClientOptions::bearer of an Api is empty: pass an ApiKey");
        }
        return options;
    }

    std::shared_ptr<const Client> client_;
    ApiKey key_;
};

}  // namespace stadium
