//! A WebSocket from the client's side (RFC 6455): upgrade, messages, close handshake.
//!
//! Messages that come while nobody waits are kept for the next step that receives. A step that
//! sends and waits takes what comes after it only. A server that breaks the rules loses the
//! connection, with a close frame that states the reason.

mod frame;
mod inbox;

use stadium_http_client::{Asked, Event, H1, Head, Header, has_token, write_request};
use stadium_reactor::websocket::{
    Masks, accept_key, check_close, close_code, new_key, opcode, write_client_frame,
};
use stadium_scenario::program::{Action, WebSocket as Step};

use self::frame::{Fragments, Frame};
use self::inbox::Inbox;
use super::http1::malformed;
use super::request::{Draft, scheme, with_request};
use super::stamps::Stamps;
use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::clock::monotonic_ns;
use crate::engine::reply::{Failure, Reply};

/// A connection that becomes a WebSocket.
#[derive(Debug, Default)]
pub(crate) struct WebSocket {
    state: State,
    codec: H1,
    masks: Masks,
    /// What the upgrade's answer must prove to know.
    key: String,
    subprotocol: Option<String>,
    fragments: Fragments,
    inbox: Inbox,
    stamps: Stamps,
    wait: Option<Wait>,
    /// Where a message is written before it is masked.
    space: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was asked.
    #[default]
    Idle,
    /// The upgrade's answer is awaited.
    Opening,
    Open,
    /// Our close frame is sent.
    Closing,
    /// Both have sent a close frame.
    Closed,
}

/// A step that is under way.
#[derive(Debug)]
struct Wait {
    user: u32,
    /// Messages that are still to come; none for the upgrade and the close handshake.
    missing: u32,
    keeps_headers: bool,
    keeps_body: bool,
    reply: Reply,
}

impl Talk for WebSocket {
    fn has_room(&self) -> bool {
        self.wait.is_none()
    }

    fn takes_more(&self) -> bool {
        !matches!(self.state, State::Closing | State::Closed)
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.wait.as_ref().map(|wait| wait.user));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::WebSocket(step) = &ask.step.action else {
            return Err("a step of another protocol".into());
        };
        match (step, self.state) {
            (Step::Open { .. }, State::Idle) => {
                self.ask_to_upgrade(step, ask, output)?;
                self.wait_for(0, ask, output);
                self.state = State::Opening;
                Ok(Begun::Waiting)
            }
            (Step::Open { .. }, _) => Err("websocket: open already".into()),
            (Step::Close, State::Idle) => Ok(Begun::Close),
            (_, State::Idle) => Err("websocket: not open".into()),
            (Step::Send { payload, binary, receive }, _) => {
                self.space.clear();
                payload.write(&mut ask.scope, &mut self.space);
                let kind = if *binary { opcode::BINARY } else { opcode::TEXT };
                if !binary && std::str::from_utf8(&self.space).is_err() {
                    return Err("not sent: the text is not UTF-8".into());
                }
                write_client_frame(kind, &self.space, output.bytes, &mut self.masks);
                if *receive == 0 {
                    return Ok(Begun::Done(output.reply()));
                }
                self.inbox.clear();
                self.wait_for(*receive, ask, output);
                Ok(Begun::Waiting)
            }
            (Step::Receive { count }, _) => {
                let mut reply = output.reply();
                let missing = self.inbox.take(*count, ask.planned.keeps_body, &mut reply);
                if missing == 0 {
                    return Ok(Begun::Done(reply));
                }
                self.wait_for(missing, ask, output);
                output.spare.extend(self.wait.as_mut().map(|wait| std::mem::replace(&mut wait.reply, reply)));
                Ok(Begun::Waiting)
            }
            (Step::Close, _) => {
                self.send_close(close_code::NORMAL, output);
                self.state = State::Closing;
                self.wait_for(0, ask, output);
                Ok(Begun::Waiting)
            }
        }
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let mut used = 0;
        if matches!(self.state, State::Idle | State::Opening) {
            used = self.read_upgrade(bytes, output)?;
        }
        while matches!(self.state, State::Open | State::Closing) {
            let read = frame::read(&bytes[used..]);
            let result = match read {
                Ok(None) => break,
                Ok(Some((frame, length))) => {
                    used += length;
                    if let Some(wait) = &mut self.wait {
                        wait.reply.bytes_in += length as u64;
                    }
                    self.take(&frame, output)
                }
                Err(code) => Err(code),
            };
            if let Err(code) = result {
                if self.state == State::Open {
                    self.send_close(code, output);
                }
                return Err(broken(code));
            }
        }
        Ok(if self.state == State::Closed { bytes.len() } else { used })
    }

    fn abandon(&mut self, _user: u32, output: &mut Output<'_>) -> bool {
        output.put_back(self.wait.take().map(|wait| wait.reply));
        self.state == State::Open
    }
}

impl WebSocket {
    fn wait_for(&mut self, missing: u32, ask: &Ask<'_>, output: &mut Output<'_>) {
        self.wait = Some(Wait {
            user: ask.user,
            missing,
            keeps_headers: ask.planned.keeps_headers,
            keeps_body: ask.planned.keeps_body,
            reply: output.reply(),
        });
    }

    /// The step that is under way is done.
    fn finish(&mut self, reusable: bool, output: &mut Output<'_>) {
        if let Some(wait) = self.wait.take() {
            output.done.push(Done::of(wait.user, Ok(wait.reply), reusable));
        }
    }

