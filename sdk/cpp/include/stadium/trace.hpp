// Hooks for tracing libraries such as OpenTelemetry.
//
// A trace context travels as RSocket's tracing entry (message/x.rsocket.tracing-zipkin.v0, 0x7D):
// one byte of flags, the trace id (16 bytes) and the span id (8 bytes) of W3C Trace Context. The
// `tracestate` of W3C does not travel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <stadium/metadata.hpp>

namespace stadium {

/// Where in a trace a request stands.
struct TraceContext {
    std::array<std::uint8_t, 16> trace_id = {};
    std::array<std::uint8_t, 8> span_id = {};
    bool sampled = false;

    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

/// A pair of hooks. Set them once, before clients and servers are made.
struct TraceHooks {
    /// Returns the context of the current span. It is called on the thread that begins a call.
    std::function<std::optional<TraceContext>()> inject = {};
    /// Begins the span of a request, with the caller's context where it sent one. It is called on
    /// the thread that runs the service's function, before the function. The returned object is
    /// kept until the request is answered: it ends the span when it is destroyed. For a plain
    /// function this is the same thread; a coroutine may end on another.
    std::function<std::shared_ptr<void>(std::string_view route, const std::optional<TraceContext>&)>
        extract = {};
};

namespace detail {

inline constexpr std::uint8_t tracing_id = 0x7D;

struct TraceFlags {
    static constexpr std::uint8_t ids = 0x80;
    static constexpr std::uint8_t debug = 0x40;
    static constexpr std::uint8_t sampled = 0x20;
    static constexpr std::uint8_t not_sampled = 0x10;
    static constexpr std::uint8_t long_trace = 0x08;
};

inline TraceHooks& trace_hooks() {
    static TraceHooks& hooks = *new TraceHooks;
    return hooks;
}

inline void add_trace(Metadata& metadata, const TraceContext& context) {
    std::array<std::uint8_t, 25> entry{};
    entry[0] = TraceFlags::ids | TraceFlags::long_trace |
               (context.sampled ? TraceFlags::sampled : TraceFlags::not_sampled);
    std::copy(context.trace_id.begin(), context.trace_id.end(), entry.begin() + 1);
    std::copy(context.span_id.begin(), context.span_id.end(), entry.begin() + 17);
    metadata.add(tracing_id, std::as_bytes(std::span(entry)));
}

/// The caller's context; nothing where there is no entry, or where it has no ids.
inline std::optional<TraceContext> find_trace(Bytes metadata) {
    const auto entry = metadata_entry(metadata, tracing_id);
    if (!entry || entry->empty()) {
        return std::nullopt;
    }
    const auto flags = std::to_integer<std::uint8_t>((*entry)[0]);
    const std::size_t trace_size = (flags & TraceFlags::long_trace) != 0 ? 16 : 8;
    if ((flags & TraceFlags::ids) == 0 || entry->size() < 1 + trace_size + 8) {
        return std::nullopt;
    }
    TraceContext context;
    const auto byte_at = [&](std::size_t place) {
        return std::to_integer<std::uint8_t>((*entry)[place]);
    };
    for (std::size_t place = 0; place < trace_size; place++) {
        context.trace_id[16 - trace_size + place] = byte_at(1 + place);
    }
    for (std::size_t place = 0; place < 8; place++) {
        context.span_id[place] = byte_at(1 + trace_size + place);
    }
    context.sampled = (flags & (TraceFlags::sampled | TraceFlags::debug)) != 0;
    return context;
}

}  // namespace detail

/// Sets the hooks for tracing.
inline void on_trace(TraceHooks hooks) {
    detail::trace_hooks() = std::move(hooks);
}

}  // namespace stadium
