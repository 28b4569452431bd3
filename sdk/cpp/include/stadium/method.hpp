// Methods: a route, an interaction, and the types of the messages.
//
// Descriptors are constants of the program. Clients and servers use the same ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <stadium.h>

#include <stadium/codec.hpp>

namespace stadium {

/// How a method's messages go.
enum class Interaction {
    /// One request, one answer.
    unary = STADIUM_UNARY,
    /// One request, no answer.
    one_way = STADIUM_ONE_WAY,
    /// One request, a stream of answers.
    stream = STADIUM_STREAM,
    /// A stream of requests, a stream of answers.
    channel = STADIUM_CHANNEL,
};

/// A method. The route is a string literal, SERVICE/METHOD.
template <class Request, class Answer, Interaction Kind = Interaction::unary>
class Method {
  public:
    explicit constexpr Method(const char* route) noexcept : route_(route) {}

    /// The method may be called twice with the effect of once: its calls are tried again and
    /// hedged.
    [[nodiscard]] constexpr Method idempotent() const noexcept {
        Method method(route_);
        method.idempotent_ = true;
        return method;
    }

    [[nodiscard]] constexpr const char* route() const noexcept { return route_; }
    [[nodiscard]] constexpr bool is_idempotent() const noexcept { return idempotent_; }
    /// The first half of the route.
    [[nodiscard]] constexpr std::string_view service() const noexcept {
        const std::string_view route(route_);
        return route.substr(0, route.find('/'));
    }
    /// The method as the C ABI has it.
    [[nodiscard]] constexpr stadium_method_id id() const noexcept {
        return {route_, static_cast<std::int32_t>(Kind), idempotent_ ? 1 : 0};
    }

  private:
    const char* route_;
    bool idempotent_ = false;
};

/// A method with one request and one answer.
template <Message Request, Message Answer>
[[nodiscard]] constexpr auto unary(const char* route) noexcept {
    return Method<Request, Answer, Interaction::unary>(route);
}

/// A method with one request and no answer.
template <Message Request>
[[nodiscard]] constexpr auto one_way(const char* route) noexcept {
    return Method<Request, void, Interaction::one_way>(route);
}

/// A method with one request and a stream of answers.
template <Message Request, Message Answer>
[[nodiscard]] constexpr auto stream(const char* route) noexcept {
    return Method<Request, Answer, Interaction::stream>(route);
}

/// A method with a stream of requests and a stream of answers.
template <Message Request, Message Answer>
[[nodiscard]] constexpr auto channel(const char* route) noexcept {
    return Method<Request, Answer, Interaction::channel>(route);
}

}  // namespace stadium
