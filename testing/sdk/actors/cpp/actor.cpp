// The actor of the C++ SDK: obeys orders, a line of JSON each, on its standard input.
//
// The orders are in testing/sdk/README.md. Each is answered by a line with its id. The actor ends
// with its standard input. JSON is read and written as google.protobuf.Struct.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <stadium/stadium.hpp>

#include "conformance.pb.h"

namespace {

using conformance::v1::Ask;
using conformance::v1::Reply;
using google::protobuf::Struct;
using google::protobuf::Value;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto echo = stadium::unary<Ask, Reply>("conformance/Echo").idempotent();
constexpr auto once = stadium::unary<Ask, Reply>("conformance/Once");
constexpr auto missing = stadium::unary<Ask, Reply>("conformance/Missing");
constexpr auto once_bytes = stadium::unary<std::string, Reply>("conformance/Once");
constexpr auto note = stadium::one_way<Ask>("conformance/Note");
constexpr auto count = stadium::stream<Ask, Reply>("conformance/Count");
constexpr auto talk = stadium::channel<Ask, Reply>("conformance/Talk");

/// Functions that sleep keep a worker each.
constexpr unsigned workers = 128;
/// Between two looks at whether somebody gave up.
constexpr milliseconds look_every{5};

// An answer, written field by field.

class Answer {
  public:
    Answer& add(const std::string& name, const std::string& text) {
        (*fields_.mutable_fields())[name].set_string_value(text);
        return *this;
    }
    Answer& add(const std::string& name, const char* text) { return add(name, std::string(text)); }
    Answer& add(const std::string& name, std::uint64_t number) {
        (*fields_.mutable_fields())[name].set_number_value(static_cast<double>(number));
        return *this;
    }
    Answer& add(const std::string& name, const Answer& inner) {
        *(*fields_.mutable_fields())[name].mutable_struct_value() = inner.fields_;
        return *this;
    }
    template <class Item>
    Answer& add(const std::string& name, const std::vector<Item>& items) {
        auto* list = (*fields_.mutable_fields())[name].mutable_list_value();
        for (const Item& item : items) {
            if constexpr (std::is_convertible_v<Item, std::string>) {
                list->add_values()->set_string_value(item);
            } else {
                list->add_values()->set_number_value(static_cast<double>(item));
            }
        }
        return *this;
    }
    Answer& add(const std::string& name, const std::map<std::string, std::uint64_t>& counts) {
        Answer inner;
        inner.fields_.mutable_fields();
        for (const auto& [each, number] : counts) {
            inner.add(each, number);
        }
        return add(name, inner);
    }

    [[nodiscard]] std::string outcome() const {
        return fields_.fields().at("outcome").string_value();
    }

    void print(std::uint64_t id) {
        add("id", id);
        std::string line;
        if (!google::protobuf::util::MessageToJsonString(fields_, &line).ok()) {
            line = R"({"error":"the answer is no JSON"})";
        }
        static std::mutex output;
        const std::lock_guard lock(output);
        std::cout << line << std::endl;
    }

  private:
    Struct fields_;
};

// An order.

class Order {
  public:
    explicit Order(const Struct& fields) : fields_(fields) {}

    [[nodiscard]] bool has(const std::string& name) const {
        const auto found = fields_.fields().find(name);
        return found != fields_.fields().end() && found->second.kind_case() != Value::kNullValue;
    }
    [[nodiscard]] const Value& at(const std::string& name) const {
        if (!has(name)) {
            throw std::runtime_error("the order has no " + name);
        }
        return fields_.fields().at(name);
    }
    [[nodiscard]] std::string text(const std::string& name) const {
        return has(name) ? at(name).string_value() : std::string();
    }
    [[nodiscard]] std::uint64_t number(const std::string& name) const {
        return has(name) ? static_cast<std::uint64_t>(at(name).number_value()) : 0;
    }
    [[nodiscard]] Order object(const std::string& name) const {
        return Order(has(name) ? at(name).struct_value() : Struct());
    }
    [[nodiscard]] std::vector<std::string> texts(const std::string& name) const {
        std::vector<std::string> texts;
        if (has(name)) {
            for (const Value& value : at(name).list_value().values()) {
                texts.push_back(value.string_value());
            }
        }
        return texts;
    }

