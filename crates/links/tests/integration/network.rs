//! A network that swallows packets: neither FIN nor RST. Needs root and iproute2.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use stadium_links::{Carrier, Unknown};
use stadium_testing::network::Network;

use crate::fixture::*;

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_silent_cut_is_noticed_within_seconds_and_links_come_back_after_it() -> Result<()> {
    let authority = authority();
    let network = Network::new()?;
    // The loops' threads are where the endpoints are started.
    let a = network.server.within(|| {
        let mut settings = settings(&authority, "a");
        settings.listen = SocketAddr::new(Network::SERVER, 0);
        Ok(Node::start(settings))
    })?;
    let b = network.device.within(|| {
        let mut settings = settings(&authority, "b");
        settings.listen = "198.18.2.2:0".parse()?;
        Ok(Node::start(settings))
    })?;
    a.knows(&b);
    b.knows(&a);
    a.reaches(&[&b]);
    b.reaches(&[&a]);
    b.behaves(Manner::Hold);
    a.request(&b, 1, LONG, b"arrived");
    b.waits_for_requests(1);
    network.swallow()?;
    let cut = Instant::now();
    a.request(&b, 2, LONG, b"swallowed");
    assert_eq!(a.outcome(1), Became::Unknown(Unknown::LinkEnded));
    assert_eq!(a.outcome(2), Became::Unknown(Unknown::LinkEnded), "it left, and nobody knows how far");
    let noticed = cut.elapsed();
    assert!(noticed >= Duration::from_millis(1_000), "a pause is no cut: {noticed:?}");
    assert!(noticed <= Duration::from_millis(4_000), "{noticed:?}");
    b.eventually("the other side notices too", || b.endpoint.reach().reached == 0);
    a.eventually("nobody is reached", || a.endpoint.reach().too_few_for.is_some());
    network.restore()?;
    b.behaves(Manner::Echo);
    a.reaches(&[&b]);
    b.reaches(&[&a]);
    a.request(&b, 3, LONG, b"after");
    assert_eq!(a.outcome(3), Became::Answer(b"after".into()));
    let arrived: Vec<_> = b.requests().into_iter().map(|(_, _, _, body)| body).collect();
    assert_eq!(arrived, [b"arrived".to_vec(), b"after".to_vec()], "what was swallowed is not sent again");
    Ok(())
}