    /// RFC 6455, 4.1.
    fn ask_to_upgrade(
        &mut self,
        step: &Step,
        ask: &mut Ask<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let Step::Open { path, headers, subprotocol } = step else { return Ok(()) };
        self.key = new_key(&mut self.masks);
        self.subprotocol.clone_from(subprotocol);
        let mut ours = vec![
            Header { name: "Upgrade", value: b"websocket" },
            Header { name: "Connection", value: b"Upgrade" },
            Header { name: "Sec-WebSocket-Key", value: self.key.as_bytes() },
            Header { name: "Sec-WebSocket-Version", value: b"13" },
        ];
        if let Some(subprotocol) = subprotocol {
            ours.push(Header { name: "Sec-WebSocket-Protocol", value: subprotocol.as_bytes() });
        }
        let draft = Draft {
            method: "GET",
            scheme: scheme(ask.target),
            authority: &ask.target.authority,
            base: ask.path,
            path,
            headers,
            cookies: ask.cookies,
            host: &ask.target.host,
            target_headers: ask.headers,
            protocol_headers: &ours,
            body: None,
        };
        with_request(&draft, &mut ask.scope, |request| write_request(output.bytes, request))?
            .map_err(|error| format!("not sent: {error}"))?;
        self.codec.begin(Asked::Upgrade);
        Ok(())
    }

    fn read_upgrade(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let WebSocket { codec, wait, key, subprotocol, .. } = self;
        let mut answer = Ok(false);
        let used = codec
            .received(bytes, &mut |event| match event {
                Event::Upgraded(head) => {
                    answer = check_upgrade(&head, key, subprotocol.as_deref()).map(|()| true);
                    if let Some(wait) = wait {
                        wait.reply.keep_head(&head, wait.keeps_headers);
                    }
                }
                Event::Head(head) => {
                    answer = Err(format!("websocket: upgrade refused, status {}", head.status).into());
                }
                _ => {}
            })
            .map_err(malformed)?;
        if let Some(wait) = wait {
            wait.reply.bytes_in += used as u64;
        }
        if answer? {
            self.state = State::Open;
            self.finish(true, output);
        }
        Ok(used)
    }

    /// Takes a frame. The code of an error is why the connection must end.
    fn take(&mut self, frame: &Frame<'_>, output: &mut Output<'_>) -> Result<(), u16> {
        match frame.opcode {
            opcode::PING => {
                if self.state == State::Open {
                    write_client_frame(opcode::PONG, frame.payload, output.bytes, &mut self.masks);
                }
            }
            opcode::PONG => {}
            opcode::CLOSE => {
                let code = check_close(frame.payload)?;
                self.closed(code, output);
            }
            _ => {
                let mut fragments = std::mem::take(&mut self.fragments);
                let result = fragments.take(frame).map(|message| {
                    if let Some(message) = message {
                        self.hear(message, output);
                    }
                });
                self.fragments = fragments;
                result?;
            }
        }
        Ok(())
    }

    /// Takes a message.
    fn hear(&mut self, message: &[u8], output: &mut Output<'_>) {
        self.stamps.hear(message, output.messages, monotonic_ns);
        match &mut self.wait {
            Some(wait) if wait.missing > 0 => {
                wait.missing -= 1;
                if wait.missing == 0 {
                    if wait.keeps_body {
                        wait.reply.body.extend_from_slice(message);
                    }
                    self.finish(true, output);
                }
            }
            // The close handshake is under way: nobody will ask for it.
            Some(_) => {}
            None => self.inbox.push(message),
        }
    }

    /// The server's close frame came. RFC 6455, 5.5.1.
    fn closed(&mut self, code: Option<u16>, output: &mut Output<'_>) {
        let status = code.unwrap_or(close_code::NO_STATUS);
        if self.state == State::Closing {
            if let Some(wait) = &mut self.wait {
                wait.reply.status = Some(u32::from(status));
            }
            self.finish(false, output);
        } else {
            let bytes = code.map(u16::to_be_bytes);
            let answer = bytes.as_ref().map_or(&[][..], |code| &code[..]);
            write_client_frame(opcode::CLOSE, answer, output.bytes, &mut self.masks);
            if let Some(wait) = self.wait.take() {
                let result = Err(format!("websocket: closed {status}").into());
                output.done.push(Done::of(wait.user, result, false));
                output.put_back(Some(wait.reply));
            }
        }
        self.state = State::Closed;
    }

    fn send_close(&mut self, code: u16, output: &mut Output<'_>) {
        write_client_frame(opcode::CLOSE, &code.to_be_bytes(), output.bytes, &mut self.masks);
    }
}

/// Whether the answer to an upgrade is one. RFC 6455, 4.1.
fn check_upgrade(head: &Head<'_>, key: &str, subprotocol: Option<&str>) -> Result<(), Failure> {
    let holds = |name: &str, token: &str| head.header(name).is_some_and(|list| has_token(list, token));
    if !holds("upgrade", "websocket") || !holds("connection", "upgrade") {
        return Err("websocket: upgraded to another protocol".into());
    }
    if head.header("sec-websocket-accept") != Some(accept_key(key.as_bytes()).as_bytes()) {
        return Err("websocket: wrong Sec-WebSocket-Accept".into());
    }
    if head.header("sec-websocket-extensions").is_some() {
        return Err("websocket: an extension that was not asked for".into());
    }
    if head.header("sec-websocket-protocol") != subprotocol.map(str::as_bytes) {
        return Err("websocket: subprotocol not agreed".into());
    }
    Ok(())
}

/// The words for what a server broke.
fn broken(code: u16) -> Failure {
    Failure::from(match code {
        close_code::INVALID_TEXT => "websocket: a text that is not UTF-8",
        close_code::TOO_BIG => "websocket: message too large",
        _ => "websocket: protocol broken",
    })
}
