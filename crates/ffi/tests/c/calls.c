/* Calls of every interaction, from a client to a server of this process, each with a queue. */
#include <poll.h>

#include "check.h"

static stadium_queue *of_client, *of_server;
static stadium_client *client;

static void unary(void) {
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    CHECK(echo != NULL);
    stadium_options options = tagged(7);
    options.key = bytes("phone-1");
    options.deadline_us = 15000000;
    CHECK(stadium_call(echo, bytes("hello"), &options, NULL) == STADIUM_DONE);

    stadium_event event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST && event.tag == ECHO && event.request_id > 0);
    CHECK(is(event.payload, "hello"));
    CHECK(is(stadium_request_route(event.request), "words/Echo"));
    CHECK(is(stadium_request_key(event.request), "phone-1"));
    CHECK(is(stadium_request_bearer(event.request), "token-1"));
    CHECK(stadium_request_metadata(event.request).size > 20);
    int64_t left_us = stadium_request_time_left_us(event.request);
    CHECK(left_us > 1000000 && left_us <= 15000000);
    CHECK(stadium_request_answer(event.request, bytes("HELLO")) == STADIUM_DONE);
    CHECK(stadium_request_answer(event.request, bytes("again")) == STADIUM_ENDED);
    stadium_request_free(event.request);
    release(&event);
    release(&event);

    event = next(of_client);
    CHECK(event.kind == STADIUM_ANSWER && event.tag == 7 && event.outcome == STADIUM_OK);
    CHECK(is(event.payload, "HELLO") && event.request == NULL);
    release(&event);

    char *explained = stadium_explain(echo, bytes("phone-1"));
    CHECK(explained != NULL && strstr(explained, "127.0.0.1") != NULL);
    stadium_text_free(explained);
    stadium_method_free(echo);
}

static void one_way(void) {
    stadium_method *tell = stadium_client_method(client, method("words/Tell", STADIUM_ONE_WAY));
    stadium_call_handle *handle;
    CHECK(stadium_call(tell, bytes("news"), NULL, &handle) == STADIUM_DONE && handle == NULL);
    stadium_event event = next(of_server);
    CHECK(event.tag == TELL && is(event.payload, "news"));
    stadium_request_free(event.request);
    release(&event);
    stadium_method_free(tell);
}

static void refuse(stadium_refusal refusal) {
    stadium_event event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST);
    CHECK(stadium_request_refuse(event.request, refusal) == STADIUM_DONE);
    stadium_request_free(event.request);
    release(&event);
}

static void refusals(void) {
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    stadium_refusal refusals[] = {
        {STADIUM_BUSY, NULL, "full", 250, 0},
        {STADIUM_REJECTED, "WORDS-001", "not this word", 0, 0},
        {STADIUM_UNKNOWN, "WORDS-002", "it broke", 0, 0},
        {STADIUM_APPLICATION, NULL, "their own", 0, 0x301},
    };
    for (size_t nth = 0; nth < sizeof refusals / sizeof *refusals; nth++) {
        CHECK(stadium_call(echo, bytes("x"), NULL, NULL) == STADIUM_DONE);
        refuse(refusals[nth]);
        stadium_event event = next(of_client);
        CHECK(event.outcome == refusals[nth].outcome);
        CHECK(is(event.payload, refusals[nth].text));
        CHECK(is(event.code, refusals[nth].code == NULL ? "" : refusals[nth].code));
        CHECK(event.retry_after_ms == refusals[nth].retry_after_ms);
        CHECK(event.number == refusals[nth].number);
        release(&event);
    }

    /* A request that is dropped without an answer. */
    CHECK(stadium_call(echo, bytes("x"), NULL, NULL) == STADIUM_DONE);
    stadium_event event = next(of_server);
    stadium_request_free(event.request);
    release(&event);
    event = next(of_client);
    CHECK(event.outcome == STADIUM_UNKNOWN && is(event.code, "RPC-007"));
    release(&event);
    stadium_method_free(echo);
}

