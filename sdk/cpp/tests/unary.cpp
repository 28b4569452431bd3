// Unary and one-way calls: every outcome as its type, options, deadlines, cancellation.
#include <atomic>
#include <vector>

#include "check.hpp"

using namespace std::chrono_literals;

constexpr auto echo = stadium::unary<Text, Text>("words/Echo").idempotent();
constexpr auto fail = stadium::unary<Text, Text>("words/Fail");
constexpr auto wait_long = stadium::unary<Text, Text>("words/Wait");
constexpr auto about = stadium::unary<Text, Text>("words/About");
constexpr auto raw = stadium::unary<stadium::Bytes, stadium::Bytes>("words/Raw");
constexpr auto tell = stadium::one_way<Text>("words/Tell");
constexpr auto nowhere = stadium::unary<Text, Text>("words/Nowhere");

static_assert(echo.is_idempotent() && !fail.is_idempotent() && echo.service() == "words");

static std::atomic<int> told{0}, cancelled{0}, waiting{0};

static Text failing(const Text& how) {
    if (how == "busy") throw stadium::Refusal::busy(250ms, "full");
    if (how == "rejected") throw stadium::Refusal::rejected("WORDS-001", "not this word");
    if (how == "unknown") throw stadium::Refusal::unknown("WORDS-002", "it broke");
    if (how == "application") throw stadium::Refusal::application(0x301, "their own");
    if (how == "wrong") throw stadium::Refusal::application(7, "no such number");
    if (how == "throw") throw std::runtime_error("a secret of the service");
    if (how == "int") throw 7;
    throw stadium::DeadlineExceeded("another service was too slow");
}

static stadium::Service words() {
    stadium::Service service("words");
    service.on(echo, [](const Text& text) { return text; });
    service.on(fail, failing);
    service.on(wait_long, [](const stadium::Context& context, const Text& text) {
        waiting++;
        while (!context.cancelled()) {
            std::this_thread::sleep_for(1ms);
        }
        cancelled++;
        return text;
    });
    service.on(about, [](stadium::Context context, Text) -> Text {
        CHECK(context.route() == "words/About");
        CHECK(context.time_left() > 1s && context.time_left() <= 15s);
        CHECK(!context.cancelled());
        const auto entry = stadium::metadata_entry(context.metadata(), "message/x.test");
        return Text(context.key().value_or("no key")) + ' ' +
               Text(context.bearer().value_or("no bearer")) + ' ' +
               (entry ? Text(stadium::text_of(*entry)) : "no entry");
    });
    service.on(raw, [](stadium::Bytes bytes) { return bytes; });
    service.on(tell, [](const Text&) { told++; });
    return service;
}

static void answers(const stadium::Client& client) {
    CHECK(client.call(echo, Text("hello")).get() == "hello");
    stadium::Future<Text> future = client.call(echo, Text(1 << 20, 'x'));
    CHECK(future.wait_for(soon) && future.is_ready());
    CHECK(future.get().size() == 1 << 20);
    CHECK(future.get().size() == 1 << 20);
    const Text zeros("a\0b", 3);
    auto bytes = client.call(raw, stadium::bytes_of(zeros));
    CHECK(stadium::text_of(bytes.get()) == zeros);
    client.one_way(tell, Text("news"));
    eventually([] { return told == 1; }, "the news arrived");
    CHECK(client.explain(echo, "phone-1").find("127.0.0.1") != Text::npos);

    const auto options = stadium::CallOptions().deadline(15s).key("phone-1").metadata(
        stadium::Metadata().add("message/x.test", "entry"));
    CHECK(client.call(about, Text(), options).get() == "phone-1 no bearer entry");
    CHECK(client.call(about, Text(), stadium::CallOptions().deadline(15s)).get() ==
          "no key no bearer no entry");
}

static void outcomes(const stadium::Client& client) {
    const auto call = [&](const char* how) { return client.call(fail, Text(how)).get(); };
    const auto busy = THROWS(stadium::Busy, call("busy"));
    CHECK(busy.retry_after() == 250ms && busy.what() == Text("full") && !busy.may_have_happened());
    const auto rejected = THROWS(stadium::Rejected, call("rejected"));
    CHECK(rejected.code() == "WORDS-001" && rejected.what() == Text("not this word") &&
          !rejected.may_have_happened());
    const auto unknown = THROWS(stadium::Unknown, call("unknown"));
    CHECK(unknown.code() == "WORDS-002" && unknown.may_have_happened());
    const auto application = THROWS(stadium::ApplicationError, call("application"));
    CHECK(application.number() == 0x301 && application.what() == Text("their own") &&
          application.may_have_happened());
    for (const char* how : {"throw", "int", "wrong"}) {
        const auto defect = THROWS(stadium::Unknown, call(how));
        CHECK(defect.code() == "RPC-007" && Text(defect.what()).find("secret") == Text::npos);
    }
    CHECK(THROWS(stadium::Unknown, call("passed on")).code() == "RPC-009");
    CHECK(THROWS(stadium::Rejected, client.call(nowhere, Text()).get()).code() == "RPC-002");
}

