// Runs a service's function for a request, and turns its result or its exception into the answer.
//
// A plain function runs on a worker to its end. A coroutine begins on a worker and resumes on the
// pool.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <stadium/context.hpp>
#include <stadium/method.hpp>
#include <stadium/task.hpp>
#include <stadium/trace.hpp>

namespace stadium::detail {

/// Calls a function with the context, where it takes one.
template <class F, class... Arguments>
decltype(auto) invoke_served(const F& function, const Context& context, Arguments&&... arguments) {
    if constexpr (std::is_invocable_v<const F&, const Context&, Arguments...>) {
        return function(context, std::forward<Arguments>(arguments)...);
    } else {
        static_assert(
            std::is_invocable_v<const F&, Arguments...>,
            "a function takes (Context, Request) or (Request), with Sender<Answer>& after it for a "
            "stream, "
            "and (Context, Receiver<Request>&, Sender<Answer>&) for a channel; it is const");
        return function(std::forward<Arguments>(arguments)...);
    }
}

/// The arguments of a function, by the interaction of its method. They live until the function, or
/// its coroutine, ends.
template <class Request>
struct UnaryArguments {
    Request request;
    template <class F>
    decltype(auto) call(const F& function, const Context& context) {
        return invoke_served(function, context, std::move(request));
    }
};
template <class Request, class Answer>
struct StreamArguments {
    Request request;
    Sender<Answer> sender;
    template <class F>
    decltype(auto) call(const F& function, const Context& context) {
        return invoke_served(function, context, std::move(request), sender);
    }
};
template <class Request, class Answer>
struct ChannelArguments {
    Receiver<Request> receiver;
    Sender<Answer> sender;
    template <class F>
    decltype(auto) call(const F& function, const Context& context) {
        return invoke_served(function, context, receiver, sender);
    }
};

template <class F, class Arguments>
using Served = decltype(std::declval<Arguments&>().call(std::declval<const F&>(),
                                                        std::declval<const Context&>()));

inline std::shared_ptr<void> begin_span(const ServerRequest& request) {
    const TraceHooks& hooks = trace_hooks();
    if (!hooks.extract) {
        return nullptr;
    }
    return hooks.extract(request.route(),
                         find_trace(from_abi(stadium_request_metadata(request.abi()))));
}

/// The end of a function: a value, nothing, or the refusal of its exception.
template <class Answer>
void finish(ServerRequest& request, const std::optional<Answer>& answer,
            const std::optional<Refusal>& refusal) {
    if (refusal) {
        request.refuse(*refusal);
    } else if constexpr (std::is_same_v<Answer, std::monostate>) {
        request.answer({});
    } else {
        std::optional<Refusal> failed;
        try {
            const auto& encoded = Codec<Answer>::encode(*answer);
            request.answer(view_of(encoded));
            return;
        } catch (...) {
            failed = refusal_of_current_exception(request.route());
        }
        request.refuse(*failed);
    }
}

/// Runs a plain function.
template <class Answer, class F, class Arguments>
void run_plain(const F& function, const RequestShare& request, Arguments arguments) {
    std::optional<Answer> answer;
    std::optional<Refusal> refusal;
    try {
        const auto span = begin_span(*request);
        const Context context(request);
        if constexpr (std::is_same_v<Answer, std::monostate>) {
            arguments.call(function, context);
        } else {
            answer.emplace(arguments.call(function, context));
        }
    } catch (...) {
        refusal = refusal_of_current_exception(request->route());
    }
    finish(*request, answer, refusal);
}

/// Runs a coroutine.
template <class Answer, class F, class Arguments>
Detached run_task(const F& function, RequestShare request, Arguments arguments) {
    std::optional<Answer> answer;
    std::optional<Refusal> refusal;
    try {
        const auto span = begin_span(*request);
        const Context context(request);
        auto task = arguments.call(function, context);
        task.default_executor(request->core().executor());
        if constexpr (std::is_same_v<Answer, std::monostate>) {
            co_await task;
        } else {
            answer.emplace(co_await task);
        }
    } catch (...) {
        refusal = refusal_of_current_exception(request->route());
    }
    finish(*request, answer, refusal);
}

template <class Answer, class F, class Arguments>
void run(const F& function, const RequestShare& request, Arguments arguments) {
    if constexpr (is_task<std::remove_cvref_t<Served<F, Arguments>>>) {
        run_task<Answer, F, Arguments>(function, request, std::move(arguments));
    } else {
        run_plain<Answer, F, Arguments>(function, request, std::move(arguments));
    }
}

/// The request of a method; refuses one that does not decode.
template <class Request>
std::optional<Request> request_message(ServerRequest& request) {
    std::optional<Refusal> refusal;
    try {
        if (auto message = Codec<Request>::decode(request.event().payload())) {
            return message;
        }
        refusal =
            Refusal::rejected("RPC-004", "the request does not decode as the method's message");
    } catch (...) {
        refusal = refusal_of_current_exception(request.route());
    }
    request.refuse(*refusal);
    return std::nullopt;
}

/// Runs a function for the requests of a method. The function is called by several threads at once.
template <class Request, class Answer, Interaction Kind, class F>
Serve serve(const Method<Request, Answer, Kind>&, F function) {
    // The function stays in one place: coroutines refer to it.
    auto shared = std::make_shared<const F>(std::move(function));
    return [shared](const RequestShare& request) {
        if (request->was_cancelled()) {
            request->refuse(Refusal::unknown("RPC-007", "nobody waits for the answer any more"));
        } else if constexpr (Kind == Interaction::channel) {
            request->begin_receiving();
            run<std::monostate>(*shared, request,
                                ChannelArguments<Request, Answer>{Receiver<Request>(request),
                                                                  Sender<Answer>(request)});
        } else if (auto message = request_message<Request>(*request)) {
            if constexpr (Kind == Interaction::unary) {
                run<Answer>(*shared, request, UnaryArguments<Request>{*std::move(message)});
            } else if constexpr (Kind == Interaction::one_way) {
                run<std::monostate>(*shared, request, UnaryArguments<Request>{*std::move(message)});
            } else {
                run<std::monostate>(
                    *shared, request,
                    StreamArguments<Request, Answer>{*std::move(message), Sender<Answer>(request)});
            }
        }
    };
}

}  // namespace stadium::detail