static void deadline_and_cancel(void) {
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    stadium_options options = tagged(1);
    options.deadline_us = 50000;
    CHECK(stadium_call(echo, bytes("slow"), &options, NULL) == STADIUM_DONE);
    stadium_event request = next(of_server);
    stadium_event event = next(of_client);
    CHECK(event.outcome == STADIUM_DEADLINE && event.tag == 1);
    release(&event);
    event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST_CANCELLED && event.request_id == request.request_id);
    CHECK(stadium_request_answer(request.request, bytes("late")) == STADIUM_ENDED);
    stadium_request_free(request.request);
    release(&request);

    stadium_call_handle *handle;
    options = tagged(2);
    CHECK(stadium_call(echo, bytes("given up"), &options, &handle) == STADIUM_DONE && handle != NULL);
    request = next(of_server);
    CHECK(stadium_call_cancel(handle) == STADIUM_DONE);
    CHECK(stadium_call_cancel(handle) == STADIUM_DONE);
    stadium_call_handle_free(handle);
    event = next(of_client);
    CHECK(event.outcome == STADIUM_CANCELLED && event.tag == 2);
    release(&event);
    event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST_CANCELLED && event.request_id == request.request_id);
    stadium_request_free(request.request);
    release(&request);
    stadium_method_free(echo);
}

/* The server sends more than fits; the caller takes three, and then the rest. */
static void stream(void) {
    enum { MESSAGES = 1000 };
    stadium_method *count = stadium_client_method(client, method("words/Count", STADIUM_STREAM));
    stadium_options options = tagged(9);
    options.credit = 3;
    stadium_stream *stream = stadium_open(count, bytes("go"), &options);
    CHECK(stream != NULL);
    CHECK(stadium_stream_send(stream, bytes("x")) == STADIUM_ENDED);
    stadium_event request = next(of_server);
    CHECK(request.tag == COUNT && is(request.payload, "go"));

    char text[16];
    int sent = 0, taken = 0, full = 0, finished = 0, ended = 0;
    while (!ended) {
        while (sent < MESSAGES) {
            snprintf(text, sizeof text, "%d", sent);
            int status = stadium_request_send(request.request, bytes(text));
            if (status == STADIUM_FULL) {
                full = 1;
                break;
            }
            CHECK(status == STADIUM_DONE);
            sent++;
        }
        if (sent == MESSAGES && !finished) {
            finished = 1;
            CHECK(stadium_request_answer(request.request, bytes("")) == STADIUM_DONE);
        }
        stadium_event events[16];
        int64_t count = stadium_queue_take(of_client, events, 16, 1000);
        CHECK(count >= 0);
        for (int64_t nth = 0; nth < count; nth++) {
            CHECK(events[nth].tag == 9);
            if (events[nth].kind == STADIUM_ITEM) {
                snprintf(text, sizeof text, "%d", taken);
                CHECK(is(events[nth].payload, text));
                taken++;
                CHECK(taken <= 3 || full);
                if (taken >= 3 && full) {
                    CHECK(stadium_stream_want(stream, taken == 3 ? 3 : 1) == STADIUM_DONE);
                }
            } else {
                CHECK(events[nth].kind == STADIUM_END && events[nth].outcome == STADIUM_OK);
                ended = 1;
            }
        }
        stadium_events_release(events, count);
        if (full && sent < MESSAGES) {
            stadium_event writable;
            int64_t count = stadium_queue_take(of_server, &writable, 1, 0);
            CHECK(count == 0 || (count == 1 && writable.kind == STADIUM_WRITABLE));
        }
    }
    CHECK(taken == MESSAGES && full);
    stadium_request_free(request.request);
    release(&request);
    stadium_stream_free(stream);

    stadium_event event;
    while (stadium_queue_take(of_server, &event, 1, 0) == 1) {
        CHECK(event.kind == STADIUM_WRITABLE);
        release(&event);
    }
    stream = stadium_open(count, bytes("go"), &options);
    request = next(of_server);
    CHECK(stadium_stream_cancel(stream) == STADIUM_DONE);
    event = next(of_client);
    CHECK(event.kind == STADIUM_END && event.outcome == STADIUM_CANCELLED);
    release(&event);
    stadium_stream_free(stream);
    event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST_CANCELLED);
    CHECK(stadium_request_send(request.request, bytes("x")) == STADIUM_ENDED);
    stadium_request_free(request.request);
    release(&request);
    stadium_method_free(count);
}

