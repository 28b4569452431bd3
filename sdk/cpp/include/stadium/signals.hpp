// Serving until the process is asked to end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include <signal.h>

#include <stadium/fork.hpp>
#include <stadium/server.hpp>
#include <stadium/wake.hpp>

namespace stadium {

namespace detail {

/// The bell that the signal handler rings.
inline std::atomic<const Bell*> signal_bell{nullptr};

/// The bell for signals. It is never destroyed: a handler may still run on another thread after the
/// old handlers were restored. After a fork the child has one of its own.
inline const Bell& bell_for_signals() {
    struct Made {
        Bell bell;
        Process process;
    };
    static std::atomic<const Made*> current{nullptr};
    const Made* made = current.load();
    while (made == nullptr || made->process.is_gone()) {
        auto fresh = std::make_unique<const Made>();
        if (current.compare_exchange_strong(made, fresh.get())) {
            made = fresh.release();
        }
    }
    return made->bell;
}

inline void ring_signal_bell(int) noexcept {
    const int error = errno;
    if (const Bell* bell = signal_bell.load()) {
        bell->ring();
    }
    errno = error;
}

/// Handles SIGTERM and SIGINT by a bell, and restores the handlers that were there before.
class SignalHandlers {
  public:
    explicit SignalHandlers(const Bell& bell) {
        const Bell* none = nullptr;
        if (!signal_bell.compare_exchange_strong(none, &bell)) {
            throw InvalidArgument("the process waits for signals already");
        }
        struct sigaction action {};
        action.sa_handler = ring_signal_bell;
        action.sa_flags = SA_RESTART;
        sigaction(SIGTERM, &action, &term_);
        sigaction(SIGINT, &action, &int_);
    }
    SignalHandlers(const SignalHandlers&) = delete;
    SignalHandlers& operator=(const SignalHandlers&) = delete;
    ~SignalHandlers() {
        sigaction(SIGTERM, &term_, nullptr);
        sigaction(SIGINT, &int_, nullptr);
        signal_bell.store(nullptr);
    }

  private:
    struct sigaction term_ {};
    struct sigaction int_ {};
};

}  // namespace detail

/// Blocks until the process gets SIGTERM or SIGINT, and then shuts the server down. `before` runs
/// before that: it ends streams that never end by themselves. A second signal has its old effect.
/// Returns the number of connections that were cut.
inline std::uint64_t serve_until_signal(Server& server,
                                        std::chrono::milliseconds within = std::chrono::seconds(30),
                                        const std::function<void()>& before = {}) {
    const detail::Bell& bell = detail::bell_for_signals();
    {
        bell.silence();
        const detail::SignalHandlers handlers(bell);
        bell.wait();
    }
    if (before) {
        before();
    }
    return server.shutdown(within);
}

}  // namespace stadium