    [[nodiscard]] Ask ask() const {
        const Order fields = object("ask");
        Ask ask;
        ask.set_text(fields.text("text"));
        ask.set_sleep_ms(static_cast<std::uint32_t>(fields.number("sleep_ms")));
        ask.set_refusals(static_cast<std::uint32_t>(fields.number("refusals")));
        ask.set_replies(static_cast<std::uint32_t>(fields.number("replies")));
        ask.set_padding_bytes(static_cast<std::uint32_t>(fields.number("padding_bytes")));
        ask.set_padding(std::string(fields.number("send_padding_bytes"), '\7'));
        conformance::v1::Refusal refusal = conformance::v1::NONE;
        if (fields.has("refusal") &&
            !conformance::v1::Refusal_Parse(fields.text("refusal"), &refusal)) {
            throw std::runtime_error("there is no refusal " + fields.text("refusal"));
        }
        ask.set_refusal(refusal);
        return ask;
    }
    [[nodiscard]] stadium::CallOptions options() const {
        stadium::CallOptions options;
        if (has("deadline_ms")) {
            options.deadline(milliseconds(number("deadline_ms")));
        }
        if (has("key")) {
            options.key(text("key"));
        }
        return options;
    }
    [[nodiscard]] std::optional<stadium::Discovery> discovery() const {
        if (!has("discovery")) {
            return std::nullopt;
        }
        const Order place = object("discovery");
        stadium::Discovery discovery{.url = place.text("url")};
        if (place.has("session_ttl_ms")) {
            discovery.session_ttl = milliseconds(place.number("session_ttl_ms"));
        }
        return discovery;
    }

  private:
    Struct fields_;
};

std::uint64_t milliseconds_since(steady_clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin).count());
}

/// The outcome of what is being thrown.
Answer failure() {
    Answer answer;
    try {
        throw;
    } catch (const stadium::Busy& busy) {
        answer.add("outcome", "busy").add("text", busy.what());
        answer.add("retry_after_ms", static_cast<std::uint64_t>(busy.retry_after().count()));
    } catch (const stadium::Rejected& rejected) {
        answer.add("outcome", "rejected").add("text", rejected.what()).add("code", rejected.code());
    } catch (const stadium::Unknown& unknown) {
        answer.add("outcome", "unknown").add("text", unknown.what()).add("code", unknown.code());
    } catch (const stadium::ApplicationError& error) {
        answer.add("outcome", "application").add("text", error.what());
        answer.add("number", std::uint64_t{error.number()});
    } catch (const stadium::DeadlineExceeded& error) {
        answer.add("outcome", "deadline").add("text", error.what());
    } catch (const stadium::Unavailable& error) {
        answer.add("outcome", "unavailable").add("text", error.what());
    } catch (const stadium::ConnectionBroken& error) {
        answer.add("outcome", "broken").add("text", error.what());
    } catch (const stadium::Cancelled& error) {
        answer.add("outcome", "cancelled").add("text", error.what());
    } catch (const stadium::ProtocolError& error) {
        answer.add("outcome", "protocol").add("text", error.what());
    }
    return answer;
}

Answer reply_of(const Reply& reply) {
    Answer fields;
    fields.add("text", reply.text()).add("instance", reply.instance()).add("key", reply.key());
    fields.add("bearer", reply.bearer());
    fields.add("time_left_ms", std::uint64_t{reply.time_left_ms()});
    fields.add("attempt", std::uint64_t{reply.attempt()});
    fields.add("padding_bytes", std::uint64_t{reply.padding_bytes()});
    fields.add("number", std::uint64_t{reply.number()});
    fields.add("received_padding_bytes", std::uint64_t{reply.padding().size()});
    return fields;
}

// The service.

class Functions {
  public:
    std::string instance;
    std::atomic<std::uint64_t> slow_ms{0};

    struct Seen {
        std::uint32_t began = 0;
        std::uint32_t ended = 0;
        std::uint32_t cancelled = 0;
    };

