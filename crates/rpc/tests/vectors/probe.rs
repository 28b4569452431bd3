//! A server that answers each request with the parts of its metadata, and a peer that writes its
//! frames by hand.
//!
//! The frames come from the specification of RSocket, so that the crate's own client is not needed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use stadium_rpc::metadata::authentication::Authentication;
use stadium_rpc::{Call, CallContext, Listen, Method, Server, ServerConfig, Service, StreamSender};
use stadium_testing::vectors::hex_of;

/// The longest that a test may wait for anything.
const SOON: Duration = Duration::from_secs(20);

const REQUEST_RESPONSE: u16 = 0x04;
const REQUEST_STREAM: u16 = 0x06;
const ERROR: u16 = 0x0B;
const METADATA: u16 = 0x100;

/// A text.
#[derive(Clone, PartialEq, prost::Message)]
struct Words {
    #[prost(string, tag = "1")]
    text: String,
}

const LAST: Method<Words, Words> = Method::unary("geo/Last");
const NEAR: Method<Words, Words> = Method::stream("geo/Near");

/// A server with a connection to it.
pub struct Probe {
    socket: TcpStream,
    stream: u32,
    _server: Server,
}

impl Probe {
    /// A server, and a connection whose SETUP announces this MIME type of metadata.
    pub fn new(metadata_mime: &str) -> Self {
        let mut config =
            ServerConfig { listen: vec![Listen::tcp(([127, 0, 0, 1], 0).into())], ..ServerConfig::default() };
        // The machine of the test may be busy.
        config.admission.inline_wait_max = SOON;
        let server = Server::start(config, vec![service()]).expect("there are free ports");
        let mut socket = TcpStream::connect(server.bound()[0]).expect("the server listens");
        socket.set_read_timeout(Some(SOON)).expect("a socket takes a time-out");
        socket.write_all(&setup(metadata_mime)).expect("the server reads");
        Self { socket, stream: 1, _server: server }
    }

    /// The server's answer to a request with this metadata.
    pub fn request(&mut self, interaction: &str, metadata: &[u8], data: &[u8]) -> Value {
        let stream = self.stream;
        self.stream += 2;
        let (kind, initial) = match interaction {
            "stream" => (REQUEST_STREAM, Some(1_u32.to_be_bytes())),
            _ => (REQUEST_RESPONSE, None),
        };
        let length = (metadata.len() as u32).to_be_bytes();
        let body = [initial.as_ref().map_or(&[][..], |n| n), &length[1..], metadata, data].concat();
        self.socket.write_all(&frame(stream, kind << 10 | METADATA, &body)).expect("the server reads");
        loop {
            let (from, header, body) = self.read();
            if from == stream {
                return answer(header >> 10, &body);
            }
        }
    }

    fn read(&mut self) -> (u32, u16, Vec<u8>) {
        let mut head = [0; 9];
        self.socket.read_exact(&mut head).expect("the server answers");
        let [_, a, b, s, t, u, v, x, y] = head;
        let mut body = vec![0; u32::from_be_bytes([0, head[0], a, b]) as usize - 6];
        self.socket.read_exact(&mut body).expect("a whole frame");
        (u32::from_be_bytes([s, t, u, v]), u16::from_be_bytes([x, y]), body)
    }
}

fn frame(stream: u32, header: u16, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 6).to_be_bytes();
    [&length[1..], &stream.to_be_bytes(), &header.to_be_bytes(), body].concat()
}

fn setup(metadata_mime: &str) -> Vec<u8> {
    let data_mime = stadium_rpc::wire::DATA_MIME;
    let mut body = vec![0, 1, 0, 0];
    body.extend_from_slice(&20_000_u32.to_be_bytes());
    body.extend_from_slice(&90_000_u32.to_be_bytes());
    for mime in [metadata_mime, data_mime] {
        body.push(mime.len() as u8);
        body.extend_from_slice(mime.as_bytes());
    }
    frame(0, 0x01 << 10, &body)
}

/// An answer as an expectation: the parts that the function saw, or the error.
fn answer(kind: u16, body: &[u8]) -> Value {
    if kind == ERROR {
        let code = u32::from_be_bytes(body[..4].try_into().expect("an error has a code"));
        let text = String::from_utf8_lossy(&body[4..]);
        let named = text.split_once(": ").map_or(&*text, |(named, _)| named);
        return json!({"error_code": code, "code": named});
    }
    let words: Words = prost::Message::decode(body).expect("an answer of the probe");
    serde_json::from_str(&words.text).expect("JSON")
}

fn service() -> Service {
    Service::new("geo", "1")
        .inline(&LAST, |call: &Call<'_>, _: &Words, answer: &mut Words| {
            answer.text = seen(call).to_string();
            Ok(())
        })
        .streaming(&NEAR, |_: CallContext, _: Words, _: StreamSender<Words>| async move { Ok(()) })
}

fn seen(call: &Call<'_>) -> Value {
    json!({
        "route": call.route(),
        "left_ms": call.time_left().as_millis() as u64,
        "key_hex": call.key().map(hex_of),
        "authentication": call.authentication().map(credentials),
    })
}

fn credentials(authentication: Authentication<'_>) -> Value {
    match authentication {
        Authentication::Simple { username, password } => json!({"username": username, "password": password}),
        Authentication::Bearer(token) => json!({"bearer": token}),
        Authentication::WellKnown { id, content } => json!({"id": id, "content_hex": hex_of(content)}),
        Authentication::Named { name, content } => {
            json!({"name": String::from_utf8_lossy(name), "content_hex": hex_of(content)})
        }
    }
}
