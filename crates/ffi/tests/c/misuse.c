/* Wrong arguments, wrong settings, ends in any order, and a fork: errors, and never a crash. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void nulls(void) {
    stadium_event event;
    stadium_options options = tagged(0);
    CHECK(stadium_queue_take(NULL, &event, 1, 0) == STADIUM_INVALID);
    CHECK(strstr(stadium_last_error(), "queue is null") != NULL);
    CHECK(stadium_last_status() == STADIUM_INVALID);
    CHECK(stadium_queue_descriptor(NULL) == STADIUM_INVALID);
    CHECK(stadium_client_start(NULL, NULL) == NULL);
    CHECK(stadium_client_method(NULL, method("a/B", STADIUM_UNARY)) == NULL);
    CHECK(stadium_call(NULL, bytes(""), &options, NULL) == STADIUM_INVALID);
    CHECK(stadium_open(NULL, bytes(""), &options) == NULL);
    CHECK(stadium_stream_want(NULL, 1) == STADIUM_INVALID);
    CHECK(stadium_request_answer(NULL, bytes("")) == STADIUM_INVALID);
    CHECK(stadium_request_time_left_us(NULL) == STADIUM_INVALID);
    CHECK(stadium_request_key(NULL).data == NULL);
    CHECK(stadium_server_start("{}", NULL, 0, NULL) == NULL);
    CHECK(stadium_server_shutdown(NULL, 0) == STADIUM_INVALID);
    CHECK(stadium_local_new(NULL) == NULL);
    CHECK(stadium_local_take(NULL, &event, 1, 0) == STADIUM_INVALID);
    stadium_events_release(NULL, 5);
    stadium_queue_free(NULL);
    stadium_client_free(NULL);
    stadium_method_free(NULL);
    stadium_call_handle_free(NULL);
    stadium_stream_free(NULL);
    stadium_server_free(NULL);
    stadium_service_free(NULL);
    stadium_request_free(NULL);
    stadium_local_free(NULL);
    stadium_text_free(NULL);
}

static void settings(stadium_queue *queue) {
    CHECK(stadium_client_start("{", queue) == NULL);
    CHECK(stadium_client_start("{\"instances\": [\"127.0.0.1:1\"], \"dedline_ms\": 1}", queue) == NULL);
    CHECK(strstr(stadium_last_error(), "dedline_ms") != NULL);
    CHECK(stadium_client_start("{\"instances\": [\"127.0.0.1:1\"], \"name\": \"\xff\"}", queue) == NULL);
    CHECK(strstr(stadium_last_error(), "UTF-8") != NULL);
    stadium_service *service = stadium_service_new("words", "1");
    CHECK(stadium_service_method(service, method("other/Echo", STADIUM_UNARY), 1) == STADIUM_INVALID);
    CHECK(stadium_service_method(service, method("words", STADIUM_UNARY), 1) == STADIUM_INVALID);
    CHECK(stadium_service_method(service, method("words/Echo", 17), 1) == STADIUM_INVALID);
    CHECK(stadium_service_method(service, method("words/Echo", STADIUM_UNARY), 1) == STADIUM_DONE);
    const stadium_service *services[] = {service, NULL};
    CHECK(stadium_server_start("{\"listen\": [\"127.0.0.1:0\"]}", services, 2, queue) == NULL);
    stadium_server *server = stadium_server_start("{\"listen\": [\"127.0.0.1:0\"]}", services, 1, queue);
    CHECK(server != NULL);
    CHECK(stadium_server_port(server, 1) == STADIUM_INVALID);
    char taken[64];
    snprintf(taken, sizeof taken, "{\"listen\": [\"127.0.0.1:%d\"]}", stadium_server_port(server, 0));
    CHECK(stadium_server_start(taken, services, 1, queue) == NULL);
    CHECK(strstr(stadium_last_error(), "cannot listen") != NULL);
    CHECK(stadium_last_status() == STADIUM_SYSTEM);
    stadium_server_free(server);
    stadium_service_free(service);
}

/* Nobody listens at the address: the call ends, and within its deadline. */
static void nobody(stadium_queue *queue) {
    stadium_client *client = stadium_client_start("{\"instances\": [\"127.0.0.1:1\"]}", queue);
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    stadium_options options = tagged(3);
    options.deadline_us = 5000000;
    CHECK(stadium_call(echo, bytes("x"), &options, NULL) == STADIUM_DONE);
    stadium_event event = next(queue);
    CHECK(event.tag == 3 && event.outcome == STADIUM_UNAVAILABLE);
    release(&event);
    CHECK(stadium_open(echo, bytes("x"), &options) == NULL);
    CHECK(strstr(stadium_last_error(), "call it") != NULL);
    stadium_method_free(echo);
    stadium_client_free(client);
}

/* The client, then its queue, are freed with calls, streams and requests under way. */
static void ends_in_any_order(void) {
    stadium_queue *of_client = stadium_queue_new(), *of_server = stadium_queue_new();
    words words = serve(of_server);
    stadium_client *client = stadium_client_start(words.client_settings, of_client);
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    stadium_method *talk = stadium_client_method(client, method("words/Talk", STADIUM_CHANNEL));
    stadium_options options = tagged(1);
    stadium_call_handle *handle;
    CHECK(stadium_call(echo, bytes("x"), &options, &handle) == STADIUM_DONE);
    stadium_stream *stream = stadium_open(talk, bytes("x"), &options);
    stadium_event request = next(of_server);
    stadium_client_free(client);
    stadium_method_free(echo);
    stadium_queue_free(of_client);
    CHECK(stadium_call_cancel(handle) == STADIUM_DONE);
    stadium_call_handle_free(handle);
    stadium_stream_free(stream);
    stadium_method_free(talk);
    /* The second request may still be on the queue. */
    stadium_queue_free(of_server);
    stadium_request_answer(request.request, bytes("nobody hears it"));
    stadium_server_free(words.server);
    stadium_request_free(request.request);
    release(&request);
    stadium_service_free(words.service);
}

