//! A way to a backend that can be cut (connections break) or blocked (nothing passes and nobody is told).

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Forwards connections to a backend. Its threads end when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    way: Way,
    open: Vec<TcpStream>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Open,
    Cut,
    Blocked,
    Ended,
}

impl Proxy {
    pub fn to(backend: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("a bound listener");
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut state = shared.0.lock();
                match state.way {
                    Way::Ended => return,
                    Way::Cut => continue,
                    Way::Open | Way::Blocked => {}
                }
                let (Ok(client), Ok(backend)) = (client, TcpStream::connect(backend)) else { continue };
                let twin = |stream: &TcpStream| stream.try_clone().expect("an open socket");
                state.open.extend([twin(&client), twin(&backend)]);
                for (from, to) in [(twin(&client), twin(&backend)), (backend, client)] {
                    let shared = shared.clone();
                    std::thread::spawn(move || forward(from, to, &shared));
                }
            }
        });
        Self { address, state }
    }

    /// Breaks all connections, and each new one.
    pub fn cut(&self) {
        self.turn(Way::Cut);
    }

    /// Lets nothing pass, and tells nobody.
    pub fn block(&self) {
        self.turn(Way::Blocked);
    }

    /// Lets everything pass.
    pub fn open(&self) {
        self.turn(Way::Open);
    }

    fn turn(&self, way: Way) {
        let mut state = self.state.0.lock();
        state.way = way;
        if matches!(way, Way::Cut | Way::Ended) {
            for stream in state.open.drain(..) {
                // It may be closed already.
                _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.state.1.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.turn(Way::Ended);
        // Wakes the listener, which then ends.
        _ = TcpStream::connect(self.address);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, shared: &(Mutex<State>, Condvar)) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        let mut state = shared.0.lock();
        while state.way == Way::Blocked {
            shared.1.wait(&mut state);
        }
        drop(state);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Both);
    _ = from.shutdown(Shutdown::Both);
}
