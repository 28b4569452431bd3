/* Stadium's RPC clients and servers, for C and for languages that bind to C.
 *
 * Generated from crates/ffi by `cargo xtask fix`. docs/c-abi.md is the guide.
 * SPDX-License-Identifier: Apache-2.0 */

#ifndef STADIUM_H
#define STADIUM_H

#include <stddef.h>
#include <stdint.h>

// The version of this header. It grows with each change that programs have to be compiled again for.
#define STADIUM_ABI_VERSION 1

// Why a function failed. Negative, so that it can stand where a count does.
typedef enum stadium_status {
  // The function did what it was asked for.
  STADIUM_DONE = 0,
  // An argument or a setting is wrong. Nothing happened.
  STADIUM_INVALID = -1,
  // The system refuses a thread, a descriptor or an address.
  STADIUM_SYSTEM = -2,
  // A bound is reached. Nothing happened; STADIUM_WRITABLE follows.
  STADIUM_FULL = -3,
  // The call, the stream or the request has ended.
  STADIUM_ENDED = -4,
  // The process was forked after the object was made: its threads are in the parent.
  STADIUM_FORKED = -5,
  // A defect of this library.
  STADIUM_INTERNAL = -6,
} stadium_status;

// How a method's messages go.
typedef enum stadium_interaction {
  // One request, one answer.
  STADIUM_UNARY = 0,
  // One request, no answer.
  STADIUM_ONE_WAY = 1,
  // One request, a stream of answers.
  STADIUM_STREAM = 2,
  // A stream of requests, a stream of answers.
  STADIUM_CHANNEL = 3,
} stadium_interaction;

// The kind of an event.
typedef enum stadium_kind {
  // A unary call has ended.
  STADIUM_ANSWER = 0,
  // A stream has a message.
  STADIUM_ITEM = 1,
  // A stream has ended; its last event.
  STADIUM_END = 2,
  // A stream or a request that was full takes messages again.
  STADIUM_WRITABLE = 3,
  // A server has a request; free it when it is answered.
  STADIUM_REQUEST = 4,
  // The caller of a channel has sent a message.
  STADIUM_REQUEST_ITEM = 5,
  // The caller of a channel has sent its last message.
  STADIUM_REQUEST_END = 6,
  // Nobody waits for the answer to a request any more.
  STADIUM_REQUEST_CANCELLED = 7,
} stadium_kind;

// How a call ended.
typedef enum stadium_outcome {
  // It was answered.
  STADIUM_OK = 0,
  // The service is busy. Nothing happened; send it again after retry_after_ms.
  STADIUM_BUSY = 1,
  // The service will never do it. Nothing happened.
  STADIUM_REJECTED = 2,
  // The service failed on its way: it may have happened.
  STADIUM_UNKNOWN = 3,
  // An error of the service's own: number and text are its business.
  STADIUM_APPLICATION = 4,
  // The deadline passed: it may have happened.
  STADIUM_DEADLINE = 5,
  // No instance could be reached. Nothing happened.
  STADIUM_UNAVAILABLE = 6,
  // The connection broke during the call: it may have happened.
  STADIUM_BROKEN = 7,
  // The caller gave up.
  STADIUM_CANCELLED = 8,
  // The peer sent something that cannot be understood.
  STADIUM_PROTOCOL = 9,
} stadium_outcome;

// A request to be answered. Any thread may use it.
typedef struct stadium_request stadium_request;

// A unary call that may be cancelled.
typedef struct stadium_call_handle stadium_call_handle;

// A client with a thread of its own.
typedef struct stadium_client stadium_client;

// A client without a thread: it works while its one caller waits. Not for several threads.
typedef struct stadium_local stadium_local;

// A method of a client's service.
typedef struct stadium_method stadium_method;

// A completion queue: the events of any number of clients and servers.
typedef struct stadium_queue stadium_queue;

// A running server.
typedef struct stadium_server stadium_server;

// A service: a name, a version and methods. One thread at a time may change it.
typedef struct stadium_service stadium_service;

// A stream or a channel of a client.
typedef struct stadium_stream stadium_stream;

// A method.
typedef struct stadium_method_id {
  // SERVICE/METHOD.
  const char *route;
  // A stadium_interaction.
  int32_t interaction;
  // Not 0 where the method may be called twice: such calls are tried again and hedged.
  int32_t idempotent;
} stadium_method_id;

// Bytes that somebody else owns.
typedef struct stadium_bytes {
  // The first of them; may be null where there are none.
  const uint8_t *data;
  // How many.
  size_t size;
} stadium_bytes;

