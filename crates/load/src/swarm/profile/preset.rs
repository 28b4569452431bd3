//! Profiles by name.
//!
//! Times are those that phones and carriers have: idle streams forgotten after four minutes and more, radios asleep
//! for seconds to a minute, apps away for minutes. A short run wants them faster ([`Mixture::faster`]).
//!
//! [`Mixture::faster`]: super::Mixture::faster

use super::behaviour::{Address, Background, Carrier, Profile, Radio, Weighted};
use crate::swarm::time::Span;

/// The names, each with what it means.
pub(crate) const PRESETS: [(&str, &str); 6] = [
    ("steady", "always there, as devices are without a profile"),
    ("phone", "a mixture: 40% sleepy, 20% carrier, 10% commuter, 20% background, 10% steady"),
    ("sleepy", "the radio sleeps 5 to 60 s after 10 s without traffic"),
    ("carrier", "streams idle for 4 to 6 minutes are forgotten, without FIN; keep-alive 3 to 10 minutes"),
    ("commuter", "the address changes every 5 minutes or so; the radio sleeps 2 to 20 s after 15 s"),
    ("background", "3 minutes in the foreground, 10 away; half of the times without DISCONNECT"),
];

const fn seconds(seconds: u64) -> Span {
    Span::Fixed { ms: seconds * 1_000 }
}

const fn between(min_s: u64, max_s: u64) -> Span {
    Span::Uniform { min_ms: min_s * 1_000, max_ms: max_s * 1_000 }
}

const fn about(mean_s: u64) -> Span {
    Span::Exponential { mean_ms: mean_s * 1_000 }
}

/// A preset that is one profile.
pub(crate) fn profile(name: &str) -> Option<Profile> {
    let base = Profile { name: name.to_owned(), ..Profile::steady() };
    Some(match name {
        "steady" => base,
        "sleepy" => Profile {
            keep_alive: Some(between(60, 240)),
            radio: Some(Radio { sleeps_after: seconds(10), lasts: between(5, 60) }),
            ..base
        },
        "carrier" => Profile {
            keep_alive: Some(between(180, 600)),
            carrier: Some(Carrier { forgets_after: between(240, 360) }),
            ..base
        },
        "commuter" => Profile {
            keep_alive: Some(between(60, 240)),
            radio: Some(Radio { sleeps_after: seconds(15), lasts: between(2, 20) }),
            address: Some(Address { changes_every: about(300) }),
            ..base
        },
        "background" => Profile {
            keep_alive: Some(between(60, 240)),
            background: Some(Background { every: about(180), lasts: about(600), silent: 0.5 }),
            ..base
        },
        _ => return None,
    })
}

/// What a name stands for: one profile, or several whose weights add up to `weight`.
pub(crate) fn parts(name: &str, weight: f64) -> Option<Vec<Weighted>> {
    if let Some(profile) = profile(name) {
        return Some(vec![Weighted { weight, profile }]);
    }
    if name != "phone" {
        return None;
    }
    let shares = [("sleepy", 0.4), ("carrier", 0.2), ("commuter", 0.1), ("background", 0.2), ("steady", 0.1)];
    let part =
        |(name, share): (&str, f64)| Some(Weighted { weight: weight * share, profile: profile(name)? });
    shares.into_iter().map(part).collect()
}

/// Lists the names that there are.
pub(crate) fn unknown(name: &str) -> String {
    let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
    format!("there is no profile {name:?}; use {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::profile::Mixture;

    #[test]
    fn every_preset_is_valid_at_any_speed() {
        for (name, _) in PRESETS {
            let profiles = parts(name, 3.0).expect("it is listed");
            let whole: f64 = profiles.iter().map(|part| part.weight).sum();
            assert!((whole - 3.0).abs() < 1e-9, "{name}");
            let mixture = Mixture { seed: 0, profiles };
            mixture.check().unwrap_or_else(|error| panic!("{error}"));
            mixture.faster(100.0).check().unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(parts("toaster", 1.0).is_none());
    }
}
