//! A profile: the behaviours of one kind of device, each of which may be absent.
//!
//! Every time in it is a [`Span`], so that each device draws its own.

use serde::{Deserialize, Serialize};

use crate::swarm::time::Span;

/// The longest time of a behaviour: 30 days, in milliseconds.
const SPAN_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// A run that is made faster leaves brokers so long for a PINGRESP, in milliseconds.
const PATIENCE_MS_MIN: u64 = 2_000;

/// How a device behaves. A behaviour that is absent does not happen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name in reports.
    pub name: String,
    /// Keep-alive: each device draws its own once, in whole seconds, rounded up. `None`: the
    /// swarm's, for all.
    #[serde(default)]
    pub keep_alive: Option<Span>,
    /// How long a device waits for its PINGRESP before it holds the connection for dead.
    pub ping_timeout: Span,
    /// The radio sleeps.
    #[serde(default)]
    pub radio: Option<Radio>,
    /// The carrier forgets idle streams.
    #[serde(default)]
    pub carrier: Option<Carrier>,
    /// The device's address changes.
    #[serde(default)]
    pub address: Option<Address>,
    /// The app goes to the background.
    #[serde(default)]
    pub background: Option<Background>,
}

/// A radio that sleeps: the device then reads nothing and sends nothing. Incoming data waits in the
/// kernel, a keep-alive goes out late, and so does an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// Without traffic for so long it falls asleep.
    pub sleeps_after: Span,
    /// For so long.
    #[serde(rename = "for")]
    pub lasts: Span,
}

/// A carrier that forgets a stream which was idle: nothing gets through any more, either way, and
/// no FIN or RST is forwarded. The device learns of it when a ping gets no answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Carrier {
    /// Without traffic in either direction for so long; each device draws its own once.
    pub forgets_after: Span,
}

/// An address that changes: the connection is dead without a word, and the device comes back at
/// once, with its session, from another address.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Between two changes.
    pub changes_every: Span,
}

/// An app that its owner, or the system, puts to the background: it is away, and comes back with
/// its session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// In the foreground for so long.
    pub every: Span,
    /// Away for so long.
    #[serde(rename = "for")]
    pub lasts: Span,
    /// Share of the times in which it goes without DISCONNECT, its connection dead as after
    /// [`Carrier`]: the broker believes in it until its keep-alive runs out.
    #[serde(default)]
    pub silent: f64,
}

impl Profile {
    /// A device that does nothing of its own accord.
    pub fn steady() -> Self {
        Profile {
            name: "steady".to_owned(),
            keep_alive: None,
            ping_timeout: Span::Fixed { ms: 10_000 },
            radio: None,
            carrier: None,
            address: None,
            background: None,
        }
    }

    /// Whether the device is ever away, so that it wants its session kept.
    pub fn leaves(&self) -> bool {
        self.carrier.is_some() || self.address.is_some() || self.background.is_some()
    }

    /// All its times so many times faster, its keep-alive included, for runs that must be short.
    /// Patience with a ping is not shortened below two seconds: the broker is not faster because
    /// the run is.
    #[must_use]
    pub fn faster(mut self, speed: f64) -> Self {
        let hasten = |span: &mut Span| *span = span.faster(speed);
        let patience = self.ping_timeout.faster(speed);
        if speed < 1.0 || patience.max_ms() >= PATIENCE_MS_MIN {
            self.ping_timeout = patience;
        } else if self.ping_timeout.max_ms() > PATIENCE_MS_MIN {
            self.ping_timeout = Span::Fixed { ms: PATIENCE_MS_MIN };
        }
        self.keep_alive.as_mut().map(hasten);
        if let Some(radio) = &mut self.radio {
            hasten(&mut radio.sleeps_after);
            hasten(&mut radio.lasts);
        }
        if let Some(carrier) = &mut self.carrier {
            hasten(&mut carrier.forgets_after);
        }
        if let Some(address) = &mut self.address {
            hasten(&mut address.changes_every);
        }
        if let Some(background) = &mut self.background {
            hasten(&mut background.every);
            hasten(&mut background.lasts);
        }
        self
    }

    /// Reports what is wrong with it.
    pub(super) fn check(&self) -> Result<(), String> {
        let spans = [
            ("keep_alive", self.keep_alive),
            ("ping_timeout", Some(self.ping_timeout)),
            ("radio.sleeps_after", self.radio.map(|radio| radio.sleeps_after)),
            ("radio.for", self.radio.map(|radio| radio.lasts)),
            ("carrier.forgets_after", self.carrier.map(|carrier| carrier.forgets_after)),
            ("address.changes_every", self.address.map(|address| address.changes_every)),
            ("background.every", self.background.map(|background| background.every)),
            ("background.for", self.background.map(|background| background.lasts)),
        ];
        let refuse = |text: String| Err(format!("profile {:?}: {text}", self.name));
        for (name, span) in spans {
            let Some(span) = span else { continue };
            if span.max_ms() == 0 || span.max_ms() > SPAN_MS_MAX {
                return refuse(format!("{name} is {span}; a time is above zero and at most 30 days"));
            }
        }
        if let Some(span) = self.keep_alive
            && span.max_ms() > u64::from(u16::MAX) * 1_000
        {
            return refuse(format!("keep_alive is {span}; MQTT knows at most 65535s"));
        }
        if let Some(background) = self.background
            && !(0.0..=1.0).contains(&background.silent)
        {
            return refuse(format!("background.silent is {}; it is a share from 0 to 1", background.silent));
        }
        Ok(())
    }
}

/// A profile, and how many devices have it beside the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Relative to the others' weights.
    pub weight: f64,
    /// The profile.
    pub profile: Profile,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_device_is_still_patient() {
        let patience = |ms, speed| {
            let profile = Profile { ping_timeout: Span::Fixed { ms }, ..Profile::steady() };
            profile.faster(speed).ping_timeout
        };
        assert_eq!(patience(10_000, 2.0), Span::Fixed { ms: 5_000 });
        assert_eq!(patience(10_000, 100.0), Span::Fixed { ms: 2_000 });
        assert_eq!(patience(500, 100.0), Span::Fixed { ms: 500 }, "as it was wanted");
        assert_eq!(patience(500, 0.1), Span::Fixed { ms: 5_000 });
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        type Spoil = fn(&mut Profile);
        let table: [(&str, Spoil); 4] = [
            ("ping_timeout", |profile| profile.ping_timeout = Span::Fixed { ms: 0 }),
            ("65535s", |profile| profile.keep_alive = Some(Span::Fixed { ms: 65_536_000 })),
            ("silent", |profile| {
                let span = Span::Fixed { ms: 1 };
                profile.background = Some(Background { every: span, lasts: span, silent: 1.5 });
            }),
            ("30 days", |profile| {
                profile.carrier = Some(Carrier { forgets_after: Span::Exponential { mean_ms: SPAN_MS_MAX } });
            }),
        ];
        for (wanted, spoil) in table {
            let mut profile = Profile::steady();
            profile.check().expect("it is steady");
            spoil(&mut profile);
            let text = profile.check().expect_err("it cannot be");
            assert!(text.contains(wanted) && text.contains("steady"), "{text:?} should have {wanted:?}");
        }
    }
}