    Reply unary(const stadium::Context& context, const Ask& ask) {
        Reply reply = begin(context, ask);
        const auto until = steady_clock::now() + milliseconds(ask.sleep_ms() + slow_ms);
        while (steady_clock::now() < until) {
            if (context.cancelled()) {
                give_up(ask.text());
            }
            std::this_thread::sleep_for(look_every);
        }
        end(ask, reply.attempt());
        return reply;
    }
    void count_replies(const stadium::Context& context, const Ask& ask,
                       const stadium::Sender<Reply>& out) {
        Reply reply = begin(context, ask);
        try {
            for (std::uint32_t number = 0; ask.replies() == 0 || number < ask.replies(); number++) {
                reply.set_number(number);
                out.send(reply);
            }
        } catch (const stadium::Cancelled&) {
            give_up(ask.text());
        }
        end(ask, reply.attempt());
    }
    void answer_all(const stadium::Context& context, stadium::Receiver<Ask>& asks,
                    const stadium::Sender<Reply>& out) {
        std::uint32_t number = 0;
        while (const auto ask = asks.read()) {
            Reply reply = begin(context, *ask);
            reply.set_number(number++);
            out.send(reply);
            end(*ask, reply.attempt());
        }
    }
    Seen seen(const std::string& text) {
        const std::lock_guard lock(mutex_);
        return seen_[text];
    }

  private:
    Reply begin(const stadium::Context& context, const Ask& ask) {
        Reply reply;
        {
            const std::lock_guard lock(mutex_);
            reply.set_attempt(++seen_[ask.text()].began);
        }
        reply.set_text(ask.text());
        reply.set_instance(instance);
        reply.set_key(std::string(context.key().value_or("")));
        reply.set_bearer(std::string(context.bearer().value_or("")));
        reply.set_time_left_ms(static_cast<std::uint32_t>(context.time_left().count() / 1000));
        reply.set_padding_bytes(static_cast<std::uint32_t>(ask.padding().size()));
        reply.set_padding(std::string(ask.padding_bytes(), '\7'));
        return reply;
    }
    [[noreturn]] void give_up(const std::string& text) {
        {
            const std::lock_guard lock(mutex_);
            seen_[text].cancelled++;
        }
        throw stadium::Refusal::unknown("CONF-004", "nobody waits");
    }
    void end(const Ask& ask, std::uint32_t attempt) {
        {
            const std::lock_guard lock(mutex_);
            seen_[ask.text()].ended++;
        }
        if (ask.refusals() != 0 && attempt > ask.refusals()) {
            return;
        }
        switch (ask.refusal()) {
            case conformance::v1::BUSY:
                throw stadium::Refusal::busy(milliseconds(20), "not now");
            case conformance::v1::REJECTED:
                throw stadium::Refusal::rejected("CONF-001", "never");
            case conformance::v1::UNKNOWN:
                throw stadium::Refusal::unknown("CONF-002", "half done");
            case conformance::v1::APPLICATION:
                throw stadium::Refusal::application(0x301, "its own");
            case conformance::v1::FAILURE: throw std::logic_error("as it was asked");
            default: return;
        }
    }

    std::mutex mutex_;
    std::map<std::string, Seen> seen_;
};

// The actor.

class Actor {
  public:
    Answer obey(std::uint64_t id, const Order& order) {
        const std::string what = order.text("do");
        if (what == "serve") return serve(order);
        if (what == "seen") return seen(order);
        if (what == "slow") return functions_->slow_ms = order.number("ms"), Answer();
        if (what == "quiesce") return quiesce(order);
        if (what == "client") return make_client(order);
        if (what == "close") return close(order);
        if (what == "call") return call(id, order);
        if (what == "cancel") return cancel(order);
        if (what == "note") return client(order)->one_way(note, order.ask()), Answer();
        if (what == "stream") return stream(order);
        if (what == "channel") return channel(order);
        if (what == "load") return load(order);
        if (what == "explain") return explain(order);
        throw std::runtime_error("there is no order " + what);
    }

  private:
    using ClientShare = std::shared_ptr<const stadium::Client>;

