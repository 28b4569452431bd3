//! Peers of a newer Debian than the machine's, which `cargo xtask bench` unpacks
//! (xtask/src/newer_debian.rs).

use std::path::PathBuf;
use std::process::Command;

use crate::server::Places;

/// Programs, as the packages name them.
pub(crate) const MOSQUITTO: &str = "usr/sbin/mosquitto";
pub(crate) const REDIS: &str = "usr/bin/redis-server";
pub(crate) const POSTGRESQL: &str = "usr/lib/postgresql/17/bin/postgres";

/// A program of theirs.
pub(crate) fn program(places: &Places, path: &str) -> PathBuf {
    places.target.join("peers/debian-13/root").join(path)
}

/// The first line of what a program says with this argument.
pub(crate) fn version(path: &str, argument: &str) -> String {
    let said = Places::find().ok().and_then(|places| {
        let output = Command::new(program(&places, path)).arg(argument).output().ok()?;
        String::from_utf8(output.stdout).ok()
    });
    let line = said.as_deref().and_then(|text| text.lines().next()).unwrap_or("unknown");
    // Builds have sums and sizes behind it.
    line.split(" sha=").next().unwrap_or(line).trim().to_owned()
}
