#include <stadium/api/queue.hpp>

// Nobody listens there.
int main() {
    const stadium::Api api({.instances = {"127.0.0.1:1"}, .deadline = std::chrono::seconds(2)},
                           stadium::ApiKey::text("sk_none"));
    try {
        stadium::Queue(api, "mail").put("hello").get();
    } catch (const stadium::Unavailable&) {
        return 0;
    }
    return 1;
}
