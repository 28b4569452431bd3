//! Small servers of known behaviour, and runs against them.
//!
//! A server is a function over one connection; the test decides what it does, well or badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use stadium_load::run::{Run, RunOptions, RunResult};
use stadium_load::stamp::Stamp;
use stadium_reactor::websocket::accept_key;

/// A connection of a server.
pub struct Peer {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

/// Serves each connection with `serve` until the process ends, and closes it in order unless that fails. Returns the port.
pub fn server(serve: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let port = listener.local_addr().expect("it is bound").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
                let reader = BufReader::new(stream.try_clone()?);
                let mut peer = Peer { reader, writer: stream };
                serve(&mut peer)?;
                // With something unread it would be a reset.
                peer.writer.shutdown(Shutdown::Write)?;
                peer.until_closed();
                Ok::<_, std::io::Error>(())
            });
        }
    });
    port
}

/// Runs `steps` for so many users, 50 ms apart, against a target.
pub fn run(url: &str, users: u32, steps: &str) -> RunResult {
    run_with(url, "", users, steps)
}

/// Runs with more settings of the target.
pub fn run_with(url: &str, target: &str, users: u32, steps: &str) -> RunResult {
    let text = format!(
        "name = \"test\"\ntimeout = \"2s\"\ngrace = \"5s\"\n[targets.it]\nurl = \"{url}\"\n{target}\n\
         [[phases]]\nduration = \"{}ms\"\nrate = 20\n[[sessions]]\nname = \"user\"\nsteps = [{steps}]\n",
        50 * users
    );
    let program = stadium_scenario::parse(&text, &mut |name| Err(format!("no file {name}")))
        .unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"));
    let options = RunOptions { loops: 1, ..RunOptions::default() };
    Run::start(program, &options).expect("the run starts").wait(&mut |_| {}).expect("the run ends")
}

/// All failures of a run, with their counts.
pub fn errors(result: &RunResult) -> Vec<(&str, u64)> {
    result.total.errors.iter().map(|(kind, count)| (kind.as_str(), *count)).collect()
}

/// A stamped message, sent now.
pub fn stamped(stream: u32, sequence: u32) -> String {
    let stamp = Stamp { sent_ns: stadium_load::clock::monotonic_ns(), stream, sequence };
    String::from_utf8(stamp.encode().to_vec()).expect("a stamp is text")
}

impl Peer {
    /// Reads a request's head: its lines, without the empty one.
    pub fn head(&mut self) -> std::io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end() {
                "" => return Ok(lines),
                line => lines.push(line.to_owned()),
            }
        }
    }

    pub fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line),
        }
    }

    pub fn exact(&mut self, count: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.writer.write_all(bytes.as_ref())
    }

    /// Sends bytes a few at a time, each in a segment of its own.
    pub fn trickle(&mut self, bytes: &[u8], piece: usize) -> std::io::Result<()> {
        self.writer.set_nodelay(true)?;
        for piece in bytes.chunks(piece) {
            self.writer.write_all(piece)?;
            std::thread::sleep(Duration::from_micros(300));
        }
        Ok(())
    }

    /// Waits for something to come and leaves it unread: the system resets a connection that is closed so.
    pub fn reset(&mut self) -> std::io::Result<()> {
        self.writer.peek(&mut [0])?;
        Err(std::io::ErrorKind::ConnectionReset.into())
    }

    /// Answers an upgrade to WebSocket. Returns the request's head.
    pub fn upgrade(&mut self, more: &str) -> std::io::Result<Vec<String>> {
        let head = self.head()?;
        let key = header(&head, "sec-websocket-key").expect("an upgrade has a key");
        let accept = accept_key(key.as_bytes());
        self.send(format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
        ))?;
        Ok(head)
    }

    /// Sends a WebSocket frame.
    pub fn frame(&mut self, first: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut bytes = vec![first];
        match payload.len() {
            length @ 0..126 => bytes.push(length as u8),
            length => {
                bytes.push(126);
                bytes.extend_from_slice(&(length as u16).to_be_bytes());
            }
        }
        bytes.extend_from_slice(payload);
        self.send(bytes)
    }

    /// Reads a WebSocket frame, which must be masked and whole: its opcode and payload.
    pub fn read_frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let head = self.exact(2)?;
        assert_eq!(head[0] & 0xf0, 0x80, "a whole message without extensions");
        assert_eq!(head[1] & 0x80, 0x80, "a client masks");
        let length = match head[1] & 0x7f {
            126 => usize::from(u16::from_be_bytes(self.exact(2)?.try_into().expect("two"))),
            length => usize::from(length),
        };
        let mask = self.exact(4)?;
        let mut payload = self.exact(length)?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        Ok((head[0] & 0x0f, payload))
    }

    /// Reads an HTTP/2 frame: type, flags, stream, payload.
    pub fn h2_frame(&mut self) -> std::io::Result<(u8, u8, u32, Vec<u8>)> {
        let head = self.exact(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Ok((head[3], head[4], stream, self.exact(length)?))
    }

    /// Sends an HTTP/2 frame.
    pub fn send_h2(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend_from_slice(&[kind, flags]);
        bytes.extend_from_slice(&stream.to_be_bytes());
        bytes.extend_from_slice(payload);
        self.send(bytes)
    }

    /// Waits until the client has closed.
    pub fn until_closed(&mut self) {
        let _ = std::io::copy(&mut self.reader, &mut std::io::sink());
    }
}

/// The value of a header.
pub fn header<'a>(head: &'a [String], name: &str) -> Option<&'a str> {
    head.iter().skip(1).find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}
