//! Answers HTTP-01 challenges (RFC 8555, 8.3): the ACME server asks port 80 of each domain for a
//! token, and gets a text that only the holder of the account key can make.
//!
//! The listener is open while an order runs, and knows nothing but its tokens.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The path in front of a token.
const PATH: &str = "/.well-known/acme-challenge/";

/// Bytes of a request's head that are read.
const HEAD_BYTES_MAX: usize = 8 * 1_024;

/// Time for a request and its answer.
const WITHIN: Duration = Duration::from_secs(10);

/// Connections at once; an ACME server makes a handful. More wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 32;

/// Texts by token.
type Answers = Arc<Mutex<HashMap<String, String>>>;

/// The listener, open. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Challenges {
    answers: Answers,
    task: JoinHandle<()>,
}

impl Challenges {
    /// Listens.
    pub(super) async fn open(listen: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let answers = Answers::default();
        let task = tokio::spawn(accept(listener, Arc::clone(&answers)));
        Ok(Self { answers, task })
    }

    /// Answers for a token from now on.
    pub(super) fn answer(&self, token: &str, text: &str) {
        self.answers.lock().insert(token.to_owned(), text.to_owned());
    }
}

impl Drop for Challenges {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, answers: Answers) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // The semaphore is never closed.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let answers = Arc::clone(&answers);
                tokio::spawn(async move {
                    // Nobody is told of a peer that says nothing.
                    let _ = tokio::time::timeout(WITHIN, serve(stream, &answers)).await;
                    drop(place);
                });
            }
            // No descriptor is free: the peer's connection waits.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(mut stream: TcpStream, answers: &Answers) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        if stream.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let text = token(&head).and_then(|token| answers.lock().get(token).cloned());
    let (status, text) = match &text {
        Some(text) => ("200 OK", text.as_str()),
        None => ("404 Not Found", "there is no such challenge\n"),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// The token that a request asks for.
fn token(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let path = std::str::from_utf8(line).ok()?.strip_prefix("GET ")?.split(' ').next()?;
    // Base64url, so that nothing of it is percent-encoded.
    path.strip_prefix(PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_out_of_a_request() {
        for (head, expected) in [
            ("GET /.well-known/acme-challenge/abc_-9 HTTP/1.1\r\nHost: a\r\n\r\n", Some("abc_-9")),
            ("GET / HTTP/1.1\r\n\r\n", None),
            ("POST /.well-known/acme-challenge/abc HTTP/1.1\r\n\r\n", None),
            ("", None),
            ("GET\r\n", None),
        ] {
            assert_eq!(token(head.as_bytes()), expected, "{head}");
        }
    }

    #[tokio::test]
    async fn only_its_tokens_are_answered_and_only_while_it_is_open() {
        let probe = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = probe.local_addr().expect("it has one");
        drop(probe);
        let challenges = Challenges::open(address).await.expect("the port is free");
        challenges.answer("tok", "tok.print");
        let ask = |path: &'static str| async move {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            io::Result::Ok(answer)
        };
        let known = ask("/.well-known/acme-challenge/tok").await.expect("it answers");
        assert!(known.starts_with("HTTP/1.1 200 OK") && known.ends_with("\r\n\r\ntok.print"), "{known}");
        let unknown = ask("/.well-known/acme-challenge/other").await.expect("it answers");
        assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
        drop(challenges);
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).await.is_ok() {
            assert!(std::time::Instant::now() < until, "it listens still");
            tokio::task::yield_now().await;
        }
    }
}
