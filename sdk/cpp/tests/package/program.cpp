#include <stadium/stadium.hpp>

int main() {
    constexpr auto echo = stadium::unary<std::string, std::string>("words/Echo");
    stadium::Service words("words");
    words.on(echo, [](const std::string& text) { return text; });
    const stadium::Server server({.listen = {"127.0.0.1:0"}}, words);
    const stadium::Client client({.instances = {"127.0.0.1:" + std::to_string(server.port())}});
    return client.call(echo, std::string("hello")).get() == "hello" ? 0 : 1;
}
