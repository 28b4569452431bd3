// Settings of clients and servers. Members that are not set have the defaults of docs/c-abi.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stadium/json.hpp>

namespace stadium {

/// Where instances are found, or register themselves.
struct Discovery {
    /// etcd://HOST:PORT,.. or zk://HOST:PORT,..
    std::string url = {};
    /// The root of the tree. Default /services.
    std::optional<std::string> prefix = {};
    /// The login, where authentication is on.
    std::optional<std::string> user = {};
    std::optional<std::string> password = {};
    /// The time that a registration outlives its process. 1 s to 600 s, default 10 s.
    std::optional<std::chrono::milliseconds> session_ttl = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("url", url);
        object.add("prefix", prefix);
        object.add("user", user);
        object.add("password", password);
        object.add("session_ttl_ms", session_ttl);
        return object.text();
    }
};

/// TLS towards services that are called. Certificates and keys are PEM texts.
struct ClientTls {
    /// The authorities that sign the services' certificates.
    std::string authorities = {};
    /// The name that the services' certificates carry.
    std::string server_name = {};
    /// The client's certificate and key, where services ask for them.
    std::optional<std::string> certificate = {};
    std::optional<std::string> key = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("authorities", authorities);
        object.add("server_name", server_name);
        object.add("certificate", certificate);
        object.add("key", key);
        return object.text();
    }
};

/// Settings of a client. One of `instances` and `discovery` is needed.
struct ClientOptions {
    /// HOST:PORT of instances that serve every service that is called.
    std::vector<std::string> instances = {};
    /// Where instances are found instead.
    std::optional<Discovery> discovery = {};
    /// The version of services to call, with discovery. Default any.
    std::optional<std::string> version = {};
    /// The deadline of a call that names none. 1 ms to 24 h, default 5 s.
    std::optional<std::chrono::milliseconds> deadline = {};
    /// 1 to 1,000, default 1.
    std::optional<std::uint32_t> connections_per_instance = {};
    /// Instances of a service that are connected to. 1 to 10,000, default 20.
    std::optional<std::uint32_t> subset = {};
    /// Instances in this zone are preferred.
    std::optional<std::string> zone = {};
    /// Attempts of a call, the first included. 1 to 10, default 3.
    std::optional<std::uint32_t> attempts = {};
    /// Whether slow calls of idempotent methods get a copy at another instance. Default true.
    std::optional<bool> hedging = {};
    /// Whether calls outlive a lost connection. Default false.
    std::optional<bool> resumption = {};
    /// Whether to send no request without a lease. Default false.
    std::optional<bool> leases = {};
    /// Calls of a service that may wait for a connection. 0 to 1,000,000, default 10,000.
    std::optional<std::uint32_t> waiting_max = {};
    /// The time that calls wait where no instance can be reached. 0 to 600 s, default 1 s.
    std::optional<std::chrono::milliseconds> unreachable_grace = {};
    /// The largest payload. 1 byte to 1 GiB, default 16 MiB.
    std::optional<std::size_t> payload_bytes_max = {};
    /// The time that the client's loop spins before it sleeps. 0 to 1 ms, default 50 us.
    std::optional<std::chrono::microseconds> busy_poll = {};
    /// A bearer token that every request carries.
    std::optional<std::string> bearer = {};
    /// Default off.
    std::optional<ClientTls> tls = {};
    /// The name of the client's thread. Default rpc-client.
    std::optional<std::string> name = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("instances", instances);
        object.add("discovery", discovery);
        object.add("version", version);
        object.add("deadline_ms", deadline);
        object.add("connections_per_instance", connections_per_instance);
        object.add("subset", subset);
        object.add("zone", zone);
        object.add("attempts", attempts);
        object.add("hedging", hedging);
        object.add("resumption", resumption);
        object.add("leases", leases);
        object.add("waiting_max", waiting_max);
        object.add("unreachable_grace_ms", unreachable_grace);
        object.add("payload_bytes_max", payload_bytes_max);
        object.add("busy_poll_us", busy_poll);
        object.add("bearer", bearer);
        object.add("tls", tls);
        object.add("name", name);
        return object.text();
    }
};

