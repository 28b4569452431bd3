// Hooks: a trace context travels from the caller's span to the service's; metadata entries are
// found.
#include <atomic>
#include <mutex>
#include <optional>

#include "check.hpp"

constexpr auto echo = stadium::unary<Text, Text>("words/Echo");
constexpr auto numbers = stadium::unary<stadium::Bytes, std::vector<std::byte>>("words/Echo");

static thread_local std::optional<stadium::TraceContext> current;
static std::atomic<int> begun{0}, ended{0};

static void entries() {
    stadium::Metadata metadata;
    CHECK(metadata.empty());
    metadata.add("message/x.one", "1")
        .add(0x7D, stadium::bytes_of("trace"))
        .add("message/x.two", "")
        .add("a", "last");
    const auto text = [&](auto type) {
        return stadium::text_of(stadium::metadata_entry(metadata.bytes(), type).value());
    };
    CHECK(text("message/x.one") == "1" && text(std::uint8_t{0x7D}) == "trace" &&
          text("message/x.two").empty());
    CHECK(text("a") == "last" && !stadium::metadata_entry(metadata.bytes(), "b"));
    for (std::size_t size = 0; size < metadata.bytes().size(); size++) {
        CHECK(!stadium::metadata_entry(metadata.bytes().first(size), "a"));
    }
    THROWS(stadium::InvalidArgument, metadata.add("", "x"));
    THROWS(stadium::InvalidArgument, metadata.add(Text(129, 'x'), "x"));
}

int main() {
    entries();
    stadium::TraceContext context;
    context.trace_id.fill(0xAB);
    context.span_id = {1, 2, 3, 4, 5, 6, 7, 8};
    context.sampled = true;
    // A race detector does not see that an answer comes after its request: it sees the lock.
    std::mutex mutex;
    std::optional<stadium::TraceContext> last;
    const auto seen = [&] {
        const std::lock_guard lock(mutex);
        return last;
    };
    stadium::on_trace(
        {.inject = [] { return current; },
         .extract =
             [&](std::string_view route, const std::optional<stadium::TraceContext>& of_caller) {
                 CHECK(route == "words/Echo");
                 const std::lock_guard lock(mutex);
                 last = of_caller;
                 begun++;
                 return std::shared_ptr<void>(nullptr, [](void*) { ended++; });
             }});
    stadium::Service words("words");
    words.on(echo, [](const stadium::Context& call, const Text& text) {
        CHECK(begun == ended + 1);
        return text +
               Text(stadium::text_of(stadium::metadata_entry(call.metadata(), "message/x.own")
                                         .value_or(stadium::Bytes())));
    });
    const stadium::Server server(server_options(), words);
    const stadium::Client client(client_options(server.port()));
    CHECK(client.call(echo, Text("a")).get() == "a" && begun == 1 && ended == 1 && !seen());
    current = context;
    CHECK(client.call(echo, Text("a")).get() == "a" && seen() == context);
    context.sampled = false;
    current = context;
    const auto own = stadium::CallOptions().metadata(stadium::Metadata().add("message/x.own", "b"));
    CHECK(client.call(echo, Text("a"), own).get() == "ab" && seen() == context);
    CHECK(client.call(numbers, stadium::bytes_of("raw")).get().size() == 3);
    CHECK(begun == 4 && ended == 4);
    std::puts("hooks: all held");
}
