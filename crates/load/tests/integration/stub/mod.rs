//! An HTTP server of known behaviour, a thread a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What it does with requests.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "each suite has its own use for it")]
pub enum Manner {
    /// Answers at once.
    Answers,
    /// Answers at once, but for some time, counted from its first connection, nothing.
    Stalls {
        /// From when.
        after: Duration,
        /// For how long.
        length: Duration,
    },
    /// Answers with the request's body.
    Echoes,
    /// Resets the connection.
    Resets,
    /// Sends this and closes.
    Says(&'static str),
    /// Reads and sends nothing.
    Hangs,
}

/// A running server.
pub struct Stub {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
}

impl Stub {
    /// Starts it on a port of the loopback.
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let ended = Arc::new(AtomicBool::new(false));
        let served = Arc::new(AtomicU64::new(0));
        let (over, count) = (ended.clone(), served.clone());
        std::thread::spawn(move || {
            let mut first = None;
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let begun = *first.get_or_insert_with(Instant::now);
                let count = count.clone();
                std::thread::spawn(move || serve(stream, manner, begun, &count));
            }
        });
        Stub { address, ended, served }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests that it has answered.
    #[allow(dead_code, reason = "each suite has its own use for it")]
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::SeqCst)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the listener, which closes with its thread.
        let _ = TcpStream::connect(self.address);
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn serve(mut stream: TcpStream, manner: Manner, begun: Instant, served: &AtomicU64) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let Some((head, length)) = whole(&bytes) else {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            }
            continue;
        };
        let body = bytes[head..head + length].to_vec();
        bytes.drain(..head + length);
        match manner {
            Manner::Answers => answer(&mut stream, b"hello"),
            Manner::Echoes => answer(&mut stream, &body),
            Manner::Stalls { after, length } => {
                let now = begun.elapsed();
                if now > after && now < after + length {
                    std::thread::sleep(after + length - now);
                }
                answer(&mut stream, b"hello");
            }
            Manner::Resets => {
                let socket = socket2::Socket::from(stream);
                let _ = socket.set_linger(Some(Duration::ZERO));
                return;
            }
            Manner::Says(text) => {
                let _ = stream.write_all(text.as_bytes());
                return;
            }
            Manner::Hangs => {
                let _ = stream.read(&mut buffer);
                return;
            }
        }
        served.fetch_add(1, Ordering::SeqCst);
    }
}

fn answer(stream: &mut TcpStream, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

/// Where the first whole request's body begins, and its length.
fn whole(bytes: &[u8]) -> Option<(usize, usize)> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    (bytes.len() >= head + length).then_some((head, length))
}