// The options of a call. All zero is the default.
typedef struct stadium_options {
  // Stands in the events of the call.
  uint64_t tag;
  // The longest that the caller waits, in microseconds; 0 for the client's default.
  uint64_t deadline_us;
  // Calls with the same key go to the same instance while it lives. No pointer for no key.
  struct stadium_bytes key;
  // Composite metadata that is added to the request.
  struct stadium_bytes metadata;
  // Messages of a stream that the caller wants to begin with; 0 for 64.
  uint32_t credit;
} stadium_options;

// Something that has happened. Everything in it is for reading, until the event is released.
typedef struct stadium_event {
  // The tag of the call; of a request: its method's.
  uint64_t tag;
  // Names a request in all of its events. Never used again in this process. 0 for calls.
  uint64_t request_id;
  // A stadium_kind.
  int32_t kind;
  // A stadium_outcome, of STADIUM_ANSWER and STADIUM_END; otherwise STADIUM_OK.
  int32_t outcome;
  // The message; where outcome is not STADIUM_OK a text for people, in UTF-8.
  struct stadium_bytes payload;
  // The stable code of STADIUM_REJECTED and STADIUM_UNKNOWN, such as GEO-001.
  struct stadium_bytes code;
  // Of STADIUM_BUSY.
  uint64_t retry_after_ms;
  // The request of STADIUM_REQUEST, which now belongs to the one who took the event.
  struct stadium_request *request;
  // Of STADIUM_APPLICATION: the RSocket error code.
  uint32_t number;
  // This library's own: the memory that the event owns.
  void *reserved;
  // This library's own.
  size_t reserved_size;
} stadium_event;

// A request that a server has to answer.
typedef struct stadium_request stadium_request;

// How a request is refused.
typedef struct stadium_refusal {
  // STADIUM_BUSY, STADIUM_REJECTED, STADIUM_UNKNOWN or STADIUM_APPLICATION.
  int32_t outcome;
  // The stable code of STADIUM_REJECTED and STADIUM_UNKNOWN, such as GEO-001; otherwise null.
  const char *code;
  // For people.
  const char *text;
  // Of STADIUM_BUSY.
  uint64_t retry_after_ms;
  // Of STADIUM_APPLICATION: 0x201, or 0x301 to 0xFFFFFFFE.
  uint32_t number;
} stadium_refusal;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library; compare it with `STADIUM_ABI_VERSION` where the library is loaded at
// run time.
uint32_t stadium_abi_version(void);

// Starts a client; null where the settings are wrong or the system refuses a thread. `settings` is
// a JSON object. Calls end on `queue`, which may be that of other clients and servers too.
//
// Requires: `settings` is a text, `queue` a queue.
struct stadium_client *stadium_client_start(const char *settings,
                                            const struct stadium_queue *queue);

// Frees a client. Calls that are under way end as broken or cancelled when its methods are freed too.
//
// Requires: `client` is null or a client, and nobody uses it any more.
void stadium_client_free(struct stadium_client *client);

// A method that the client calls; keep it for all of its calls. Null where the route is not
// SERVICE/METHOD. The first method of a service has the service's instances looked up and
// connected to.
//
// Requires: `client` is a client, and the route of `method` a text.
struct stadium_method *stadium_client_method(const struct stadium_client *client,
                                             struct stadium_method_id method);

// Frees a method.
//
// Requires: `method` is null or a method, and nobody uses it any more.
void stadium_method_free(struct stadium_method *method);

// Begins a call; the request is copied. A unary call ends by one STADIUM_ANSWER with the tag of
// the options. A one-way call has no event. Where `handle` is not null it is set to a handle that
// can cancel the call, and is to be freed; to null for a one-way call. Returns a stadium_status.
//
// Requires: `method` is a method, the bytes of `request` and `options` are there, and `handle` is null or
// points at a pointer.
int32_t stadium_call(const struct stadium_method *method,
                     struct stadium_bytes request,
                     const struct stadium_options *call_options,
                     struct stadium_call_handle **handle);

// Gives a call up. It ends by STADIUM_ANSWER with STADIUM_CANCELLED, unless it has ended. The
// handle stays to be freed. One thread at a time may use a handle.
//
// Requires: `handle` is a handle.
int32_t stadium_call_cancel(struct stadium_call_handle *handle);

// Frees the handle of a call, which goes on.
//
// Requires: `handle` is null or a handle, and nobody uses it any more.
void stadium_call_handle_free(struct stadium_call_handle *handle);