/// TLS of the addresses that a server listens on. Certificates and keys are PEM texts.
struct ServerTls {
    std::string certificate = {};
    std::string key = {};
    /// Authorities of the clients' certificates. Without them clients show none.
    std::optional<std::string> client_authorities = {};
    /// Whether clients without a certificate are refused. Default false.
    std::optional<bool> client_certificate_required = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("certificate", certificate);
        object.add("key", key);
        object.add("client_authorities", client_authorities);
        object.add("client_certificate_required", client_certificate_required);
        return object.text();
    }
};

/// Requests that each loop of a server works on at once.
struct Admission {
    /// The limit before anything was measured. Default 200.
    std::optional<std::uint32_t> concurrency_initial = {};
    /// The least that the limit falls to. Default 4.
    std::optional<std::uint32_t> concurrency_min = {};
    /// The most that the limit grows to. Default 10,000.
    std::optional<std::uint32_t> concurrency_max = {};
    /// Requests that may wait; the next one is answered Busy. Default 1,000.
    std::optional<std::uint32_t> queue_max = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("concurrency_initial", concurrency_initial);
        object.add("concurrency_min", concurrency_min);
        object.add("concurrency_max", concurrency_max);
        object.add("queue_max", queue_max);
        return object.text();
    }
};

/// Settings of a server. `listen` is needed.
struct ServerOptions {
    /// IP:PORT, one or more. Port 0 takes a free one.
    std::vector<std::string> listen = {};
    /// Worker threads, which run the services' functions. At least 1. Functions that block need
    /// more of them than functions that compute.
    unsigned workers = 4;
    /// Default off.
    std::optional<ServerTls> tls = {};
    /// Event loops, a thread each. 1 to 64, default 1.
    std::optional<std::uint32_t> loops = {};
    /// The time that a loop spins before it sleeps. 0 to 1 ms, default 50 us.
    std::optional<std::chrono::microseconds> busy_poll = {};
    /// The deadline of a request that names none. 1 ms to 24 h, default 5 s.
    std::optional<std::chrono::milliseconds> deadline = {};
    /// The longest deadline that a request may name. 1 ms to 24 h, default 600 s.
    std::optional<std::chrono::milliseconds> deadline_max = {};
    std::optional<Admission> admission = {};
    /// Whether clients that ask for leases get them. Default true.
    std::optional<bool> leases = {};
    /// The largest payload. 1 byte to 1 GiB, default 16 MiB.
    std::optional<std::size_t> payload_bytes_max = {};
    /// 1 to 1,000,000, default 50,000.
    std::optional<std::uint32_t> connections_max = {};
    /// Where the instance registers itself. Default nowhere.
    std::optional<Discovery> discovery = {};
    /// The address to register. Default the first of `listen`.
    std::optional<std::string> advertise = {};
    /// The zone to register.
    std::optional<std::string> zone = {};
    /// The weight to register. 1 to 10,000, default 100.
    std::optional<std::uint32_t> weight = {};
    /// The bearer token of callers that may quiesce the server. Default: nobody may.
    std::optional<std::string> operators_bearer = {};
    /// The time that such a quiesce may take. 0 to 1 h, default 30 s.
    std::optional<std::chrono::milliseconds> quiesce_within = {};

    [[nodiscard]] std::string json() const {
        detail::JsonObject object;
        object.add("listen", listen);
        object.add("tls", tls);
        object.add("loops", loops);
        object.add("busy_poll_us", busy_poll);
        object.add("deadline_ms", deadline);
        object.add("deadline_max_ms", deadline_max);
        object.add("admission", admission);
        object.add("leases", leases);
        object.add("payload_bytes_max", payload_bytes_max);
        object.add("connections_max", connections_max);
        object.add("discovery", discovery);
        object.add("advertise", advertise);
        object.add("zone", zone);
        object.add("weight", weight);
        object.add("operators_bearer", operators_bearer);
        object.add("quiesce_within_ms", quiesce_within);
        return object.text();
    }
};

}  // namespace stadium
