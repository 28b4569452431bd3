// Ends in any order: shutdown while calls run, destruction with calls under way, a server that is
// killed, a fork.
#include <atomic>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

using namespace std::chrono_literals;

constexpr auto echo = stadium::unary<Text, Text>("words/Echo");
constexpr auto slow = stadium::unary<Text, Text>("words/Slow");
constexpr auto endless = stadium::stream<Text, Text>("words/Endless");
constexpr auto talk = stadium::channel<Text, Text>("words/Talk");

static std::atomic<int> running{0}, finished{0};
static std::atomic<bool> go_on{false};

static stadium::Service words() {
    stadium::Service service("words");
    service.on(echo, [](const Text& text) { return text; });
    service.on(slow, [](const stadium::Context& context, const Text& text) {
        running++;
        while (!go_on && !context.cancelled()) {
            std::this_thread::sleep_for(1ms);
        }
        finished++;
        return text;
    });
    service.on(endless, [](const Text& text, stadium::Sender<Text>& out) {
        while (true) {
            out.send(text);
        }
    });
    service.on(talk, [](stadium::Receiver<Text>& in, stadium::Sender<Text>& out) {
        while (const auto message = in.read()) {
            out.send(*message);
        }
    });
    return service;
}

static void shutdown_finishes_calls() {
    running = finished = 0;
    go_on = false;
    stadium::Server server(server_options(), words());
    const stadium::Client client(client_options(server.port()));
    auto first = client.call(slow, Text("first"));
    auto second = client.call(slow, Text("second"));
    eventually([] { return running == 2; }, "the functions run");
    std::thread stopping([&] { server.shutdown(soon); });
    std::this_thread::sleep_for(30ms);
    CHECK(!first.is_ready());
    go_on = true;
    CHECK(first.get() == "first" && second.get() == "second");
    stopping.join();
    CHECK(server.shutdown(soon) == 0);
    THROWS(stadium::Error, client.call(echo, Text("late")).get());
}

static void shutdown_cuts_what_takes_longer() {
    running = finished = 0;
    go_on = false;
    stadium::Server server(server_options(), words());
    const stadium::Client client(client_options(server.port()));
    auto call = client.call(slow, Text("never"));
    eventually([] { return running == 1; }, "the function runs");
    server.shutdown(20ms);
    CHECK(THROWS(stadium::Error, call.get()).may_have_happened());
    eventually([] { return finished == 1; }, "the function noticed");
}

static void destruction_in_any_order() {
    running = finished = 0;
    go_on = false;
    auto server = std::make_unique<stadium::Server>(server_options(), words());
    auto runtime = stadium::Runtime::make();
    auto client = std::make_unique<stadium::Client>(client_options(server->port()), runtime);
    auto call = client->call(slow, Text("x"));
    auto second = client->call(slow, Text("y"));
    auto stream = client->open(endless, Text("z"));
    auto channel = std::make_unique<stadium::Channel<Text, Text>>(client->open(talk, Text("z")));
    CHECK(channel->read() == "z" && stream.read() == "z");
    eventually([] { return running == 2; }, "the functions run");
    runtime.reset();
    client.reset();
    CHECK(THROWS(stadium::Error, call.get()).may_have_happened());
    THROWS(stadium::Error, while (stream.read()){});
    server.reset();
    CHECK(finished == 2);
    channel.reset();
    THROWS(stadium::Error, second.get());
    // The last reference to a runtime goes away on its own dispatcher.
    {
        const stadium::Server other(server_options(), words());
        std::atomic<bool> ended{false};
        auto owner = std::make_unique<stadium::Client>(client_options(other.port()),
                                                       stadium::Runtime::make());
        stadium::spawn(
            [](std::unique_ptr<stadium::Client> own, std::atomic<bool>& done) -> stadium::Task<> {
                co_await own->call(echo, Text("x"));
                own.reset();
                done = true;
            }(std::move(owner), ended));
        eventually([&] { return ended.load(); }, "the task ended");
    }
}

