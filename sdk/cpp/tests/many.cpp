// Many calls at once: four threads that share a client, and a client without a thread.
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "check.hpp"

constexpr int threads = 4;
constexpr int calls = 10000;
constexpr auto echo = stadium::unary<Text, Text>("words/Echo");
constexpr auto nowhere = stadium::unary<Text, Text>("words/Nowhere");

static void shared_client(const stadium::Client& client) {
    std::vector<std::thread> callers;
    for (int caller = 0; caller < threads; caller++) {
        callers.emplace_back([&client, caller] {
            std::deque<std::pair<Text, stadium::Future<Text>>> window;
            const auto take = [&window] {
                CHECK(window.front().second.get() == window.front().first);
                window.pop_front();
            };
            for (int nth = 0; nth < calls; nth++) {
                Text text = std::to_string(caller) + ' ' + std::to_string(nth);
                auto future = client.call(echo, text);
                window.emplace_back(std::move(text), std::move(future));
                if (window.size() == 100) {
                    take();
                }
            }
            while (!window.empty()) {
                take();
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
}

static void local_client(std::uint16_t port) {
    stadium::LocalClient client(client_options(port));
    constexpr std::uint64_t total = 20000;
    std::uint64_t begun = 0, ended = 0, sum = 0, rejected = 0;
    const auto begin = [&] {
        if (begun < total) {
            const std::uint64_t tag = begun++;
            client.call(tag % 10 == 0 ? nowhere : echo, std::to_string(tag), tag);
        }
    };
    for (int nth = 0; nth < 200; nth++) {
        begin();
    }
    while (ended < total) {
        const std::size_t count = client.take(
            [&](const stadium::LocalAnswer& answer) {
                sum += answer.tag();
                if (answer.tag() % 10 == 0) {
                    CHECK(!answer.is_ok());
                    CHECK(THROWS(stadium::Rejected, static_cast<void>(answer.bytes())).code() ==
                          "RPC-002");
                    rejected++;
                } else {
                    CHECK(answer.get<Text>() == std::to_string(answer.tag()));
                }
                begin();
            },
            soon);
        CHECK(count > 0);
        ended += count;
    }
    CHECK(sum == total * (total - 1) / 2 && rejected == total / 10);
    CHECK(client.take([](const stadium::LocalAnswer&) {}, std::chrono::milliseconds(1)) == 0);
    THROWS(stadium::InvalidArgument, client.call(stadium::unary<Text, Text>("none"), Text(), 1));
    client.call(echo, Text("one"), 1, stadium::CallOptions().deadline(soon).key("key"));
    CHECK(client.take(
              [](const stadium::LocalAnswer& answer) { CHECK(answer.get<Text>() == "one"); }) == 1);
}

int main() {
    stadium::Service words("words");
    words.on(echo, [](const Text& text) { return text; });
    const stadium::Server server(server_options(), words);
    const stadium::Client client(client_options(server.port()));
    shared_client(client);
    local_client(server.port());
    std::puts("many: all held");
}