// Opens a stream or a channel with its first request; null where that is not possible. Messages
// arrive as STADIUM_ITEM with the tag of the options, as many as their credit until
// stadium_stream_want asks for more; STADIUM_END is last.
//
// Requires: As for stadium_call.
struct stadium_stream *stadium_open(const struct stadium_method *method,
                                    struct stadium_bytes request,
                                    const struct stadium_options *call_options);

// Takes `count` more messages. Call it as messages are read, so that a slow reader slows its
// service down.
//
// Requires: `stream` is a stream.
int32_t stadium_stream_want(const struct stadium_stream *stream, uint32_t count);

// Sends a message of a channel, which is copied. STADIUM_FULL: the service has not taken the last
// 1,024 messages; this one was not taken, and STADIUM_WRITABLE follows. STADIUM_ENDED: the service
// takes no more.
//
// Requires: `stream` is a stream, and the bytes of `message` are there.
int32_t stadium_stream_send(const struct stadium_stream *stream, struct stadium_bytes message);

// Ends the caller's side of a channel.
//
// Requires: `stream` is a stream.
int32_t stadium_stream_complete(const struct stadium_stream *stream);

// Gives a stream up. It ends by STADIUM_END with STADIUM_CANCELLED, unless it has ended.
//
// Requires: `stream` is a stream.
int32_t stadium_stream_cancel(const struct stadium_stream *stream);

// Frees a stream. One that has not ended is given up, and has no more events than those that wait.
//
// Requires: `stream` is null or a stream, and nobody uses it any more.
void stadium_stream_free(struct stadium_stream *stream);

// The instances that are known of a method's service, and the one that a call with this key would
// go to and why, as text for people. Null where the client does not answer; otherwise to be freed
// by stadium_text_free.
//
// Requires: `method` is a method, and the bytes of `key` are there.
char *stadium_explain(const struct stadium_method *method, struct stadium_bytes key);

// Frees a text of this library.
//
// Requires: `text` is null, or comes from stadium_explain and was not freed.
void stadium_text_free(char *text);

// Frees the bytes of events that were taken. Their requests stay. An event may be released twice.
//
// Requires: `events` points at `count` events of this library.
void stadium_events_release(struct stadium_event *events, size_t count);

// Why the last function that failed on this thread did; empty where none has. It is valid until
// the next function fails on this thread.
const char *stadium_last_error(void);

// The stadium_status of the last function that failed on this thread: why a function returned
// null. STADIUM_DONE where none has failed.
int32_t stadium_last_status(void);

// Makes a client that works while stadium_local_take waits; null where the settings are wrong.
//
// Requires: `settings` is a text.
struct stadium_local *stadium_local_new(const char *settings);

// A unary method that can be called: a number for stadium_local_call, or a stadium_status.
//
// Requires: `local` is a client of this thread, and the route of `method` a text.
int32_t stadium_local_method(struct stadium_local *local, struct stadium_method_id method);

// Begins a unary call; it leaves when the caller waits.
//
// Requires: `local` is a client of this thread, and the bytes of `request` and the options are there.
int32_t stadium_local_call(struct stadium_local *local,
                           int32_t method,
                           struct stadium_bytes request,
                           const struct stadium_options *call_options);

// Takes up to `max` calls that have ended, after waiting as stadium_queue_take. Answers stay where
// the client has them until the next stadium_local_take, so events need no release.
//
// Requires: `local` is a client of this thread, and `events` has room for `max` events.
int64_t stadium_local_take(struct stadium_local *local,
                           struct stadium_event *events,
                           size_t max,
                           int64_t timeout_us);

// Frees a client, and gives its calls up.
//
// Requires: `local` is null or a client of this thread, and is not used any more.
void stadium_local_free(struct stadium_local *local);

// Makes a completion queue; null where there is no descriptor.
struct stadium_queue *stadium_queue_new(void);

// A descriptor that is readable while there are events, and sometimes when there are none; for
// poll(2) and event loops, which must not read from it. It is valid as long as the queue.
//
// Requires: `queue` is a queue.
int32_t stadium_queue_descriptor(const struct stadium_queue *queue);

// Takes up to `max` events, after waiting until there is one, but no longer than `timeout_us`: 0
// does not wait, a negative number waits as long as it takes. Returns how many there are, 0 after
// the time, or a stadium_status. Each event is to be released.
//
// Requires: `events` has room for `max` events.
int64_t stadium_queue_take(const struct stadium_queue *queue,
                           struct stadium_event *events,
                           size_t max,
                           int64_t timeout_us);

