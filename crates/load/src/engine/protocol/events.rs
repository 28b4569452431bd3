//! Server-sent events: a stream is opened, so many events are awaited, and the connection is closed.
//!
//! The request goes out as HTTP/1.1, whatever else the target is asked with. An answer that is no success is an answer,
//! with its status; one that is no event stream, or ends before the last event, is a failure.

use stadium_http_client::{Asked, Event, EventStream, H1, Header, write_request};
use stadium_scenario::program::Action;

use super::http1::malformed;
use super::request::{Draft, with_request};
use super::stamps::Stamps;
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::clock::monotonic_ns;
use crate::engine::reply::{Failure, Reply};
use crate::engine::tally::MessageCounter;

const ACCEPT: Header<'_> = Header { name: "Accept", value: b"text/event-stream" };
const NO_STORE: Header<'_> = Header { name: "Cache-Control", value: b"no-store" };

/// A connection on which events come.
#[derive(Debug, Default)]
pub(crate) struct Events {
    codec: H1,
    events: EventStream,
    stamps: Stamps,
    wait: Option<Wait>,
}

/// Events that are awaited.
#[derive(Debug)]
struct Wait {
    user: u32,
    keeps_headers: bool,
    keeps_body: bool,
    /// Events still to come.
    missing: u32,
    phase: Phase,
    reply: Reply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The head is awaited.
    Head,
    /// The body is events.
    Stream,
    /// The body is that of a refusal.
    Refusal,
    /// All has come.
    Done,
}

impl Talk for Events {
    fn has_room(&self) -> bool {
        self.wait.is_none()
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.wait.as_ref().map(|wait| wait.user));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::Events { request, count } = &ask.step.action else {
            return Err("a step of another protocol".into());
        };
        let mut draft = Draft::of(request, ask);
        draft.protocol_headers = if draft.has("cache-control") { &[ACCEPT] } else { &[ACCEPT, NO_STORE] };
        with_request(&draft, &mut ask.scope, |request| write_request(output.bytes, request))?
            .map_err(|error| format!("not sent: {error}"))?;
        self.codec.begin(Asked::by(&request.method));
        self.wait = Some(Wait {
            user: ask.user,
            keeps_headers: ask.planned.keeps_headers,
            keeps_body: ask.planned.keeps_body,
            missing: *count,
            phase: Phase::Head,
            reply: output.reply(),
        });
        Ok(Begun::Waiting)
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let Events { codec, events, stamps, wait } = self;
        let Some(wait) = wait else {
            // The rest of a stream that is being closed.
            return Ok(bytes.len());
        };
        let mut result = Ok(());
        let used = codec
            .received(bytes, &mut |event| {
                if result.is_ok() {
                    result = wait.hear(&event, events, stamps, output.messages);
                }
            })
            .map_err(malformed)?;
        wait.reply.bytes_in += used as u64;
        result?;
        if wait.phase == Phase::Done {
            self.finish(output);
            return Ok(bytes.len());
        }
        Ok(used)
    }

    fn ended(&mut self, output: &mut Output<'_>) {
        let Events { codec, events, stamps, wait } = self;
        let Some(wait) = wait else { return };
        let mut result = Ok(());
        let whole = codec.ended(&mut |event| {
            if result.is_ok() {
                result = wait.hear(&event, events, stamps, output.messages);
            }
        });
        if let Err(failure) = result.and(whole.map_err(malformed)) {
            let user = wait.user;
            output.done.push(Done::of(user, Err(failure), false));
            output.spare.extend(self.wait.take().map(|wait| {
                let mut reply = wait.reply;
                reply.clear();
                reply
            }));
        } else if wait.phase == Phase::Done {
            self.finish(output);
        }
    }
}

impl Events {
    fn finish(&mut self, output: &mut Output<'_>) {
        if let Some(wait) = self.wait.take() {
            output.done.push(Done::of(wait.user, Ok(wait.reply), false));
        }
    }
}

impl Wait {
    fn hear(
        &mut self,
        event: &Event<'_>,
        events: &mut EventStream,
        stamps: &mut Stamps,
        messages: &mut MessageCounter,
    ) -> Result<(), Failure> {
        match (event, self.phase) {
            (_, Phase::Done) => {}
            (Event::Head(head), _) => {
                self.reply.keep_head(head, self.keeps_headers);
                self.phase = match (head.status, self.missing) {
                    // 204 forbids a client to reconnect.
                    (204, _) => return Err("sse: no stream (204)".into()),
                    (200..300, _) if !head.header("content-type").is_some_and(is_event_stream) => {
                        return Err("sse: the answer is not text/event-stream".into());
                    }
                    (200..300, 0) => Phase::Done,
                    (200..300, _) => Phase::Stream,
                    _ => Phase::Refusal,
                };
            }
            (Event::Body(bytes), Phase::Stream) => {
                let Wait { missing, reply, keeps_body, .. } = self;
                events
                    .received(bytes, &mut |event| {
                        stamps.hear(event.data, messages, monotonic_ns);
                        if *missing == 0 {
                            return;
                        }
                        *missing -= 1;
                        if *missing == 0 && *keeps_body {
                            reply.body.extend_from_slice(event.data);
                        }
                    })
                    .map_err(|_| Failure::from("sse: event too long"))?;
                if self.missing == 0 {
                    self.phase = Phase::Done;
                }
            }
            (Event::Body(bytes), _) if self.keeps_body => self.reply.body.extend_from_slice(bytes),
            (Event::End { .. }, Phase::Stream) => return Err("sse: ended before the last event".into()),
            (Event::End { .. }, _) => self.phase = Phase::Done,
            _ => {}
        }
        Ok(())
    }
}

fn is_event_stream(content_type: &[u8]) -> bool {
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}
