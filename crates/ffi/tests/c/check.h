/* What every test program of the C ABI needs: assertions that name their place, and waiting. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stadium.h"

/* The longest that anything may take that happens at all. */
#define SOON_US 20000000

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
                    stadium_last_error());                                                     \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

static inline stadium_bytes bytes(const char *text) {
    stadium_bytes bytes = {(const uint8_t *)text, strlen(text)};
    return bytes;
}

static inline int is(stadium_bytes bytes, const char *text) {
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static inline stadium_method_id method(const char *route, int interaction) {
    stadium_method_id id = {route, interaction, 0};
    return id;
}

/* The next event; there must be one. */
#define next(queue) next_at(queue, __LINE__)

static inline stadium_event next_at(stadium_queue *queue, int line) {
    stadium_event event;
    int64_t taken = stadium_queue_take(queue, &event, 1, SOON_US);
    if (taken != 1) {
        fprintf(stderr, "line %d: no event: %" PRId64 "\n", line, taken);
        exit(1);
    }
    return event;
}

static inline void release(stadium_event *event) { stadium_events_release(event, 1); }

static inline stadium_options tagged(uint64_t tag) {
    stadium_options options;
    memset(&options, 0, sizeof options);
    options.tag = tag;
    return options;
}

/* A server of one service "words" on a free port, whose requests arrive on the queue. */
typedef struct {
    stadium_service *service;
    stadium_server *server;
    char client_settings[128];
} words;

enum { ECHO = 1, TELL, COUNT, TALK };

static inline words serve(stadium_queue *queue) {
    words words;
    words.service = stadium_service_new("words", "1");
    CHECK(words.service != NULL);
    CHECK(stadium_service_method(words.service, method("words/Echo", STADIUM_UNARY), ECHO) == 0);
    CHECK(stadium_service_method(words.service, method("words/Tell", STADIUM_ONE_WAY), TELL) == 0);
    CHECK(stadium_service_method(words.service, method("words/Count", STADIUM_STREAM), COUNT) == 0);
    CHECK(stadium_service_method(words.service, method("words/Talk", STADIUM_CHANNEL), TALK) == 0);
    const stadium_service *services[] = {words.service};
    /* The limit does not follow latency: the machine of a test may be busy. */
    words.server = stadium_server_start("{\"listen\": [\"127.0.0.1:0\"], \"admission\": {"
                                        "\"concurrency_min\": 10000, \"concurrency_initial\": 10000}}",
                                        services, 1, queue);
    CHECK(words.server != NULL);
    int port = stadium_server_port(words.server, 0);
    CHECK(port > 0);
    snprintf(words.client_settings, sizeof words.client_settings,
             "{\"instances\": [\"127.0.0.1:%d\"], \"deadline_ms\": 20000, \"attempts\": 1, "
             "\"bearer\": \"token-1\"}", port);
    return words;
}

static inline void stop(words *words) {
    CHECK(stadium_server_shutdown(words->server, 10000) >= 0);
    stadium_server_free(words->server);
    stadium_service_free(words->service);
}

#endif