static void serves_until_a_signal() {
    stadium::Server server(server_options(), words());
    const stadium::Client client(client_options(server.port()));
    for (const int signal : {SIGTERM, SIGINT}) {
        std::atomic<bool> ended{false};
        std::thread serving([&] {
            stadium::serve_until_signal(server, soon);
            ended = true;
        });
        eventually([] { return stadium::detail::signal_bell.load() != nullptr; },
                   "it waits for signals");
        std::this_thread::sleep_for(20ms);
        CHECK(!ended && (signal != SIGTERM || client.call(echo, Text("x")).get() == "x"));
        kill(getpid(), signal);
        serving.join();
    }
}

/// The body of a child process: serves, and writes its port to a pipe.
[[noreturn]] static void serve_in_child(int port_out) {
    stadium::ServerOptions options = server_options();
    options.workers = 30;
    stadium::Server server(options, words());
    const std::uint16_t port = server.port();
    CHECK(write(port_out, &port, sizeof port) == sizeof port);
    while (true) {
        pause();
    }
}

static void server_is_killed() {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        serve_in_child(ends[1]);
    }
    std::uint16_t port = 0;
    CHECK(read(ends[0], &port, sizeof port) == sizeof port);
    const stadium::Client client(client_options(port));
    CHECK(client.call(echo, Text("x")).get() == "x");
    std::vector<stadium::Future<Text>> calls;
    for (int nth = 0; nth < 20; nth++) {
        calls.push_back(client.call(slow, Text("x")));
    }
    auto stream = client.open(endless, Text("x"));
    auto channel = client.open(talk, Text("x"));
    CHECK(stream.read() == "x" && channel.read() == "x");
    CHECK(!calls[0].wait_for(10ms));
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, nullptr, 0) == child);
    for (auto& call : calls) {
        try {
            call.get();
            CHECK(false);
        } catch (const stadium::ConnectionBroken& broken) {
            CHECK(broken.may_have_happened());
        } catch (const stadium::Unavailable& unavailable) {
            CHECK(!unavailable.may_have_happened());
        }
    }
    THROWS(stadium::Error, while (stream.read()){});
    THROWS(stadium::Error, while (channel.read()){});
    THROWS(
        stadium::Ended, while (true) { channel.send("x"); });
    THROWS(stadium::Unavailable, client.call(echo, Text("x")).get());
    close(ends[0]);
    close(ends[1]);
}

#ifndef STADIUM_TEST_WITHOUT_FORK
/// A child of fork(2) gets Forked from its parent's objects, may destroy them, and makes its own.
static void forked() {
    go_on = false;
    auto server = std::make_unique<stadium::Server>(server_options(), words());
    const std::uint16_t port = server->port();
    auto client = std::make_unique<stadium::Client>(client_options(port));
    CHECK(client->call(echo, Text("x")).get() == "x");
    auto pending = client->call(slow, Text("parent"));
    auto channel = client->open(talk, Text("first"));
    CHECK(channel.read() == "first");
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        THROWS(stadium::Forked, client->call(echo, Text("x")).get());
        THROWS(stadium::Forked, pending.get());
        THROWS(stadium::Forked, static_cast<void>(channel.read()));
        THROWS(stadium::Forked, channel.send("x"));
        THROWS(stadium::Forked, server->shutdown(1s));
        { const auto destroyed = std::move(pending); }
        { const auto destroyed = std::move(channel); }
        client.reset();
        server.reset();
        const stadium::Client own(client_options(port));
        CHECK(own.call(echo, Text("from the child")).get() == "from the child");
        const stadium::Server served(server_options(), words());
        const stadium::Client to_own(client_options(served.port()));
        CHECK(to_own.call(echo, Text("in the child")).get() == "in the child");
        // Without the checks of a leak detector: it does not find the threads of the parent.
        std::_Exit(0);
    }
    int how = 0;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    channel.send("still here");
    CHECK(channel.read() == "still here");
    go_on = true;
    CHECK(pending.get() == "parent");
}
#endif

int main() {
    stadium::on_log([](const stadium::LogEvent&) {});
    // First, while the process has no threads: race detectors do not allow threads in a child.
    server_is_killed();
    shutdown_finishes_calls();
    shutdown_cuts_what_takes_longer();
    destruction_in_any_order();
    serves_until_a_signal();
#ifndef STADIUM_TEST_WITHOUT_FORK
    forked();
#endif
    std::puts("ends: all held");
}