static void channel(void) {
    stadium_method *talk = stadium_client_method(client, method("words/Talk", STADIUM_CHANNEL));
    stadium_options options = tagged(5);
    stadium_stream *stream = stadium_open(talk, bytes("one"), &options);
    CHECK(stream != NULL);
    stadium_event request = next(of_server);
    CHECK(request.kind == STADIUM_REQUEST && request.tag == TALK && request.payload.size == 0);
    CHECK(stadium_stream_send(stream, bytes("two")) == STADIUM_DONE);
    CHECK(stadium_stream_complete(stream) == STADIUM_DONE);
    CHECK(stadium_request_want(request.request, 10) == STADIUM_DONE);
    const char *said[] = {"one", "two"};
    for (int nth = 0; nth < 2; nth++) {
        stadium_event item = next(of_server);
        CHECK(item.kind == STADIUM_REQUEST_ITEM && item.request_id == request.request_id);
        CHECK(is(item.payload, said[nth]));
        CHECK(stadium_request_send(request.request, item.payload) == STADIUM_DONE);
        release(&item);
        item = next(of_client);
        CHECK(item.kind == STADIUM_ITEM && is(item.payload, said[nth]));
        release(&item);
    }
    stadium_event event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST_END && event.request_id == request.request_id);
    CHECK(stadium_request_answer(request.request, bytes("")) == STADIUM_DONE);
    event = next(of_client);
    CHECK(event.kind == STADIUM_END && event.outcome == STADIUM_OK);
    stadium_request_free(request.request);
    release(&request);
    stadium_stream_free(stream);
    stadium_method_free(talk);
}

/* The caller of a channel sends more than the service takes. */
static void full_channel(void) {
    stadium_method *talk = stadium_client_method(client, method("words/Talk", STADIUM_CHANNEL));
    stadium_options options = tagged(6);
    stadium_stream *stream = stadium_open(talk, bytes("first"), &options);
    stadium_event request = next(of_server);
    int sent = 0, status;
    while ((status = stadium_stream_send(stream, bytes("more"))) == STADIUM_DONE) {
        CHECK(++sent < 100000);
    }
    CHECK(status == STADIUM_FULL && sent > 100);
    CHECK(stadium_request_want(request.request, 100000) == STADIUM_DONE);
    stadium_event event = next(of_client);
    CHECK(event.kind == STADIUM_WRITABLE && event.tag == 6);
    for (int nth = 0; nth <= sent; nth++) {
        stadium_event item = next(of_server);
        CHECK(item.kind == STADIUM_REQUEST_ITEM);
        release(&item);
    }
    stadium_stream_free(stream);
    do {
        event = next(of_server);
    } while (event.kind == STADIUM_REQUEST_ITEM || event.kind == STADIUM_REQUEST_END);
    CHECK(event.kind == STADIUM_REQUEST_CANCELLED);
    stadium_request_free(request.request);
    release(&request);
    stadium_method_free(talk);
}

/* The descriptor is readable while there are events, and not after a take that found none. */
static void descriptor(void) {
    stadium_event event;
    CHECK(stadium_queue_take(of_client, &event, 1, 0) == 0);
    struct pollfd waiting = {stadium_queue_descriptor(of_client), POLLIN, 0};
    CHECK(waiting.fd >= 0 && poll(&waiting, 1, 0) == 0);
    stadium_method *nowhere = stadium_client_method(client, method("words/Nowhere", STADIUM_UNARY));
    for (int nth = 0; nth < 3; nth++) {
        CHECK(stadium_call(nowhere, bytes(""), NULL, NULL) == STADIUM_DONE);
    }
    for (int nth = 0; nth < 3; nth++) {
        CHECK(poll(&waiting, 1, SOON_US / 1000) == 1);
        CHECK(stadium_queue_take(of_client, &event, 1, 0) == 1);
        CHECK(event.outcome == STADIUM_REJECTED && is(event.code, "RPC-002"));
        release(&event);
    }
    CHECK(stadium_queue_take(of_client, &event, 1, 0) == 0);
    CHECK(poll(&waiting, 1, 0) == 0);
    CHECK(stadium_queue_take(of_client, &event, 1, 1000) == 0);
    stadium_method_free(nowhere);
}

int main(void) {
    of_client = stadium_queue_new();
    of_server = stadium_queue_new();
    CHECK(of_client != NULL && of_server != NULL);
    words words = serve(of_server);
    client = stadium_client_start(words.client_settings, of_client);
    CHECK(client != NULL);
    unary();
    one_way();
    refusals();
    deadline_and_cancel();
    stream();
    channel();
    full_channel();
    descriptor();
    stadium_client_free(client);
    stop(&words);
    stadium_queue_free(of_client);
    stadium_queue_free(of_server);
    puts("calls: all held");
    return 0;
}
