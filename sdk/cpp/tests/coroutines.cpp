// co_await at the caller and in the service: calls, streams, channels, executors, exceptions, ends
// in the middle.
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace std::chrono_literals;

constexpr auto echo = stadium::unary<Text, Text>("words/Echo");
constexpr auto twice = stadium::unary<Text, Text>("words/Twice");
constexpr auto fail = stadium::unary<Text, Text>("words/Fail");
constexpr auto hang = stadium::unary<Text, Text>("words/Hang");
constexpr auto tell = stadium::one_way<Text>("words/Tell");
constexpr auto count = stadium::stream<Text, Text>("words/Count");
constexpr auto talk = stadium::channel<Text, Text>("words/Talk");

static std::atomic<int> told{0}, hanging{0}, given_up{0};

/// An executor with one thread.
class OneThread {
  public:
    OneThread() : thread_([this] { work(); }) {}
    ~OneThread() {
        run([this] { done_ = true; });
        thread_.join();
    }
    void run(std::function<void()> function) {
        const std::lock_guard lock(mutex_);
        functions_.push_back(std::move(function));
        changed_.notify_one();
    }
    [[nodiscard]] stadium::Executor executor() {
        return [this](std::function<void()> function) { run(std::move(function)); };
    }
    [[nodiscard]] bool is_here() const { return std::this_thread::get_id() == thread_.get_id(); }

  private:
    void work() {
        while (!done_) {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return !functions_.empty(); });
            const auto function = std::move(functions_.front());
            functions_.pop_front();
            lock.unlock();
            function();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> functions_;
    bool done_ = false;
    std::thread thread_;
};

/// A client that is made after the service which calls it. A race detector does not see that a
/// request comes after the client: it sees the lock.
class LateClient {
  public:
    void set(std::optional<stadium::ClientOptions> options) {
        const std::lock_guard lock(mutex_);
        client_.reset();
        if (options) {
            client_.emplace(*options);
        }
    }
    const stadium::Client* operator->() const {
        const std::lock_guard lock(mutex_);
        return &*client_;
    }

  private:
    mutable std::mutex mutex_;
    std::optional<stadium::Client> client_;
};

/// The service calls its own client, so that its coroutines really wait.
static stadium::Service words(const std::shared_ptr<LateClient>& own) {
    stadium::Service service("words");
    service.on(echo, [](const Text& text) { return text; });
    service.on(twice, [own](const Text& text) -> stadium::Task<Text> {
        const Text once = co_await (*own)->call(echo, text);
        co_return once + co_await (*own)->call(echo, text);
    });
    service.on(fail, [own](stadium::Context, Text text) -> stadium::Task<Text> {
        text = co_await (*own)->call(echo, text);
        if (text == "refuse") {
            throw stadium::Refusal::rejected("WORDS-001", text);
        }
        throw std::runtime_error("a secret of the service");
    });
    service.on(hang, [own](stadium::Context context, Text) -> stadium::Task<Text> {
        hanging++;
        while (!context.cancelled()) {
            co_await (*own)->call(echo, Text());
        }
        given_up++;
        co_return "too late";
    });
    service.on(tell, [own](Text text) -> stadium::Task<> {
        co_await (*own)->call(echo, text);
        told++;
    });
    service.on(count,
               [](const stadium::Context&, const Text& upto,
                  stadium::Sender<Text>& out) -> stadium::Task<> {
                   const int last = std::stoi(upto);
                   for (int nth = 0; nth < last; nth++) {
                       co_await out.async_send(std::to_string(nth));
                   }
               });
    service.on(talk,
               [](stadium::Receiver<Text>& in, stadium::Sender<Text>& out) -> stadium::Task<> {
                   while (const auto message = co_await in.next()) {
                       co_await out.async_send("heard " + *message);
                   }
               });
    return service;
}

static stadium::Task<int> calls(const stadium::Client& client) {
    // g++ 12 destroys temporaries of a co_await within ?: in the wrong place: CHECK has none
    // inside.
    const Text once = co_await client.call(echo, Text("a"));
    const Text four = co_await client.call(twice, Text("ab"));
    CHECK(once == "a" && four == "abab");
    try {
        co_await client.call(fail, Text("refuse"));
        CHECK(false);
    } catch (const stadium::Rejected& rejected) {
        CHECK(rejected.code() == "WORDS-001");
    }
    try {
        co_await client.call(fail, Text("throw"));
        CHECK(false);
    } catch (const stadium::Unknown& unknown) {
        CHECK(unknown.code() == "RPC-007");
    }
    client.one_way(tell, Text("news"));
    co_return 7;
}

