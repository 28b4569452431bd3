// Waiting for a completion queue in a way that another thread can end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <stadium/error.hpp>

namespace stadium::detail {

/// A descriptor that other threads make readable: an eventfd(2).
class Bell {
  public:
    Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (descriptor_ < 0) {
            throw SystemError(std::string("no descriptor for waking a thread: ") +
                              std::strerror(errno));
        }
    }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    ~Bell() { close(descriptor_); }

    /// Safe in a signal handler. It fails only where the descriptor is readable already.
    void ring() const noexcept {
        const std::uint64_t one = 1;
        static_cast<void>(!write(descriptor_, &one, sizeof one));
    }

    /// Makes it unreadable.
    void silence() const noexcept {
        std::uint64_t count = 0;
        static_cast<void>(!read(descriptor_, &count, sizeof count));
    }

    /// Blocks until it, or the other descriptor, is readable. True where it rang.
    bool wait_with(int other) const noexcept {
        pollfd waiting[] = {{descriptor_, POLLIN, 0}, {other, POLLIN, 0}};
        return poll(waiting, 2, -1) > 0 && (waiting[0].revents & POLLIN) != 0;
    }

    /// The same of another bell.
    bool wait_with(const Bell& other) const noexcept { return wait_with(other.descriptor_); }
    /// Whether it is readable.
    [[nodiscard]] bool has_rung() const noexcept {
        pollfd ringing{descriptor_, POLLIN, 0};
        return poll(&ringing, 1, 0) > 0;
    }

    /// Blocks until it is readable.
    void wait() const noexcept {
        pollfd waiting{descriptor_, POLLIN, 0};
        while (poll(&waiting, 1, -1) < 0 && errno == EINTR) {
        }
    }

  private:
    int descriptor_;
};

}  // namespace stadium::detail
