// Wrong on purpose: a service counts in a plain variable that another thread reads. The thread
// sanitizer must say so, although the library between the two threads is not instrumented.
#include "check.hpp"

constexpr auto tell = stadium::one_way<Text>("words/Tell");

static int told = 0;

int main() {
    stadium::Service words("words");
    words.on(tell, [](const Text&) { told++; });
    const stadium::Server server(server_options(), words);
    const stadium::Client client(client_options(server.port()));
    client.one_way(tell, Text("news"));
    eventually([] { return told == 1; }, "the news arrived");
    std::printf("not noticed: %d\n", told);
}