    Answer serve(const Order& order) {
        const auto functions = functions_ = std::make_shared<Functions>();
        functions->instance = order.text("instance");
        stadium::Service service("conformance");
        const auto unary = [functions](const stadium::Context& context, const Ask& ask) {
            return functions->unary(context, ask);
        };
        service.on(echo, unary).on(once, unary);
        service.on(note, [functions](const stadium::Context& context, const Ask& ask) {
            static_cast<void>(functions->unary(context, ask));
        });
        service.on(count, [functions](const stadium::Context& context, const Ask& ask,
                                      stadium::Sender<Reply>& out) {
            functions->count_replies(context, ask, out);
        });
        service.on(talk, [functions](const stadium::Context& context, stadium::Receiver<Ask>& asks,
                                     stadium::Sender<Reply>& out) {
            functions->answer_all(context, asks, out);
        });
        const Order settings = order.object("settings");
        stadium::ServerOptions options{.listen = settings.texts("listen"), .workers = workers};
        options.discovery = settings.discovery();
        server_ = std::make_unique<stadium::Server>(options, std::move(service));
        const std::string host = options.listen.at(0).substr(0, options.listen.at(0).rfind(':'));
        return Answer().add(
            "addresses", std::vector<std::string>{host + ":" + std::to_string(server_->port())});
    }
    Answer seen(const Order& order) {
        const Functions::Seen seen = functions_->seen(order.text("text"));
        return Answer()
            .add("began", std::uint64_t{seen.began})
            .add("ended", std::uint64_t{seen.ended})
            .add("cancelled", std::uint64_t{seen.cancelled});
    }
    Answer quiesce(const Order& order) {
        return Answer().add("cut", server_->shutdown(milliseconds(order.number("within_ms"))));
    }
    Answer make_client(const Order& order) {
        const Order settings = order.object("settings");
        stadium::ClientOptions options{.instances = settings.texts("instances")};
        options.discovery = settings.discovery();
        options.bearer = settings.text("bearer");
        const auto client = std::make_shared<const stadium::Client>(options);
        const std::lock_guard lock(mutex_);
        clients_[order.text("client")] = client;
        return Answer();
    }
    Answer close(const Order& order) {
        ClientShare closed;
        const std::lock_guard lock(mutex_);
        closed.swap(clients_[order.text("client")]);
        clients_.erase(order.text("client"));
        return Answer();
    }
    ClientShare client(const Order& order) {
        const std::lock_guard lock(mutex_);
        const auto found = clients_.find(order.text("client"));
        if (found == clients_.end()) {
            throw std::runtime_error("there is no client " + order.text("client"));
        }
        return found->second;
    }

