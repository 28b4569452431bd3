//! Storms: a share of the devices loses its connections, once or again and again, and comes back.
//!
//! What one is, as values and as flags; each loop's part of doing it is in the driver.

use serde::{Deserialize, Serialize};

use super::time::{TIME_MS_MAX, milliseconds};

/// A storm: devices lose their connections, and come back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StormShape {
    /// Share of the devices that are cut.
    pub share: f64,
    /// Between two storms; `None` for one alone.
    pub every_ms: Option<u64>,
    /// The last device is cut so long after the first.
    pub over_ms: u64,
    /// When devices come back.
    pub back: Back,
}

impl Default for StormShape {
    fn default() -> Self {
        StormShape { share: 1.0, every_ms: None, over_ms: 0, back: Back::AtOnce }
    }
}

/// When devices come back that a storm has cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Back {
    /// At once: how fast does the broker take them all?
    AtOnce,
    /// After [`Reconnect`](super::Reconnect)'s wait, as devices do that know what a herd is.
    Later,
}

impl StormShape {
    /// Reports what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(format!("a storm cuts a share from 0 to 1, and not {}", self.share));
        }
        if self.every_ms.is_some_and(|ms| ms == 0 || ms < self.over_ms) {
            return Err("storms cannot follow each other faster than one of them takes".to_owned());
        }
        if self.over_ms.max(self.every_ms.unwrap_or(0)) > TIME_MS_MAX {
            return Err("no time of a storm is longer than 30 days".to_owned());
        }
        Ok(())
    }
}

/// The flags of a storm, behind `--storm`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StormArgs {
    /// Cut connections, so long after all devices were up
    #[arg(long = "storm", value_name = "TIME", value_parser = milliseconds)]
    pub(crate) after_ms: Option<u64>,
    /// Share of the devices that a storm cuts
    #[arg(long = "storm-share", value_name = "0..1", default_value_t = 1.0, requires = "after_ms")]
    share: f64,
    /// A storm again and again, so long after the one before
    #[arg(long = "storm-every", value_name = "TIME", value_parser = milliseconds, requires = "after_ms")]
    every_ms: Option<u64>,
    /// A storm cuts its devices one by one over this time, and not all at once
    #[arg(
        long = "storm-over",
        value_name = "TIME",
        value_parser = milliseconds,
        default_value = "0",
        requires = "after_ms"
    )]
    over_ms: u64,
    /// Devices that a storm cut wait before they come back (--reconnect-min), instead of coming at once
    #[arg(long = "storm-backoff", requires = "after_ms")]
    backoff: bool,
}

impl StormArgs {
    pub(crate) fn shape(&self) -> StormShape {
        StormShape {
            share: self.share,
            every_ms: self.every_ms,
            over_ms: self.over_ms,
            back: if self.backoff { Back::Later } else { Back::AtOnce },
        }
    }
}