static void deadline_and_cancellation(const stadium::Client& client) {
    const auto late =
        THROWS(stadium::DeadlineExceeded,
               client.call(wait_long, Text(), stadium::CallOptions().deadline(50ms)).get());
    CHECK(late.may_have_happened());
    eventually([] { return cancelled == 1; }, "the function noticed its deadline");

    auto future = client.call(wait_long, Text());
    CHECK(!future.wait_for(20ms));
    CHECK(!future.is_ready());
    eventually([] { return waiting == 2; }, "the function runs");
    future.cancel();
    CHECK(THROWS(stadium::Cancelled, future.get()).may_have_happened());
    eventually([] { return cancelled == 2; }, "the function noticed the cancellation");

    {
        const auto destroyed = client.call(wait_long, Text());
        eventually([] { return waiting == 3; }, "the function runs");
    }
    eventually([] { return cancelled == 3; }, "destruction cancelled the call");
    // A call that is replaced is cancelled too.
    future = client.call(wait_long, Text());
    eventually([] { return waiting == 4; }, "the function runs");
    future = client.call(echo, Text("instead"));
    eventually([] { return cancelled == 4; }, "assignment cancelled the call");
    CHECK(future.get() == "instead");
    THROWS(stadium::InvalidArgument,
           client.call(echo, Text(), stadium::CallOptions().deadline(0ms)).get());
}

static void misuse(std::uint16_t port) {
    THROWS(stadium::InvalidArgument, stadium::Client({}));
    THROWS(stadium::InvalidArgument,
           stadium::Client({.instances = {"127.0.0.1:1"}, .attempts = 99}));
    const auto name = THROWS(stadium::InvalidArgument,
                             stadium::Client({.instances = {"127.0.0.1:1"}, .name = "\xff"}));
    CHECK(Text(name.what()).find("UTF-8") != Text::npos);
    THROWS(stadium::InvalidArgument,
           stadium::Server(server_options(), stadium::Service("other").on(echo, failing)));
    THROWS(stadium::SystemError, stadium::Server({.listen = {"127.0.0.1:" + std::to_string(port)}},
                                                 stadium::Service("words")));
    const stadium::Client client(client_options(port));
    THROWS(stadium::InvalidArgument,
           client.call(stadium::unary<Text, Text>("no route"), Text()).get());
    auto future = client.call(echo, Text("x"));
    const auto moved = std::move(future);
    THROWS(stadium::InvalidArgument, future.get());
    moved.wait();
}

static void settings() {
    const stadium::ClientOptions options{
        .instances = {"a\"b\\c\n", "d"},
        .discovery = stadium::Discovery{.url = "etcd://h:1", .session_ttl = 12s},
        .deadline = 1500ms,
        .hedging = false,
        .busy_poll = 20us,
    };
    CHECK(options.json() == R"({"instances":["a\"b\\c\u000a","d"],)"
                            R"("discovery":{"url":"etcd://h:1","session_ttl_ms":12000},)"
                            R"("deadline_ms":1500,"hedging":false,"busy_poll_us":20})");
    // Every setting has a name that the library knows.
    const stadium::ClientTls tls{
        .authorities = "a", .server_name = "n", .certificate = "c", .key = "k"};
    const auto refused =
        THROWS(stadium::InvalidArgument, stadium::Client({.instances = {"127.0.0.1:1"},
                                                          .deadline = 1s,
                                                          .connections_per_instance = 1,
                                                          .subset = 1,
                                                          .zone = "z",
                                                          .attempts = 1,
                                                          .hedging = true,
                                                          .resumption = true,
                                                          .leases = true,
                                                          .waiting_max = 1,
                                                          .unreachable_grace = 1s,
                                                          .payload_bytes_max = 1000,
                                                          .busy_poll = 1us,
                                                          .bearer = "b",
                                                          .tls = tls,
                                                          .name = "n"}));
    CHECK(Text(refused.what()).find("unknown field") == Text::npos &&
          Text(refused.what()).find("tls") != Text::npos);
    stadium::ServerOptions all = server_options();
    all.loops = 1;
    all.busy_poll = 1us;
    all.deadline = all.deadline_max = 1s;
    all.leases = true;
    all.payload_bytes_max = 1000;
    all.connections_max = 10;
    all.advertise = "127.0.0.1:7";
    all.zone = "z";
    all.weight = 1;
    all.operators_bearer = "b";
    all.quiesce_within = 1s;
    all.admission->queue_max = 1;
    all.admission->concurrency_max = 20000;
    const stadium::Server server(all, stadium::Service("words"));
}

int main() {
    std::vector<Text> logged;
    std::mutex mutex;
    stadium::on_log([&](const stadium::LogEvent& event) {
        const std::lock_guard lock(mutex);
        logged.emplace_back(event.error);
        CHECK(event.level == stadium::LogLevel::error);
    });
    const stadium::Server server(server_options(), words());
    const stadium::Client client(client_options(server.port()));
    answers(client);
    outcomes(client);
    deadline_and_cancellation(client);
    misuse(server.port());
    settings();
    stadium::on_log({});
    CHECK(!logged.empty() && logged[0] == "a secret of the service");
    THROWS(stadium::Unavailable,
           stadium::Client({.instances = {"127.0.0.1:1"}, .unreachable_grace = 10ms})
               .call(echo, Text())
               .get());
    std::puts("unary: all held");
}
