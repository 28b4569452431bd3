// The hook for this library's own log events.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace stadium {

enum class LogLevel { debug, info, warn, error };

/// One log event. The views are valid during the callback.
struct LogEvent {
    LogLevel level;
    /// What happened, in sentence case.
    std::string_view message;
    /// The route that it concerns; empty where it concerns none.
    std::string_view route;
    /// The text of the error; empty where there is none.
    std::string_view error;
};

using LogCallback = std::function<void(const LogEvent&)>;

namespace detail {

struct LogHook {
    std::mutex mutex;
    std::shared_ptr<const LogCallback> callback;
};

inline LogHook& log_hook() {
    static LogHook& hook = *new LogHook;
    return hook;
}

/// Logs to the hook; without one, warnings and errors go to stderr.
inline void log(const LogEvent& event) noexcept {
    std::shared_ptr<const LogCallback> callback;
    {
        LogHook& hook = log_hook();
        const std::lock_guard lock(hook.mutex);
        callback = hook.callback;
    }
    if (callback) {
        try {
            (*callback)(event);
        } catch (...) {
            std::fputs("stadium: the log callback threw\n", stderr);
        }
    } else if (event.level >= LogLevel::warn) {
        const auto part = [](std::string_view text) { return static_cast<int>(text.size()); };
        std::fprintf(stderr, "stadium: %.*s%s%.*s%s%.*s\n", part(event.message),
                     event.message.data(), event.route.empty() ? "" : " route=", part(event.route),
                     event.route.data(), event.error.empty() ? "" : " error=", part(event.error),
                     event.error.data());
    }
}

/// The text of the exception that is being handled.
inline std::string current_exception_text() {
    try {
        throw;
    } catch (const std::exception& exception) {
        return exception.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

/// An exception has left a function on a thread of this library, where nobody can catch it: the
/// process ends, as it does where one leaves a std::thread.
[[noreturn]] inline void escaped(std::string_view where) noexcept {
    const std::string text = current_exception_text();
    log({LogLevel::error, where, {}, text});
    std::terminate();
}

}  // namespace detail

/// Sets the callback for log events; an empty one restores the default. It may be called from any
/// thread.
inline void on_log(LogCallback callback) {
    detail::LogHook& hook = detail::log_hook();
    auto shared = callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr;
    const std::lock_guard lock(hook.mutex);
    hook.callback.swap(shared);
}

}  // namespace stadium
