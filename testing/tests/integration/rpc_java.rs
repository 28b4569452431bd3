//! rsocket-java as a client of ours, and as a server for our client: every interaction, whole and in fragments.
//!
//! Both sides are processes; testing/README.md lists the routes and cases. Leases, resumption and frozen peers have
//! servers of their own.

use std::process::Command;

use anyhow::Result;
use stadium_testing::interop::{Peer, cases, java, ours, service};

/// What every client asks of every server.
const COMMON: &[&str] = &[
    "echo",
    "echo-large",
    "metadata",
    "note",
    "range",
    "range-large",
    "credit-one",
    "cancel-stream",
    "cancel-response",
    "fail-after",
    "channel",
    "channel-large",
    "sum",
];

/// What bare RSocket has besides.
const BARE: &[&str] = &["errors", "empty", "push", "push-back", "ask-me", "refused", "quiet"];

/// What a service of crates/rpc has of that: every request is answered, and metadata is pushed by the framework alone.
const SERVICE: &[&str] = &["quiet"];

/// What a client of crates/rpc asks of that.
const CLIENT: &[&str] = &["errors"];

/// Fragment sizes in bytes; rsocket-java takes none below 64.
const FRAGMENTS: [&str; 3] = ["fragment=0", "fragment=64", "fragment=1024"];

/// A program, a server or a client by how it is started.
type Program = fn() -> Result<Command>;

/// Starts a server with these options, and asks it for cases.
fn play(server: Program, client: Program, asked: &[&str], options: &[&str]) -> Result<()> {
    cases(client()?, &Peer::start(server()?, options)?, asked, options)
}

#[test]
fn java_clients_are_served_in_every_interaction() -> Result<()> {
    let asked = [COMMON, BARE].concat();
    FRAGMENTS.iter().try_for_each(|fragment| play(ours, java, &asked, &[fragment]))
}

#[test]
fn java_servers_serve_our_client_in_every_interaction() -> Result<()> {
    let asked = [COMMON, BARE].concat();
    FRAGMENTS.iter().try_for_each(|fragment| play(java, ours, &asked, &[fragment]))
}

#[test]
fn services_are_called_over_tcp_and_websocket() -> Result<()> {
    let asked = [COMMON, SERVICE].concat();
    for transport in ["transport=tcp", "transport=ws"] {
        for fragment in &FRAGMENTS[..2] {
            // Zero is no size for what a service sends.
            let size = if *fragment == "fragment=0" { "fragment=65536" } else { fragment };
            let server = Peer::start(service()?, &[transport, size])?;
            cases(java()?, &server, &asked, &[transport, fragment])?;
            if transport == "transport=tcp" {
                cases(ours()?, &server, &asked, &[fragment])?;
            }
        }
    }
    Ok(())
}

#[test]
fn java_servers_serve_clients_of_services_over_tcp_and_websocket() -> Result<()> {
    let asked = [COMMON, CLIENT].concat();
    for transport in ["transport=tcp", "transport=ws"] {
        for fragment in &FRAGMENTS[..2] {
            play(java, service, &asked, &[transport, fragment])?;
        }
    }
    Ok(())
}

/// The client freezes the server's process, which the options name, and notices.
fn notices_that_it_freezes(client: Program, server: &Peer) -> Result<()> {
    cases(client()?, server, &["frozen"], &[&format!("pid={}", server.process().0)])
}

#[test]
fn a_frozen_peer_is_given_up_within_its_lifetime() -> Result<()> {
    notices_that_it_freezes(java, &Peer::start(ours()?, &[])?)?;
    let server = Peer::start(java()?, &[])?;
    notices_that_it_freezes(ours, &server)?;
    notices_that_it_freezes(service, &server)
}

#[test]
fn leases_are_granted_and_honoured() -> Result<()> {
    let granting = ["lease=300,3"];
    let server = Peer::start(ours()?, &granting)?;
    cases(java()?, &server, &["lease"], &[])?;
    // A client that did not ask for leases is served without.
    cases(java()?, &server, &["echo", "range", "credit-one"], &[])?;
    cases(ours()?, &Peer::start(java()?, &granting)?, &["lease"], &[])?;
    // A service grants what its own load allows.
    play(service, ours, &["leased"], &[])
}

#[test]
fn a_session_outlives_its_connection() -> Result<()> {
    for fragment in ["fragment=0", "fragment=64"] {
        for (server, client) in [(ours as Program, java as Program), (java, ours)] {
            let server = Peer::start(server()?, &["resume=20000", fragment])?;
            cases(client()?, &server, &["resume"], &[fragment])?;
        }
    }
    play(service, ours, &["resume"], &[])
}