static stadium::Task<> streams(const stadium::Client& client) {
    auto numbers = client.open(count, Text("3000"));
    int next = 0;
    while (const auto number = co_await numbers.next()) {
        CHECK(*number == std::to_string(next++));
    }
    CHECK(next == 3000);

    auto channel = client.open(talk, Text("first"));
    for (int nth = 0; nth < 3000; nth++) {
        co_await channel.async_send(std::to_string(nth));
        if (nth % 6 != 0) {
            const auto heard = co_await channel.next();
            CHECK(heard && heard->starts_with("heard "));
        }
    }
    channel.complete();
    int rest = 0;
    while (co_await channel.next()) {
        rest++;
    }
    CHECK(rest == 501);
    try {
        co_await channel.async_send("late");
        CHECK(false);
    } catch (const stadium::Ended&) {
    }
}

static stadium::Task<> on_executor(const stadium::Client& client, const OneThread& thread,
                                   const stadium::Executor& other, const OneThread& other_thread) {
    // An answer that is there already does not change the thread.
    while (!thread.is_here()) {
        co_await client.call(echo, Text("a"));
    }
    while (!other_thread.is_here()) {
        co_await client.call(echo, Text("a")).via(other);
    }
    while (!thread.is_here()) {
        co_await client.call(echo, Text("a"));
    }
}

static stadium::Task<Text> answer_of(stadium::Future<Text> future) {
    co_return co_await std::move(future);
}

static stadium::Task<> forever(const stadium::Client& client) {
    co_await client.call(hang, Text());
}

int main() {
    stadium::on_log([](const stadium::LogEvent&) {});
    const auto own = std::make_shared<LateClient>();
    for (const unsigned workers : {1U, 4U}) {
        given_up = hanging = told = 0;
        stadium::ServerOptions options = server_options();
        options.workers = workers;
        auto server = std::make_unique<stadium::Server>(options, words(own));
        own->set(client_options(server->port()));
        const stadium::Client client(client_options(server->port()));
        CHECK(stadium::sync_wait(calls(client)) == 7);
        eventually([] { return told == 1; }, "the news arrived");
        auto ready = client.call(echo, Text("ready"));
        ready.wait();
        CHECK(stadium::sync_wait(answer_of(std::move(ready))) == "ready");
        stadium::sync_wait(streams(client));
        {
            OneThread thread, other;
            stadium::sync_wait(on_executor(client, thread, other.executor(), other),
                               thread.executor());
        }
        try {
            client.call(hang, Text(), stadium::CallOptions().deadline(30ms)).get();
            CHECK(false);
        } catch (const stadium::DeadlineExceeded&) {
        }
        eventually([] { return given_up == 1; }, "the coroutine noticed its deadline");

        // A task that is destroyed while it waits cancels its call.
        std::atomic<bool> ended{false};
        {
            stadium::Task<> task = forever(client);
            // It runs to its first wait, where it stays.
            task.await_suspend(std::noop_coroutine()).resume();
            eventually([] { return hanging == 2; }, "the function runs");
        }
        eventually([] { return given_up == 2; }, "destruction cancelled the call");

        stadium::spawn(
            [](const stadium::Client& caller, std::atomic<bool>& done) -> stadium::Task<> {
                const auto here = std::this_thread::get_id();
                while (std::this_thread::get_id() == here) {
                    co_await caller.call(echo, Text("a"));
                }
                // This is the dispatcher: a blocking wait would never end.
                auto blocked = caller.call(hang, Text());
                THROWS(stadium::InvalidArgument, blocked.wait());
                done = true;
            }(client, ended));
        eventually([&] { return ended.load(); }, "the task ended");
        server->shutdown(10s);
        // Functions whose callers gave up may still run until the server is destroyed.
        server.reset();
        own->set(std::nullopt);
    }
    std::puts("coroutines: all held");
}
