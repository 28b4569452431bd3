//! Profiles from a TOML file: `[[profile]]` tables, each a preset with changes or a profile of its own.
//!
//! The page docs/device-profiles.md has a sample, which the tests read.

use serde::Deserialize;

use super::{Address, Background, Carrier, Mixture, Profile, Radio, Weighted, preset};
use crate::swarm::time::Span;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    profile: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    preset: Option<String>,
    name: Option<String>,
    weight: Option<f64>,
    keep_alive: Option<Span>,
    ping_timeout: Option<Span>,
    radio: Option<Radio>,
    carrier: Option<Carrier>,
    address: Option<Address>,
    background: Option<Background>,
}

/// Reads a file's text.
///
/// # Errors
/// What is wrong, with the line where the text itself cannot be read.
pub(crate) fn parse(text: &str) -> Result<Mixture, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    if file.profile.is_empty() {
        return Err("it has no [[profile]]".to_owned());
    }
    let profiles = file.profile.into_iter().map(Entry::weighted).collect::<Result<_, _>>()?;
    let mixture = Mixture { seed: file.seed, profiles };
    mixture.check()?;
    Ok(mixture)
}

impl Entry {
    fn weighted(self) -> Result<Weighted, String> {
        let base = match &self.preset {
            None => Profile::steady(),
            Some(name) if name == "phone" => {
                return Err(
                    "\"phone\" is a mixture, which no profile builds on; list its parts instead".to_owned()
                );
            }
            Some(name) => preset::profile(name).ok_or_else(|| preset::unknown(name))?,
        };
        let profile = Profile {
            name: self.name.unwrap_or(base.name),
            keep_alive: self.keep_alive.or(base.keep_alive),
            ping_timeout: self.ping_timeout.unwrap_or(base.ping_timeout),
            radio: self.radio.or(base.radio),
            carrier: self.carrier.or(base.carrier),
            address: self.address.or(base.address),
            background: self.background.or(base.background),
        };
        Ok(Weighted { weight: self.weight.unwrap_or(1.0), profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_of_the_documentation_is_read() {
        let page = include_str!("../../../../../docs/device-profiles.md");
        let (_, rest) = page.split_once("```toml\n").expect("the page has a sample");
        let (sample, _) = rest.split_once("```").expect("the sample ends");
        let mixture = parse(sample).unwrap_or_else(|error| panic!("{error}\n{sample}"));
        let [sleepy, bus] = &mixture.profiles[..] else { panic!("two profiles: {mixture:?}") };
        assert_eq!((mixture.seed, sleepy.weight, bus.weight), (7, 3.0, 1.0));
        assert_eq!(sleepy.profile, preset::profile("sleepy").expect("a preset"));
        assert_eq!(bus.profile.name, "bus");
        assert_eq!(bus.profile.carrier.map(|carrier| carrier.forgets_after.max_ms()), Some(300_000));
        assert_eq!(bus.profile.background.map(|background| background.silent), Some(0.5));
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        let table = [
            ("", "no [[profile]]"),
            ("[[profile]]\npreset = \"toaster\"", "toaster"),
            ("[[profile]]\npreset = \"phone\"", "mixture"),
            ("[[profile]]\nkeep_alive = \"soon\"", "line 2"),
            ("[[profile]]\nsleeps = \"1s\"", "sleeps"),
            ("[[profile]]\nradio = { sleeps_after = \"1s\" }", "for"),
            ("[[profile]]\nweight = -1", "weight"),
        ];
        for (text, wanted) in table {
            let error = parse(text).expect_err("it is wrong");
            assert!(error.contains(wanted), "{error:?} should have {wanted:?}");
        }
    }
}
