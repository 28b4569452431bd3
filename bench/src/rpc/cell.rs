//! The cells of the RPC rows: which message, over how many connections, how many calls in flight.
//!
//! A cell's name is the first part of its samples' names and what `--only` looks at.

/// Connections of the published table.
pub(crate) const CONNECTIONS: [u32; 5] = [1, 10, 20, 50, 100];

/// A message of the published table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// 48 bytes.
    Small,
    /// 3,216 bytes.
    Large,
}

impl Message {
    /// Elements in it: 16 bytes each, and 16 beside them.
    pub(crate) fn elements(self) -> u32 {
        match self {
            Self::Small => 2,
            Self::Large => 200,
        }
    }

    /// Encoded size.
    pub(crate) fn bytes(self) -> u32 {
        16 + 16 * self.elements()
    }
}

/// Calls in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flight {
    /// One over all connections.
    Idle,
    /// 200 over all connections.
    Full,
    /// 64 on each connection.
    Each64,
}

/// One cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) flight: Flight,
    pub(crate) message: Message,
    pub(crate) connections: u32,
}

impl Cell {
    /// The published table, then one connection and a hundred with 64 calls in flight each.
    pub(crate) fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for flight in [Flight::Idle, Flight::Full] {
            for message in [Message::Small, Message::Large] {
                cells.extend(CONNECTIONS.map(|connections| Self { flight, message, connections }));
            }
        }
        cells.extend([1, 100].map(|connections| Self {
            flight: Flight::Each64,
            message: Message::Small,
            connections,
        }));
        cells
    }

    /// For example `full-48-100`.
    pub(crate) fn name(self) -> String {
        let flight = match self.flight {
            Flight::Idle => "idle",
            Flight::Full => "full",
            Flight::Each64 => "each64",
        };
        format!("{flight}-{}-{}", self.message.bytes(), self.connections)
    }

    /// For people.
    pub(crate) fn title(self) -> String {
        let flight = match self.flight {
            Flight::Idle => "one in flight overall",
            Flight::Full => "200 in flight overall",
            Flight::Each64 => "64 in flight on each",
        };
        let noun = if self.connections == 1 { "connection" } else { "connections" };
        let bytes = if self.message == Message::Small { "48" } else { "3,216" };
        format!("{bytes} B, {} {noun}, {flight}", self.connections)
    }

    /// The arguments of a client, except for the address and the times.
    pub(crate) fn arguments(self) -> Vec<String> {
        let (option, flight) = match self.flight {
            Flight::Idle => ("--inflight-total", "1"),
            Flight::Full => ("--inflight-total", "200"),
            Flight::Each64 => ("--inflight-each", "64"),
        };
        let (connections, elements) = (self.connections.to_string(), self.message.elements().to_string());
        ["--connections", &connections, option, flight, "--elements", &elements].map(str::to_owned).to_vec()
    }
}
