/* Many calls at once: threads that call, threads that take, threads that answer; and a client without a thread. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

enum { THREADS = 4, CALLS = 20000, BATCH = 64 };

static stadium_queue *of_client, *of_server;
static stadium_method *echo;
static atomic_int answered, done;

static void *calls(void *first) {
    for (uint64_t nth = 0; nth < CALLS / THREADS; nth++) {
        char text[32];
        uint64_t tag = (uint64_t)(uintptr_t)first + nth;
        snprintf(text, sizeof text, "%" PRIu64, tag);
        stadium_options options = tagged(tag);
        CHECK(stadium_call(echo, bytes(text), &options, NULL) == STADIUM_DONE);
        while (nth > (uint64_t)atomic_load(&answered) / THREADS + 200) {
            sched_yield();
        }
    }
    return NULL;
}

static void *takes(void *seen_by_tag) {
    unsigned char *seen = seen_by_tag;
    stadium_event events[BATCH];
    while (atomic_load(&answered) < CALLS) {
        int64_t count = stadium_queue_take(of_client, events, BATCH, 10000);
        CHECK(count >= 0);
        for (int64_t nth = 0; nth < count; nth++) {
            char text[32];
            snprintf(text, sizeof text, "%" PRIu64, events[nth].tag);
            CHECK(events[nth].outcome == STADIUM_OK && is(events[nth].payload, text));
            seen[events[nth].tag]++;
        }
        atomic_fetch_add(&answered, (int)count);
        stadium_events_release(events, count);
    }
    return NULL;
}

static void *answers(void *unused) {
    (void)unused;
    stadium_event events[BATCH];
    while (!atomic_load(&done)) {
        int64_t count = stadium_queue_take(of_server, events, BATCH, 10000);
        CHECK(count >= 0);
        for (int64_t nth = 0; nth < count; nth++) {
            CHECK(stadium_request_answer(events[nth].request, events[nth].payload) == STADIUM_DONE);
            stadium_request_free(events[nth].request);
        }
        stadium_events_release(events, count);
    }
    return NULL;
}

static void local(const char *settings) {
    stadium_local *local = stadium_local_new(settings);
    CHECK(local != NULL);
    CHECK(stadium_local_method(local, method("words/Count", STADIUM_STREAM)) == STADIUM_INVALID);
    CHECK(stadium_local_call(local, 5, bytes(""), NULL) == STADIUM_INVALID);
    int unary = stadium_local_method(local, method("words/Echo", STADIUM_UNARY));
    int nowhere = stadium_local_method(local, method("words/Nowhere", STADIUM_UNARY));
    CHECK(unary >= 0 && nowhere >= 0);
    stadium_event events[BATCH];
    uint64_t sum = 0, rejected = 0;
    for (uint64_t tag = 0; tag < 2000; tag++) {
        stadium_options options = tagged(tag);
        CHECK(stadium_local_call(local, tag % 10 == 0 ? nowhere : unary, bytes("echo"), &options) == 0);
    }
    for (uint64_t taken = 0; taken < 2000;) {
        int64_t count = stadium_local_take(local, events, BATCH, SOON_US);
        CHECK(count > 0);
        for (int64_t nth = 0; nth < count; nth++) {
            if (events[nth].tag % 10 == 0) {
                CHECK(events[nth].outcome == STADIUM_REJECTED && is(events[nth].code, "RPC-002"));
                rejected++;
            } else {
                CHECK(events[nth].outcome == STADIUM_OK && is(events[nth].payload, "echo"));
            }
            sum += events[nth].tag;
        }
        taken += (uint64_t)count;
    }
    CHECK(sum == 1999 * 1000 && rejected == 200);
    CHECK(stadium_local_take(local, events, BATCH, 1000) == 0);
    stadium_local_free(local);
}

int main(void) {
    of_client = stadium_queue_new();
    of_server = stadium_queue_new();
    words words = serve(of_server);
    stadium_client *client = stadium_client_start(words.client_settings, of_client);
    echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    unsigned char *seen = calloc(2, CALLS);
    pthread_t threads[THREADS + 4];
    for (uintptr_t nth = 0; nth < 2; nth++) {
        CHECK(pthread_create(&threads[nth], NULL, answers, NULL) == 0);
        CHECK(pthread_create(&threads[2 + nth], NULL, takes, seen + nth * CALLS) == 0);
    }
    for (uintptr_t nth = 0; nth < THREADS; nth++) {
        void *first = (void *)(nth * (CALLS / THREADS));
        CHECK(pthread_create(&threads[4 + nth], NULL, calls, first) == 0);
    }
    for (int nth = 2; nth < THREADS + 4; nth++) {
        CHECK(pthread_join(threads[nth], NULL) == 0);
    }
    for (int nth = 0; nth < CALLS; nth++) {
        CHECK(seen[nth] + seen[CALLS + nth] == 1);
    }
    local(words.client_settings);
    atomic_store(&done, 1);
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    free(seen);
    stadium_method_free(echo);
    stadium_client_free(client);
    stop(&words);
    stadium_queue_free(of_client);
    stadium_queue_free(of_server);
    puts("many: all held");
    return 0;
}
