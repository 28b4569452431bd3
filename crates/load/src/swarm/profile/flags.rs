//! The flags that set how devices behave, and how they become a [`Mixture`].

use std::path::PathBuf;

use super::{Mixture, Weighted, file, preset};
use crate::error::Error;

/// The flags of profiles.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ProfileArgs {
    /// How devices behave: steady, phone, sleepy, carrier, commuter or background; repeat it as NAME=WEIGHT for a mixture
    #[arg(long = "profile", value_name = "NAME[=WEIGHT]", value_parser = named)]
    profiles: Vec<Named>,
    /// The same from a TOML file
    #[arg(long, value_name = "FILE", conflicts_with = "profiles")]
    profile_file: Option<PathBuf>,
    /// All times of profiles so many times faster, keep-alives included: for short runs
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    profile_speed: f64,
    /// Decides which device has which profile and every time that chance decides; instead of the file's, or 0
    #[arg(long, value_name = "N")]
    profile_seed: Option<u64>,
}

impl ProfileArgs {
    /// # Errors
    /// [`Error::Config`] where the file, or the speed, cannot be.
    pub(crate) fn mixture(&self) -> Result<Mixture, Error> {
        let mut mixture = match &self.profile_file {
            None => {
                let profiles = self.profiles.iter().flat_map(|named| named.0.iter().cloned()).collect();
                Mixture { seed: 0, profiles }
            }
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(Error::system(format!("reading {}", path.display())))?;
                file::parse(&text).map_err(|error| Error::Config(format!("{}: {error}", path.display())))?
            }
        };
        mixture.seed = self.profile_seed.unwrap_or(mixture.seed);
        if !(0.001..=1_000_000.0).contains(&self.profile_speed) {
            return Err(Error::Config(format!(
                "profiles cannot be {} times faster; use 0.001 to 1000000",
                self.profile_speed
            )));
        }
        // At their own speed times stay as they were written, whatever their grain.
        Ok(if self.profile_speed == 1.0 { mixture } else { mixture.faster(self.profile_speed) })
    }
}

/// What one `--profile` stands for.
#[derive(Debug, Clone)]
struct Named(Vec<Weighted>);

fn named(text: &str) -> Result<Named, String> {
    let (name, weight) = match text.split_once('=') {
        None => (text, 1.0),
        Some((name, weight)) => {
            let number = weight.parse().map_err(|_| format!("{weight:?} is no weight; write {name}=3"))?;
            (name, number)
        }
    };
    preset::parts(name, weight).map(Named).ok_or_else(|| preset::unknown(name))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        profiles: ProfileArgs,
    }

    fn mixture(flags: &str) -> Result<Mixture, Error> {
        let words = std::iter::once("swarm").chain(flags.split_whitespace());
        Line::try_parse_from(words).expect("the flags parse").profiles.mixture()
    }

    #[test]
    fn profiles_come_by_name() {
        let mixed = mixture("--profile sleepy=3 --profile carrier --profile-seed 9 --profile-speed 10")
            .expect("the flags are valid");
        let names: Vec<_> =
            mixed.profiles.iter().map(|part| (part.profile.name.as_str(), part.weight)).collect();
        assert_eq!((mixed.seed, &names[..]), (9, &[("sleepy", 3.0), ("carrier", 1.0)][..]));
        let forgets_after = mixed.profiles[1].profile.carrier.expect("it culls").forgets_after;
        assert_eq!(forgets_after.max_ms(), 36_000, "ten times faster");
        assert!(mixture("").expect("no profile is fine").is_empty());
        assert!(mixture("--profile-speed 0").is_err());
        for text in ["toaster", "sleepy=much", "=3"] {
            assert!(named(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn profiles_come_from_a_file_which_errors_name() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let path = directory.path().join("phones.toml");
        let flags = format!("--profile-file {}", path.display());
        std::fs::write(&path, "seed = 4\n[[profile]]\npreset = \"commuter\"\n").expect("a file");
        let read = mixture(&flags).expect("the file is valid");
        assert_eq!((read.seed, read.profiles.len()), (4, 1));
        std::fs::write(&path, "[[profile]]\npreset = \"toaster\"\n").expect("a file");
        let error = mixture(&flags).expect_err("no such preset").to_string();
        assert!(error.contains("phones.toml") && error.contains("toaster"), "{error}");
    }
}
