//! The rows: the published table, then what the issue asks beyond it, against peers and the bare echo of the same run.
//!
//! In the table a row must beat every peer, bare Netty too, and aims for 1.3 times bare Netty.

use super::cell::{CONNECTIONS, Cell, Flight, Message};
use super::fixture::SERVER_CPU;
use super::peer::{PEERS, Peer};
use super::{OF_DECODING, REST, bulk, overload};
use crate::figure::{self, Better, Figure, Samples, Sides};

/// How far ahead of bare Netty each row of the table aims to be.
const NETTY_AIM: f64 = 1.3;
/// How far ahead of bare Netty a row with small messages over several connections must be.
const NETTY_MUST: f64 = 1.1;
/// What the 99th percentile may be of the median at full load.
const TAIL_AIM: f64 = 5.0;
/// What "bounded" means for accepted calls under overload: five times the wait that the product's default admission allows.
const OVERLOAD_P99_US: f64 = 50_000.0;

/// Who is who.
const SIDES: Sides<Peer> = Sides { product: Peer::Stadium, peers: PEERS, limit: Peer::Bare };

type Row<'a> = figure::Row<'a, Peer>;

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Peer>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for message in [Message::Small, Message::Large] {
        for connections in CONNECTIONS {
            figures.push(full(samples, Cell { flight: Flight::Full, message, connections }));
        }
    }
    for message in [Message::Small, Message::Large] {
        for connections in CONNECTIONS {
            figures.push(idle(samples, Cell { flight: Flight::Idle, message, connections }));
        }
    }
    for message in [Message::Small, Message::Large] {
        for connections in CONNECTIONS {
            figures.push(tail(samples, Cell { flight: Flight::Full, message, connections }));
        }
    }
    figures.push(round_trip(samples));
    figures.push(share_of_decoding(samples));
    figures.extend(idle_cpu(samples));
    figures.extend(windows(samples));
    figures.extend(under_overload(samples));
    figures
}

fn per_second(samples: &Samples<Peer>, cell: Cell) -> Row<'_> {
    Row {
        samples,
        sample: format!("{}.per_second", cell.name()),
        figure: cell.title(),
        unit: "messages/s",
        better: Better::Higher,
    }
}

fn full(samples: &Samples<Peer>, cell: Cell) -> Figure {
    let row = per_second(samples, cell);
    let netty = row.best(&[Peer::Netty]);
    let ahead = matches!(cell.message, Message::Small) && matches!(cell.connections, 10 | 20 | 100);
    let over_netty = netty.filter(|_| ahead).map_or(0.0, |netty| netty * NETTY_MUST);
    let must = row.best(PEERS).map(|best| best.max(over_netty));
    row.figure(&SIDES, must, netty.map(|netty| netty * NETTY_AIM))
}

fn median_latency(samples: &Samples<Peer>, cell: Cell, figure: String) -> Row<'_> {
    Row { samples, sample: format!("{}.p50_us", cell.name()), figure, unit: "us", better: Better::Lower }
}

fn idle(samples: &Samples<Peer>, cell: Cell) -> Figure {
    let row = median_latency(samples, cell, format!("{}: median round trip", cell.title()));
    let (must, aim) = (row.best(PEERS), row.best(&[Peer::Netty]).map(|netty| netty / NETTY_AIM));
    row.figure(&SIDES, must, aim)
}

fn tail(samples: &Samples<Peer>, cell: Cell) -> Figure {
    let row = Row {
        samples,
        sample: format!("{}.tail", cell.name()),
        figure: format!("{}: 99th percentile over the median", cell.title()),
        unit: "times",
        better: Better::Lower,
    };
    row.figure(&SIDES, None, Some(TAIL_AIM))
}

fn round_trip(samples: &Samples<Peer>) -> Figure {
    let cell = Cell { flight: Flight::Idle, message: Message::Small, connections: 1 };
    let row = median_latency(
        samples,
        cell,
        "round trip, 48 B, Protocol Buffers both ways, beside the bare echo that busy polls too".into(),
    );
    let bare = row.best(&[Peer::BarePolling]);
    let sides = Sides { limit: Peer::BarePolling, ..SIDES };
    row.figure(&sides, bare.map(|bare| bare * 1.4), bare.map(|bare| bare * 1.2))
}

/// The rate over that of the bare loop which does the same work on messages.
fn share_of_decoding(samples: &Samples<Peer>) -> Figure {
    let cell = Cell { flight: Flight::Full, message: Message::Large, connections: 10 };
    let row = Row {
        samples,
        sample: format!("{}.{OF_DECODING}", cell.name()),
        figure: format!("{}: share of the bare loop that decodes the same", cell.title()),
        unit: "times",
        better: Better::Higher,
    };
    row.figure(&SIDES, Some(0.7), Some(0.9))
}