    stadium::Future<Reply> begin(const stadium::Client& client, const Order& order) {
        if (order.has("bytes_hex")) {
            const std::string hex = order.text("bytes_hex");
            std::string bytes;
            for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
                bytes.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
            }
            return client.call(once_bytes, bytes, order.options());
        }
        const std::string method = order.text("method");
        const auto& target = method == "Echo" ? echo : method == "Once" ? once : missing;
        return client.call(target, order.ask(), order.options());
    }
    Answer call(std::uint64_t id, const Order& order) {
        const auto began = steady_clock::now();
        const ClientShare caller = client(order);
        Answer answer;
        try {
            stadium::Future<Reply> future = begin(*caller, order);
            while (!future.wait_for(look_every)) {
                const std::lock_guard lock(mutex_);
                if (cancelled_.erase(id) != 0) {
                    future.cancel();
                }
            }
            answer.add("outcome", "ok").add("reply", reply_of(future.get()));
        } catch (const stadium::Error&) {
            answer = failure();
        }
        return answer.add("took_ms", milliseconds_since(began));
    }
    Answer cancel(const Order& order) {
        const std::lock_guard lock(mutex_);
        cancelled_.insert(order.number("of"));
        return Answer();
    }
    Answer stream(const Order& order) {
        const auto began = steady_clock::now();
        std::vector<std::uint32_t> numbers;
        Answer answer;
        try {
            auto replies = client(order)->open(count, order.ask(), order.options().credit(16));
            answer.add("outcome", "ok");
            for (const Reply& reply : replies) {
                numbers.push_back(reply.number());
                if (order.has("read") && numbers.size() == order.number("read")) {
                    answer.add("outcome", "left");
                    break;
                }
            }
        } catch (const stadium::Error&) {
            answer = failure();
        }
        return answer.add("numbers", numbers).add("took_ms", milliseconds_since(began));
    }
    Answer channel(const Order& order) {
        std::vector<Ask> asks;
        for (const std::string& text : order.texts("texts")) {
            asks.push_back(order.ask());
            asks.back().set_text(text);
        }
        std::vector<std::string> texts;
        Answer answer;
        auto replies = client(order)->open(talk, asks.at(0), order.options());
        std::thread sending([&] {
            try {
                for (std::size_t at = 1; at < asks.size(); at++) {
                    replies.send(asks[at]);
                }
                replies.complete();
            } catch (const stadium::Ended&) {
                // A service that refused takes no more.
            }
        });
        try {
            for (const Reply& reply : static_cast<stadium::Stream<Reply>&>(replies)) {
                texts.push_back(reply.text());
            }
            answer.add("outcome", "ok");
        } catch (const stadium::Error&) {
            answer = failure();
        }
        sending.join();
        return answer.add("texts", texts);
    }

    struct Load {
        std::mutex mutex;
        std::map<std::string, std::uint64_t> outcomes;
        std::map<std::string, std::uint64_t> instances;
        std::vector<std::uint64_t> latencies_ms;
    };
    Answer load(const Order& order) {
        const ClientShare caller = client(order);
        const auto& method = order.text("method") == "Once" ? once : echo;
        const Ask ask = order.ask();
        const std::uint64_t calls = order.number("for_ms") * order.number("rate") / 1000;
        const auto begin = steady_clock::now();
        Load load;
        std::vector<std::thread> threads;
        for (std::uint64_t nth = 0; nth < calls; nth++) {
            const auto due = begin + std::chrono::microseconds(nth * 1'000'000 / order.number("rate"));
            std::this_thread::sleep_until(due);
            threads.emplace_back([&load, &method, &ask, caller, due, options = order.options()] {
                std::string outcome = "ok";
                std::string instance;
                try {
                    instance = caller->call(method, ask, options).get().instance();
                } catch (const stadium::Error& error) {
                    outcome = kind();
                }
                const std::lock_guard lock(load.mutex);
                load.outcomes[outcome]++;
                if (!instance.empty()) {
                    load.instances[instance]++;
                }
                load.latencies_ms.push_back(milliseconds_since(due));
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        std::sort(load.latencies_ms.begin(), load.latencies_ms.end());
        const auto at = [&load](double share) {
            const double count = static_cast<double>(load.latencies_ms.size());
            return load.latencies_ms.at(static_cast<std::size_t>(count * share));
        };
        Answer answer;
        answer.add("calls", calls).add("outcomes", load.outcomes).add("instances", load.instances);
        return answer.add("p50_ms", at(0.5)).add("p99_ms", at(0.99)).add("max_ms",
                                                                        load.latencies_ms.back());
    }
    /// The outcome of what is being thrown, in one word.
    static std::string kind() { return failure().outcome(); }
    Answer explain(const Order& order) {
        std::optional<std::string> key;
        if (order.has("key")) {
            key = order.text("key");
        }
        return Answer().add("text", client(order)->explain(echo, key));
    }

    std::mutex mutex_;
    std::map<std::string, ClientShare> clients_;
    std::set<std::uint64_t> cancelled_;
    std::shared_ptr<Functions> functions_ = std::make_shared<Functions>();
    std::unique_ptr<stadium::Server> server_;
};

}  // namespace

int main() {
    // Functions fail where they are asked to.
    stadium::on_log([](const stadium::LogEvent&) {});
    Actor actor;
    std::string line;
    while (std::getline(std::cin, line)) {
        Struct fields;
        if (!google::protobuf::util::JsonStringToMessage(line, &fields).ok()) {
            Answer().add("error", "no JSON: " + line).print(0);
            continue;
        }
        std::thread([&actor, order = Order(fields)] {
            const std::uint64_t id = order.number("id");
            Answer answer;
            try {
                answer = actor.obey(id, order);
            } catch (const std::exception& error) {
                answer = Answer().add("error", error.what());
            }
            answer.print(id);
        }).detach();
    }
    // Orders may still be carried out, and use what a return would destroy.
    std::_Exit(0);
}
