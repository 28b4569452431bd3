// Wrong on purpose: reads a text of the library after it was freed. The address sanitizer must say
// so, although the library itself is not instrumented: it replaces the allocator of the process.
#include <cstdio>

#include <stadium.h>

int main() {
    stadium_queue* queue = stadium_queue_new();
    stadium_client* client =
        stadium_client_start("{\"instances\": [\"127.0.0.1:1\"]}", queue);
    stadium_method* method = stadium_client_method(client, {"words/Echo", STADIUM_UNARY, 1});
    char* text = stadium_explain(method, {nullptr, 0});
    if (text == nullptr) {
        std::fprintf(stderr, "no text: %s\n", stadium_last_error());
        return 1;
    }
    stadium_text_free(text);
    const volatile char* freed = text;
    std::printf("not noticed: %d\n", *freed);
    stadium_method_free(method);
    stadium_client_free(client);
    stadium_queue_free(queue);
}
