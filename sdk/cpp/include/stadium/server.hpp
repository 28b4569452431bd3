// Server: listens, and runs the functions of its services on a pool of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <stadium/service.hpp>
#include <stadium/settings.hpp>

namespace stadium {

/// A running server. Destroying it stops it at once, and then waits for functions that run.
class Server {
  public:
    /// Starts to serve. Throws InvalidArgument where an option or a route is wrong, SystemError
    /// where an address cannot be listened on.
    Server(const ServerOptions& options, std::vector<Service> services)
        : core_(make_core(services)) {
        if (options.workers == 0) {
            throw InvalidArgument("a server needs at least one worker");
        }
        const std::vector<detail::ServiceHandle> handles = make_services(services);
        std::vector<const stadium_service*> pointers;
        for (const auto& handle : handles) {
            pointers.push_back(handle.get());
        }
        server_ = detail::made<detail::ServerHandle>(stadium_server_start(
            options.json().c_str(), pointers.data(), pointers.size(), core_->pool().queue()));
        try {
            for (unsigned nth = 0; nth < options.workers; nth++) {
                workers_.emplace_back([core = core_] { core->pool().work(); });
            }
        } catch (const std::system_error& error) {
            stop();
            throw SystemError(std::string("a worker does not start: ") + error.what());
        }
    }
    Server(const ServerOptions& options, Service service)
        : Server(options, one(std::move(service))) {}
    Server(Server&&) noexcept = default;
    Server& operator=(Server&&) = delete;
    ~Server() { stop(); }

    /// The port of an address, by its place in `listen`.
    [[nodiscard]] std::uint16_t port(std::size_t place = 0) const {
        return static_cast<std::uint16_t>(
            detail::checked(stadium_server_port(server_.get(), place)));
    }

    /// Takes on nothing new, withdraws from discovery, waits for the work under way, but no longer
    /// than a time, and stops. Returns the number of connections that were cut. A second call
    /// returns 0. Functions whose callers gave up may still run afterwards; the destructor waits
    /// for them.
    template <class Rep, class Period>
    std::uint64_t shutdown(std::chrono::duration<Rep, Period> within) {
        if (core_->pool().is_worker()) {
            throw InvalidArgument(
                "a function of a service would wait for itself; shut down from another thread");
        }
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(within).count();
        return static_cast<std::uint64_t>(detail::checked(stadium_server_shutdown(
            server_.get(), static_cast<std::uint64_t>(milliseconds < 0 ? 0 : milliseconds))));
    }

  private:
    static std::vector<Service> one(Service service) {
        std::vector<Service> services;
        services.push_back(std::move(service));
        return services;
    }

    static std::shared_ptr<detail::ServerCore> make_core(const std::vector<Service>& services) {
        std::vector<detail::Serve> functions;
        for (const Service& service : services) {
            for (const auto& method : service.methods_) {
                functions.push_back(method.serve);
            }
        }
        return std::make_shared<detail::ServerCore>(std::move(functions));
    }

    /// The services, whose methods have their places in the core as tags.
    static std::vector<detail::ServiceHandle> make_services(const std::vector<Service>& services) {
        std::vector<detail::ServiceHandle> handles;
        std::uint64_t tag = 0;
        for (const Service& service : services) {
            auto handle = detail::made<detail::ServiceHandle>(
                stadium_service_new(service.name_.c_str(), service.version_.c_str()));
            if (!service.descriptors_.empty()) {
                const Bytes descriptors = bytes_of(service.descriptors_);
                detail::checked(
                    stadium_service_descriptors(handle.get(), detail::to_abi(descriptors)));
            }
            for (const auto& method : service.methods_) {
                stadium_method_id id = method.id;
                id.route = method.route.c_str();
                detail::checked(stadium_service_method(handle.get(), id, tag++));
            }
            handles.push_back(std::move(handle));
        }
        return handles;
    }

    void stop() noexcept {
        if (!core_) {
            return;
        }
        if (core_->pool().process().is_gone()) {
            // The threads, and the locks that they may hold, are the parent's.
            static_cast<void>(new std::vector<std::thread>(std::move(workers_)));
            static_cast<void>(new std::shared_ptr<detail::ServerCore>(std::move(core_)));
            return;
        }
        server_.reset();
        core_->pool().stop();
        for (std::thread& worker : workers_) {
            worker.join();
        }
    }

    std::shared_ptr<detail::ServerCore> core_;
    detail::ServerHandle server_;
    std::vector<std::thread> workers_;
};

}  // namespace stadium