static void *child_of_fork(void *unused) {
    (void)unused;
    return NULL;
}

/* A child of fork(2) gets errors from its parent's objects, may free them, and may make its own. */
static void forked(stadium_queue *queue) {
    stadium_queue *of_server = stadium_queue_new();
    words words = serve(of_server);
    stadium_client *client = stadium_client_start(words.client_settings, queue);
    stadium_method *echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
    stadium_local *local = stadium_local_new(words.client_settings);
    int local_echo = stadium_local_method(local, method("words/Echo", STADIUM_UNARY));
    CHECK(local_echo >= 0);
    stadium_method *talk = stadium_client_method(client, method("words/Talk", STADIUM_CHANNEL));
    stadium_stream *stream = stadium_open(talk, bytes("stream"), NULL);
    stadium_event open = next(of_server);
    stadium_call_handle *handle;
    CHECK(stadium_call(echo, bytes("handle"), NULL, &handle) == STADIUM_DONE);
    stadium_event asked = next(of_server);
    CHECK(is(asked.payload, "handle"));
    stadium_event event;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(stadium_call(echo, bytes("x"), NULL, NULL) == STADIUM_FORKED);
        CHECK(strstr(stadium_last_error(), "fork") != NULL);
        CHECK(stadium_client_method(client, method("words/Tell", STADIUM_UNARY)) == NULL);
        CHECK(stadium_last_status() == STADIUM_FORKED);
        CHECK(stadium_call_cancel(handle) == STADIUM_FORKED);
        CHECK(stadium_stream_want(stream, 1) == STADIUM_FORKED);
        CHECK(stadium_stream_send(stream, bytes("x")) == STADIUM_FORKED);
        CHECK(stadium_stream_complete(stream) == STADIUM_FORKED);
        CHECK(stadium_stream_cancel(stream) == STADIUM_FORKED);
        CHECK(stadium_request_answer(asked.request, bytes("x")) == STADIUM_FORKED);
        CHECK(stadium_request_send(open.request, bytes("x")) == STADIUM_FORKED);
        CHECK(stadium_request_want(open.request, 1) == STADIUM_FORKED);
        stadium_call_handle_free(handle);
        stadium_stream_free(stream);
        stadium_request_free(asked.request);
        stadium_request_free(open.request);
        CHECK(stadium_queue_take(queue, &event, 1, SOON_US) == STADIUM_FORKED);
        CHECK(stadium_local_call(local, local_echo, bytes("x"), NULL) == STADIUM_FORKED);
        CHECK(stadium_server_shutdown(words.server, 10) == STADIUM_FORKED);
        stadium_method_free(echo);
        stadium_client_free(client);
        stadium_local_free(local);
        stadium_server_free(words.server);
        stadium_queue_free(queue);
        queue = stadium_queue_new();
        client = stadium_client_start(words.client_settings, queue);
        echo = stadium_client_method(client, method("words/Echo", STADIUM_UNARY));
        CHECK(stadium_call(echo, bytes("from the child"), NULL, NULL) == STADIUM_DONE);
        event = next(queue);
        CHECK(event.outcome == STADIUM_OK && is(event.payload, "welcome"));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, child_of_fork, NULL) == 0 && pthread_join(thread, NULL) == 0);
        exit(0);
    }
    stadium_event request = next(of_server);
    CHECK(is(request.payload, "from the child"));
    CHECK(stadium_request_answer(request.request, bytes("welcome")) == STADIUM_DONE);
    int how;
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    stadium_request_free(request.request);
    release(&request);
    /* The parent's own objects still work. */
    CHECK(stadium_request_answer(asked.request, bytes("still here")) == STADIUM_DONE);
    event = next(queue);
    CHECK(is(event.payload, "still here"));
    release(&event);
    CHECK(stadium_request_send(open.request, bytes("item")) == STADIUM_DONE);
    event = next(queue);
    CHECK(event.kind == STADIUM_ITEM && is(event.payload, "item"));
    release(&event);
    stadium_call_handle_free(handle);
    stadium_stream_free(stream);
    stadium_method_free(talk);
    event = next(of_server);
    CHECK(event.kind == STADIUM_REQUEST_CANCELLED);
    stadium_request_free(asked.request);
    stadium_request_free(open.request);
    release(&asked);
    release(&open);
    CHECK(stadium_call(echo, bytes("parent"), NULL, NULL) == STADIUM_DONE);
    request = next(of_server);
    CHECK(is(request.payload, "parent"));
    stadium_request_answer(request.request, bytes("yes"));
    stadium_request_free(request.request);
    release(&request);
    event = next(queue);
    CHECK(event.outcome == STADIUM_OK);
    release(&event);
    CHECK(stadium_local_call(local, local_echo, bytes("local"), NULL) == STADIUM_DONE);
    CHECK(stadium_local_take(local, &event, 1, 100000) == 0);
    request = next(of_server);
    stadium_request_answer(request.request, bytes("too"));
    stadium_request_free(request.request);
    release(&request);
    CHECK(stadium_local_take(local, &event, 1, SOON_US) == 1 && is(event.payload, "too"));
    stadium_local_free(local);
    stadium_method_free(echo);
    stadium_client_free(client);
    stop(&words);
    stadium_queue_free(of_server);
}

int main(void) {
    stadium_queue *queue = stadium_queue_new();
    nulls();
    settings(queue);
    nobody(queue);
    ends_in_any_order();
    forked(queue);
    stadium_queue_free(queue);
    puts("misuse: all held");
    return 0;
}
