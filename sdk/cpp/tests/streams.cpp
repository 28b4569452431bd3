// Streams and channels, blocking: order, ends, credit, full channels, and ends in the middle.
#include <atomic>
#include <optional>

#include "check.hpp"

using namespace std::chrono_literals;

constexpr auto count = stadium::stream<Text, Text>("words/Count");
constexpr auto endless = stadium::stream<Text, Text>("words/Endless");
constexpr auto raw = stadium::stream<stadium::Bytes, stadium::Bytes>("words/Count");
constexpr auto talk = stadium::channel<Text, Text>("words/Talk");
constexpr auto lazy = stadium::channel<Text, Text>("words/Lazy");
constexpr auto rude = stadium::channel<Text, Text>("words/Rude");

static std::atomic<int> sent{0}, given_up{0};
static std::atomic<bool> may_read{false};

static stadium::Service words() {
    stadium::Service service("words");
    service.on(count, [](const Text& upto, stadium::Sender<Text>& out) {
        const int last = std::stoi(upto);
        for (int nth = 0; nth < last; nth++) {
            out.send(std::to_string(nth));
        }
        if (last == 13) {
            throw stadium::Refusal::rejected("WORDS-013", "bad luck");
        }
    });
    service.on(endless, [](stadium::Context context, Text, stadium::Sender<Text> out) {
        try {
            while (true) {
                out.send("more");
                sent++;
            }
        } catch (const stadium::Cancelled&) {
            CHECK(context.cancelled());
            given_up++;
            throw;
        }
    });
    service.on(talk, [](stadium::Receiver<Text>& in, stadium::Sender<Text>& out) {
        while (const auto message = in.read()) {
            out.send("heard " + *message);
        }
        out.send("goodbye");
    });
    service.on(lazy, [](stadium::Receiver<Text>& in, stadium::Sender<Text>& out) {
        int heard = 0;
        eventually([] { return may_read.load(); }, "the reader may read");
        while (in.read()) {
            heard++;
        }
        out.send(std::to_string(heard));
    });
    service.on(rude, [](stadium::Receiver<Text>& in, stadium::Sender<Text>&) {
        static_cast<void>(in.read());
        throw stadium::Refusal::busy(10ms, "no time");
    });
    return service;
}

static void streams(const stadium::Client& client) {
    int next = 0;
    auto numbers = client.open(count, Text("1000"));
    for (const Text& number : numbers) {
        CHECK(number == std::to_string(next++));
    }
    CHECK(next == 1000 && !numbers.read() && numbers.wait_for(0ms));

    auto none = client.open(count, Text("0"));
    CHECK(none.begin() == none.end());

    auto failing = client.open(count, Text("13"), stadium::CallOptions().credit(1));
    for (next = 0; next < 13; next++) {
        CHECK(failing.read() == std::to_string(next));
    }
    CHECK(THROWS(stadium::Rejected, static_cast<void>(failing.read())).code() == "WORDS-013");
    THROWS(stadium::Rejected, static_cast<void>(failing.read()));

    auto bytes = client.open(raw, stadium::bytes_of("3"));
    for (const char* const expected : {"0", "1", "2"}) {
        CHECK(stadium::text_of(bytes.read().value()) == expected);
    }
    CHECK(!bytes.read());

    auto wrong = client.open(count, Text("no number"));
    CHECK(THROWS(stadium::Unknown, static_cast<void>(wrong.read())).code() == "RPC-007");
}

/// A reader that stops reading stops its service, and no other call.
static void slow_reader(const stadium::Client& client) {
    auto slow = client.open(endless, Text());
    CHECK(slow.read() == "more");
    int before = -1;
    eventually(
        [&] {
            const bool same = before == sent;
            before = sent;
            std::this_thread::sleep_for(50ms);
            return same && before > 0;
        },
        "the service stopped sending");
    CHECK(sent < 1000);
    auto other = client.open(count, Text("500"));
    int read = 0;
    while (other.read()) {
        read++;
    }
    CHECK(read == 500);
    for (int nth = 0; nth < 1000; nth++) {
        CHECK(slow.read() == "more");
    }
    CHECK(given_up == 0);
    slow = client.open(count, Text("1"));
    eventually([] { return given_up == 1; }, "replacing the stream gave it up");
    CHECK(slow.read() == "0");

    auto cancelled = client.open(endless, Text());
    CHECK(cancelled.read() == "more");
    cancelled.cancel();
    THROWS(stadium::Cancelled, while (cancelled.read()){});
    eventually([] { return given_up == 2; }, "the service noticed the cancellation");

    auto late = client.open(endless, Text(), stadium::CallOptions().deadline(100ms));
    THROWS(stadium::DeadlineExceeded, while (late.read()){});
}

static void channels(const stadium::Client& client) {
    auto channel = client.open(talk, Text("one"));
    CHECK(channel.read() == "heard one");
    channel.send("two");
    CHECK(channel.read() == "heard two");
    CHECK(!channel.wait_for(10ms));
    for (int nth = 0; nth < 2000; nth++) {
        channel.send(std::to_string(nth));
        CHECK(channel.read() == "heard " + std::to_string(nth));
    }
    channel.complete();
    CHECK(channel.read() == "goodbye");
    CHECK(!channel.read());
    THROWS(stadium::Ended, channel.send("late"));

    auto refused = client.open(rude, Text("one"));
    CHECK(THROWS(stadium::Busy, static_cast<void>(refused.read())).retry_after() == 10ms);
    THROWS(
        stadium::Ended, while (true) { refused.send("x"); });

    stadium::Channel<Text, Text> moved = std::move(channel);
    THROWS(stadium::InvalidArgument, channel.send("x"));
    CHECK(!moved.read());
}

/// The service does not read: the channel is full, and a sender waits.
static void full_channel(const stadium::Client& client) {
    auto channel = client.open(lazy, Text("first"), stadium::CallOptions().deadline(soon));
    int messages = 1;
    while (channel.try_send("more")) {
        CHECK(++messages < 100000);
    }
    CHECK(messages > 100);
    std::atomic<bool> sent_all{false};
    std::thread sender([&] {
        for (int nth = 0; nth < 5000; nth++) {
            channel.send("and more");
        }
        sent_all = true;
        channel.complete();
    });
    std::this_thread::sleep_for(50ms);
    CHECK(!sent_all);
    may_read = true;
    sender.join();
    CHECK(channel.read() == std::to_string(messages + 5000));
    CHECK(!channel.read());
}

int main() {
    stadium::on_log([](const stadium::LogEvent&) {});
    const stadium::Server server(server_options(), words());
    const stadium::Client client(client_options(server.port()));
    streams(client);
    slow_reader(client);
    channels(client);
    full_channel(client);
    {
        // One worker: a function that waits for the caller takes events meanwhile.
        stadium::ServerOptions options = server_options();
        options.workers = 1;
        const stadium::Server single(options, words());
        const stadium::Client caller(client_options(single.port()));
        streams(caller);
        channels(caller);
    }
    std::puts("streams: all held");
}
