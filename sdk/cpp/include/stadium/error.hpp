// Errors: a type for each outcome of a call, and for each kind of misuse.
//
// An outcome that is not OK is thrown where the answer is taken: by Future::get, by co_await, by a
// stream's read. Misuse is thrown by the function that is misused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <stadium/bytes.hpp>

namespace stadium {

/// Any error of this library.
class Error : public std::runtime_error {
  public:
    /// Whether the request may have been carried out. Where it was not, the caller still owns the
    /// request and may send it again. Where it may have been, send it again with the same id, or
    /// read the state first.
    [[nodiscard]] bool may_have_happened() const noexcept { return may_have_happened_; }

  protected:
    Error(const std::string& text, bool may_have_happened)
        : std::runtime_error(text), may_have_happened_(may_have_happened) {}

  private:
    bool may_have_happened_;
};

/// The service is busy. Nothing happened.
class Busy : public Error {
  public:
    Busy(const std::string& text, std::chrono::milliseconds retry_after)
        : Error(text, false), retry_after_(retry_after) {}
    /// The time after which the service is worth asking again.
    [[nodiscard]] std::chrono::milliseconds retry_after() const noexcept { return retry_after_; }

  private:
    std::chrono::milliseconds retry_after_;
};

/// The service will never do it. Nothing happened.
class Rejected : public Error {
  public:
    Rejected(std::string code, const std::string& text)
        : Error(text, false), code_(std::move(code)) {}
    /// A stable code such as GEO-001.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

  private:
    std::string code_;
};

/// The service failed while it worked: the request may have been carried out, whole or in part.
class Unknown : public Error {
  public:
    Unknown(std::string code, const std::string& text)
        : Error(text, true), code_(std::move(code)) {}
    /// A stable code such as RPC-007.
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

  private:
    std::string code_;
};

/// An error of the service's own. The service defines its number, and whether anything happened.
class ApplicationError : public Error {
  public:
    ApplicationError(std::uint32_t number, const std::string& text)
        : Error(text, true), number_(number) {}
    /// The RSocket error code: 0x201, or 0x301 to 0xFFFFFFFE.
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

  private:
    std::uint32_t number_;
};

/// The deadline passed.
class DeadlineExceeded : public Error {
  public:
    explicit DeadlineExceeded(const std::string& text) : Error(text, true) {}
};

/// No instance could be reached. Nothing happened.
class Unavailable : public Error {
  public:
    explicit Unavailable(const std::string& text) : Error(text, false) {}
};

/// The connection broke during the call.
class ConnectionBroken : public Error {
  public:
    explicit ConnectionBroken(const std::string& text) : Error(text, true) {}
};

/// The caller gave up. On a server: nobody waits for the answer any more.
class Cancelled : public Error {
  public:
    explicit Cancelled(const std::string& text) : Error(text, true) {}
};

/// The peer sent something that cannot be understood.
class ProtocolError : public Error {
  public:
    explicit ProtocolError(const std::string& text) : Error(text, true) {}
};

/// An argument or a setting is wrong. Nothing happened.
class InvalidArgument : public Error {
  public:
    explicit InvalidArgument(const std::string& text) : Error(text, false) {}
};

/// The system refuses a thread, a descriptor or an address; or this library has a defect.
class SystemError : public Error {
  public:
    explicit SystemError(const std::string& text) : Error(text, false) {}
};

/// The process was forked after the object was made. Its threads are in the parent.
class Forked : public Error {
  public:
    explicit Forked(const std::string& text) : Error(text, false) {}
};

/// The call, the stream or the request has ended and takes no more messages.
class Ended : public Error {
  public:
    explicit Ended(const std::string& text) : Error(text, false) {}
};

namespace detail {

/// Throws the outcome of an event that is not OK.
[[noreturn]] inline void throw_outcome(const stadium_event& event) {
    const std::string text(text_of(from_abi(event.payload)));
    const std::string code(text_of(from_abi(event.code)));
    switch (event.outcome) {
        case STADIUM_BUSY: throw Busy(text, std::chrono::milliseconds(event.retry_after_ms));
        case STADIUM_REJECTED: throw Rejected(code, text);
        case STADIUM_UNKNOWN: throw Unknown(code, text);
        case STADIUM_APPLICATION: throw ApplicationError(event.number, text);
        case STADIUM_DEADLINE: throw DeadlineExceeded(text);
        case STADIUM_UNAVAILABLE: throw Unavailable(text);
        case STADIUM_BROKEN: throw ConnectionBroken(text);
        case STADIUM_CANCELLED: throw Cancelled(text);
        default: throw ProtocolError(text);
    }
}

/// Throws the status of a function that failed on this thread.
[[noreturn]] inline void throw_status(std::int64_t status) {
    const std::string text = stadium_last_error();
    switch (status) {
        case STADIUM_INVALID: throw InvalidArgument(text);
        case STADIUM_ENDED: throw Ended(text);
        case STADIUM_FORKED: throw Forked(text);
        default: throw SystemError(text);
    }
}

/// Returns a count or STADIUM_DONE, and throws a negative status.
inline std::int64_t checked(std::int64_t status) {
    if (status < 0) {
        throw_status(status);
    }
    return status;
}

}  // namespace detail
}  // namespace stadium