// Frees a queue. Clients and servers that use it may go on: their events are dropped, requests
// among them answered as unknown.
//
// Requires: `queue` is null or a queue, and nobody uses it any more.
void stadium_queue_free(struct stadium_queue *queue);

// Answers a unary request; the message is copied. Ends a stream or a channel, and its bytes are
// not sent. STADIUM_ENDED: it was answered, or nobody waits any more.
//
// Requires: `request` is a request, and the bytes of `message` are there.
int32_t stadium_request_answer(const stadium_request *request, struct stadium_bytes message);

// Refuses a request, or ends a stream or a channel with an error.
//
// Requires: `request` is a request, and the texts of `refusal` are texts.
int32_t stadium_request_refuse(const stadium_request *request, struct stadium_refusal refusal);

// Sends a message of a stream or a channel, which is copied. STADIUM_FULL: 64 messages wait for
// the caller; this one was not taken, and STADIUM_WRITABLE with the request's id follows.
//
// Requires: `request` is a request, and the bytes of `message` are there.
int32_t stadium_request_send(const stadium_request *request, struct stadium_bytes message);

// Takes `count` more messages of a channel's caller; they arrive as STADIUM_REQUEST_ITEM. A
// channel begins with none.
//
// Requires: `request` is a request.
int32_t stadium_request_want(const stadium_request *request, uint32_t count);

// The time that is left of the caller's deadline, in microseconds; 0 where it has passed.
//
// Requires: `request` is a request.
int64_t stadium_request_time_left_us(const stadium_request *request);

// The composite metadata, as it came. It is valid until the request is freed, as all bytes of it.
//
// Requires: `request` is a request.
struct stadium_bytes stadium_request_metadata(const stadium_request *request);

// SERVICE/METHOD.
//
// Requires: `request` is a request.
struct stadium_bytes stadium_request_route(const stadium_request *request);

// The affinity key; no pointer where the caller gave none.
//
// Requires: `request` is a request.
struct stadium_bytes stadium_request_key(const stadium_request *request);

// The bearer token that the caller showed; no pointer where there is none.
//
// Requires: `request` is a request.
struct stadium_bytes stadium_request_bearer(const stadium_request *request);

// Frees a request. One that was not answered is answered as unknown (RPC-007).
//
// Requires: `request` is null or a request, and nobody uses it any more.
void stadium_request_free(stadium_request *request);

// A service without methods. Name and version are its place in discovery.
//
// Requires: `name` and `version` are texts.
struct stadium_service *stadium_service_new(const char *name, const char *version);

// Sets an encoded google.protobuf.FileDescriptorSet, which NAME/describe answers with. It is copied.
//
// Requires: `service` is a service, and the bytes of `descriptors` are there.
int32_t stadium_service_descriptors(struct stadium_service *service,
                                    struct stadium_bytes descriptors);

// Adds a method. Its requests arrive as STADIUM_REQUEST with this tag.
//
// Requires: `service` is a service, and the route of `method` a text.
int32_t stadium_service_method(struct stadium_service *service,
                               struct stadium_method_id method,
                               uint64_t tag);

// Frees a service. Servers that were started with it have a copy.
//
// Requires: `service` is null or a service, and nobody uses it any more.
void stadium_service_free(struct stadium_service *service);

// Starts a server; null where the settings are wrong, or an address is in use. `settings` is a
// JSON object. Requests arrive on `queue`.
//
// Requires: `settings` is a text, `services` points at `count` services, and `queue` is a queue.
struct stadium_server *stadium_server_start(const char *settings,
                                            const struct stadium_service *const *services,
                                            size_t count,
                                            const struct stadium_queue *queue);

// The port of the address at this place in the settings: for port 0 the one that was free. A
// stadium_status where there is no such address.
//
// Requires: `server` is a server.
int32_t stadium_server_port(const struct stadium_server *server, size_t place);

// Takes on nothing new, withdraws from discovery, waits for the work under way, but no longer than
// `within_ms`, and stops. Somebody must go on taking events meanwhile. Returns the connections
// that were cut, or a stadium_status; a second call returns 0.
//
// Requires: `server` is a server.
int64_t stadium_server_shutdown(const struct stadium_server *server, uint64_t within_ms);

// Frees a server, and stops it at once where it runs.
//
// Requires: `server` is null or a server, and nobody uses it any more.
void stadium_server_free(struct stadium_server *server);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STADIUM_H */
