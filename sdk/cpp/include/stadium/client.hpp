// Client: calls methods of services. Any thread may call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stadium/call_options.hpp>
#include <stadium/future.hpp>
#include <stadium/method.hpp>
#include <stadium/settings.hpp>
#include <stadium/stream.hpp>

namespace stadium {

namespace detail {

/// The methods that a client has called. Readers take no lock: a list is replaced, never changed.
class MethodTable {
  public:
    MethodTable() = default;
    MethodTable(const MethodTable&) = delete;
    MethodTable& operator=(const MethodTable&) = delete;

    template <class Make>
    const stadium_method& find_or_make(const stadium_method_id& id, Make make) {
        if (const stadium_method* found = find(id)) {
            return *found;
        }
        const std::lock_guard lock(mutex_);
        if (const stadium_method* found = find(id)) {
            return *found;
        }
        auto next = std::make_unique<List>();
        if (!lists_.empty()) {
            *next = *lists_.back();
        }
        methods_.push_back(make(id));
        routes_.push_back(std::make_unique<std::string>(id.route));
        stadium_method_id kept = id;
        kept.route = routes_.back()->c_str();
        next->push_back({kept, methods_.back().get()});
        // Readers may have the lists before it: they stay until the client ends.
        lists_.push_back(std::move(next));
        current_.store(lists_.back().get(), std::memory_order_release);
        return *methods_.back();
    }

  private:
    struct Entry {
        stadium_method_id id;
        const stadium_method* method;
    };
    using List = std::vector<Entry>;

    [[nodiscard]] const stadium_method* find(const stadium_method_id& id) const noexcept {
        const List* list = current_.load(std::memory_order_acquire);
        if (list == nullptr) {
            return nullptr;
        }
        for (const Entry& entry : *list) {
            if (entry.id.interaction == id.interaction && entry.id.idempotent == id.idempotent &&
                std::strcmp(entry.id.route, id.route) == 0) {
                return entry.method;
            }
        }
        return nullptr;
    }

    std::atomic<const List*> current_{nullptr};
    std::mutex mutex_;
    std::vector<std::unique_ptr<List>> lists_;
    std::vector<MethodHandle> methods_;
    std::vector<std::unique_ptr<std::string>> routes_;
};

}  // namespace detail

/// A client. It has a thread of the library; its calls end on the dispatcher of its runtime.
/// Destroying it ends the calls under way, as ConnectionBroken or Cancelled.
class Client {
  public:
    /// Starts the client. Throws InvalidArgument where an option is wrong.
    explicit Client(const ClientOptions& options,
                    std::shared_ptr<Runtime> runtime = Runtime::shared())
        : runtime_(std::move(runtime)),
          client_(detail::made<detail::ClientHandle>(
              stadium_client_start(options.json().c_str(), runtime_->core()->queue()))),
          methods_(std::make_unique<detail::MethodTable>()) {}
    Client(Client&&) noexcept = default;
    Client& operator=(Client&&) noexcept = delete;
    ~Client() = default;

    /// Calls a method with one answer.
    template <class Request, class Answer>
    Future<Answer> call(const Method<Request, Answer, Interaction::unary>& method,
                        const Request& request, const CallOptions& options = {}) const {
        const auto& encoded = Codec<Request>::encode(request);
        detail::CallStateShare state(new detail::CallState);
        const detail::AbiOptions abi(options, state->tag());
        const std::shared_ptr<detail::RuntimeCore>& core = runtime_->core();
        stadium_call_handle* handle = nullptr;
        const stadium_method& target = resolve(method.id());
        state->share();
        core->begin_call();
        const std::int32_t status =
            stadium_call(&target, detail::to_abi(detail::view_of(encoded)), abi.get(), &handle);
        if (status != STADIUM_DONE) {
            core->end_call();
            state->release();
            detail::throw_status(status);
        }
        return Future<Answer>(
            detail::PendingCall(core, std::move(state), detail::CallHandle(handle)));
    }

    /// Sends a request without an answer. It returns at once; a request that cannot be delivered is
    /// lost.
    template <class Request>
    void one_way(const Method<Request, void, Interaction::one_way>& method, const Request& request,
                 const CallOptions& options = {}) const {
        const auto& encoded = Codec<Request>::encode(request);
        const detail::AbiOptions abi(options, 0);
        detail::checked(stadium_call(&resolve(method.id()),
                                     detail::to_abi(detail::view_of(encoded)), abi.get(), nullptr));
    }

    /// Opens a stream of answers.
    template <class Request, class Answer>
    [[nodiscard]] Stream<Answer> open(const Method<Request, Answer, Interaction::stream>& method,
                                      const Request& request,
                                      const CallOptions& options = {}) const {
        return Stream<Answer>(opened(method, request, options));
    }

    /// Opens a channel with its first request.
    template <class Request, class Answer>
    [[nodiscard]] Channel<Request, Answer> open(
        const Method<Request, Answer, Interaction::channel>& method, const Request& first,
        const CallOptions& options = {}) const {
        return Channel<Request, Answer>(opened(method, first, options));
    }

    /// The instances that are known of a method's service, and the one that a call with this key
    /// would go to and why, as text for people.
    template <class Request, class Answer, Interaction Kind>
    [[nodiscard]] std::string explain(const Method<Request, Answer, Kind>& method,
                                      const std::optional<std::string>& key = {}) const {
        const stadium_bytes bytes = key ? detail::to_abi(bytes_of(*key)) : stadium_bytes{};
        return detail::made<detail::TextHandle>(stadium_explain(&resolve(method.id()), bytes))
            .get();
    }

  private:
    const stadium_method& resolve(const stadium_method_id& id) const {
        return methods_->find_or_make(id, [this](const stadium_method_id& wanted) {
            return detail::made<detail::MethodHandle>(stadium_client_method(client_.get(), wanted));
        });
    }

    template <class Request, class Method>
    std::shared_ptr<detail::ClientPipe> opened(const Method& method, const Request& request,
                                               const CallOptions& options) const {
        const auto& encoded = Codec<Request>::encode(request);
        detail::AbiOptions abi(options, 0);
        const stadium_method& target = resolve(method.id());
        auto pipe = std::make_shared<detail::ClientPipe>(
            runtime_, options.credit(),
            options.is_credit_by_hand() ? detail::CreditBy::hand : detail::CreditBy::reading);
        pipe->open([&](std::uint64_t tag) {
            abi.tag(tag);
            return stadium_open(&target, detail::to_abi(detail::view_of(encoded)), abi.get());
        });
        return pipe;
    }

    std::shared_ptr<Runtime> runtime_;
    detail::ClientHandle client_;
    std::unique_ptr<detail::MethodTable> methods_;
};

}  // namespace stadium