/// The price of looking before sleeping: nothing while nobody calls, a core while somebody does.
fn idle_cpu(samples: &Samples<Peer>) -> [Figure; 2] {
    let one = Cell { flight: Flight::Idle, message: Message::Small, connections: 1 };
    let rows = [
        (REST.to_owned(), "no call under way: server's share of its core".to_owned()),
        (one.name(), format!("{}: server's share of its core", one.title())),
    ];
    rows.map(|(measurement, figure)| {
        let sample = format!("{measurement}.{SERVER_CPU}");
        let row = Row { samples, sample, figure, unit: "cores", better: Better::Lower };
        row.figure(&Sides { limit: Peer::BarePolling, ..SIDES }, None, None)
    })
}

fn windows(samples: &Samples<Peer>) -> [Figure; 3] {
    let cell = |connections| Cell { flight: Flight::Each64, message: Message::Small, connections };
    let one = per_second(samples, cell(1));
    let must = one.best(&[Peer::RsocketJava]).map_or(1e6, |peer| (3.0 * peer).max(1e6));
    let aim = one.best(&[Peer::Bare]).map(|bare| bare * 0.6);
    let hundred = per_second(samples, cell(100));
    let over_netty = hundred.best(&[Peer::Netty]).map_or(0.0, |netty| netty * NETTY_MUST);
    let servers = Row {
        sample: format!("{}.per_second", bulk::NAME),
        figure: format!("{}, one client for all, with requests made beforehand", bulk::CELL.title()),
        ..per_second(samples, bulk::CELL)
    };
    let over_netty_server = servers.best(&[Peer::Netty]).map(|netty| netty * NETTY_MUST);
    let sides = Sides { limit: Peer::BareDecoding, ..SIDES };
    [
        one.figure(&SIDES, Some(must), aim),
        hundred.figure(&SIDES, Some(over_netty.max(1.5e6)), Some(4e6)),
        servers.figure(&sides, over_netty_server, Some(4e6)),
    ]
}

fn under_overload(samples: &Samples<Peer>) -> [Figure; 4] {
    let row = |value: &str, figure: &str, unit, better| Row {
        samples,
        sample: format!("{}.{value}", overload::NAME),
        figure: format!("three times the capacity arrives: {figure}"),
        unit,
        better,
    };
    [
        row("goodput_share", "goodput over capacity", "times", Better::Higher).figure(
            &SIDES,
            Some(0.9),
            None,
        ),
        row("p99_us", "99th percentile of accepted calls", "us", Better::Lower).figure(
            &SIDES,
            Some(OVERLOAD_P99_US),
            None,
        ),
        row("answered_share", "share of arrivals answered, OK or Busy", "times", Better::Higher).figure(
            &SIDES,
            Some(0.99),
            None,
        ),
        row("busy_share", "share of arrivals told Busy", "times", Better::Higher).figure(&SIDES, None, None),
    ]
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::figure::{Figure, Samples};
    use crate::rpc::peer::Peer;

    fn row<'a>(figures: &'a [Figure], title: &str) -> &'a Figure {
        figures.iter().find(|figure| figure.figure == title).expect("the row is in the table")
    }

    #[test]
    fn a_row_of_the_table_must_beat_the_best_peer_and_aims_beyond_netty() {
        let mut samples = Samples::default();
        for (peer, rate) in [(Peer::Stadium, 150.0), (Peer::Netty, 100.0), (Peer::Tonic, 120.0)] {
            samples.add("full-48-10.per_second".into(), peer, rate);
            samples.add("idle-48-10.p50_us".into(), peer, 1e4 / rate);
        }
        let figures = figures(&samples);
        let full = row(&figures, "48 B, 10 connections, 200 in flight overall");
        assert_eq!((full.must, full.aim, full.verdict()), (Some(120.0), Some(130.0), "aim"));
        let idle = row(&figures, "48 B, 10 connections, one in flight overall: median round trip");
        assert_eq!((idle.must, idle.verdict()), (Some(1e4 / 120.0), "aim"));
    }

    #[test]
    fn one_window_must_be_a_million_even_beside_a_slow_peer() {
        let mut samples = Samples::default();
        samples.add("each64-48-1.per_second".into(), Peer::RsocketJava, 100_000.0);
        samples.add("each64-48-1.per_second".into(), Peer::Stadium, 900_000.0);
        let figures = figures(&samples);
        let one = row(&figures, "48 B, 1 connection, 64 in flight on each");
        assert_eq!((one.must, one.verdict()), (Some(1e6), "**missed**"));
    }
}
