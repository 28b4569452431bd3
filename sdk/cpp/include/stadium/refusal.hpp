// Refusal: how a service's function refuses a request. It is thrown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <stadium/error.hpp>
#include <stadium/log.hpp>

namespace stadium {

class Refusal : public std::exception {
  public:
    /// Not now: nothing happened, and the caller may send it again after a time.
    [[nodiscard]] static Refusal busy(std::chrono::milliseconds retry_after, std::string text) {
        return Refusal(STADIUM_BUSY, {}, std::move(text), retry_after, 0);
    }
    /// Never: nothing happened. The code is a stable one of the service, such as GEO-001.
    [[nodiscard]] static Refusal rejected(std::string code, std::string text) {
        return Refusal(STADIUM_REJECTED, std::move(code), std::move(text), {}, 0);
    }
    /// It may have happened, whole or in part.
    [[nodiscard]] static Refusal unknown(std::string code, std::string text) {
        return Refusal(STADIUM_UNKNOWN, std::move(code), std::move(text), {}, 0);
    }
    /// An error of the service's own. The number is 0x201, or 0x301 to 0xFFFFFFFE.
    [[nodiscard]] static Refusal application(std::uint32_t number, std::string text) {
        return Refusal(STADIUM_APPLICATION, {}, std::move(text), {}, number);
    }

    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

    /// The refusal as the C ABI has it. It points into this object.
    [[nodiscard]] stadium_refusal abi() const noexcept {
        stadium_refusal refusal{};
        refusal.outcome = outcome_;
        refusal.code = code_.c_str();
        refusal.text = text_.c_str();
        refusal.retry_after_ms =
            retry_after_.count() < 0 ? 0 : static_cast<std::uint64_t>(retry_after_.count());
        refusal.number = number_;
        return refusal;
    }

  private:
    Refusal(stadium_outcome outcome, std::string code, std::string text,
            std::chrono::milliseconds retry_after, std::uint32_t number)
        : outcome_(outcome),
          code_(std::move(code)),
          text_(std::move(text)),
          retry_after_(retry_after),
          number_(number) {}

    stadium_outcome outcome_;
    std::string code_;
    std::string text_;
    std::chrono::milliseconds retry_after_;
    std::uint32_t number_;
};

namespace detail {

/// The refusal for the exception that is being handled. Outcomes of calls to other services are
/// reported as docs/rpc.md has it (RPC-009); the text of any other exception stays in the log.
inline Refusal refusal_of_current_exception(std::string_view route) {
    try {
        throw;
    } catch (const Refusal& refusal) {
        return refusal;
    } catch (const Busy& busy) {
        return Refusal::busy(busy.retry_after(), busy.what());
    } catch (const Rejected& rejected) {
        return Refusal::rejected(rejected.code(), rejected.what());
    } catch (const Unavailable& unavailable) {
        return Refusal::busy(std::chrono::seconds(1), unavailable.what());
    } catch (const Error& error) {
        if (error.may_have_happened()) {
            return Refusal::unknown("RPC-009", error.what());
        }
        log({LogLevel::error, "A function of a service failed", route, error.what()});
    } catch (...) {
        log({LogLevel::error, "A function of a service failed", route, current_exception_text()});
    }
    return Refusal::unknown("RPC-007", "the service failed on this request");
}

}  // namespace detail
}  // namespace stadium
