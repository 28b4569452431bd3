//! The state of the ACME certificate on disk, for `stadium doctor`.

use std::time::{SystemTime, UNIX_EPOCH};

use super::files::{Files, State};
use super::is_on;
use crate::settings::Settings;

const DAY_S: u64 = 86_400;

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examined {
    /// ACME is off.
    Off,
    /// A certificate is there, and renewed in time.
    Good(String),
    /// It is there, and should have been renewed by now.
    Late(String),
    /// Clients trust none: what listeners show instead.
    Missing(String),
}

/// Looks at the certificate of the data directory.
pub fn examine(settings: &Settings) -> Examined {
    let acme = &settings.acme;
    if !is_on(acme) {
        return Examined::Off;
    }
    let files = Files::of(&settings.server.data);
    let (path, domains) = (files.identity().display().to_string(), acme.domains.join(", "));
    match files.state(&acme.domains) {
        State::Nothing => Examined::Missing(format!("{path}: there is no certificate for {domains} yet")),
        State::Placeholder => Examined::Missing(format!(
            "{path}: {} has signed no certificate for {domains} yet, and clients trust none",
            acme.directory
        )),
        State::OtherNames(names) => Examined::Missing(format!(
            "{path}: the certificate is for {}, and {domains} is configured",
            names.join(", ")
        )),
        State::Held(held) => {
            let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            let left = held.until_s.saturating_sub(now_s);
            let text = format!("{path}: {domains}, {} days left", left / DAY_S);
            // Renewals begin at two thirds of the life; after nine tenths all of them have failed.
            let is_late = left < (held.until_s - held.from_s.min(held.until_s)) / 10;
            if is_late { Examined::Late(text) } else { Examined::Good(text) }
        }
    }
}
