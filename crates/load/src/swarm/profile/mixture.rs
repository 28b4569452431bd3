//! A mixture: deals profiles to devices by their numbers, the same in every run with its seed.

use serde::{Deserialize, Serialize};

use super::behaviour::Weighted;
use super::preset;
use crate::swarm::time::{Dice, Once};

/// Profiles of one mixture.
const PROFILES_MAX: usize = 1_000;

/// The profiles of devices. Empty: none of them has one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// Decides every draw: which device has which profile, and each time that chance decides.
    pub seed: u64,
    /// The profiles.
    pub profiles: Vec<Weighted>,
}

impl Mixture {
    /// Whether no device has a profile.
    pub fn is_empty(&self) -> bool {
        self.profiles.is_empty()
    }

    /// The mixture of a preset's name.
    ///
    /// # Errors
    /// The names that there are, where this is none.
    pub fn named(name: &str, seed: u64) -> Result<Self, String> {
        let profiles = preset::parts(name, 1.0).ok_or_else(|| preset::unknown(name))?;
        Ok(Mixture { seed, profiles })
    }

    /// The place of a device's profile in the list, which is not empty.
    pub fn profile_of(&self, device: u32) -> usize {
        let whole: f64 = self.profiles.iter().map(|part| part.weight).sum();
        let mut left = Dice { seed: self.seed }.once(device, Once::Profile) * whole;
        for (place, part) in self.profiles.iter().enumerate() {
            left -= part.weight;
            if left < 0.0 {
                return place;
            }
        }
        // Rounding may leave a hair.
        self.profiles.len() - 1
    }

    /// Whether some device is ever away.
    pub fn leaves(&self) -> bool {
        self.profiles.iter().any(|part| part.profile.leaves())
    }

    /// Whether some device's address changes.
    pub fn moves(&self) -> bool {
        self.profiles.iter().any(|part| part.profile.address.is_some())
    }

    /// All times so many times faster.
    #[must_use]
    pub fn faster(mut self, speed: f64) -> Self {
        for part in &mut self.profiles {
            part.profile = part.profile.clone().faster(speed);
        }
        self
    }

    /// Reports what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.profiles.len() > PROFILES_MAX {
            return Err(format!("{} profiles; use at most {PROFILES_MAX}", self.profiles.len()));
        }
        for part in &self.profiles {
            if !(part.weight.is_finite() && part.weight > 0.0) {
                return Err(format!(
                    "profile {:?} has the weight {}; use a number above zero",
                    part.profile.name, part.weight
                ));
            }
            part.profile.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::profile::Profile;

    #[test]
    fn devices_are_dealt_by_weight_and_always_the_same() {
        let part = |weight| Weighted { weight, profile: Profile::steady() };
        let mixture = Mixture { seed: 3, profiles: vec![part(1.0), part(2.0), part(5.0)] };
        let mut counts = [0; 3];
        for device in 0..8_000 {
            counts[mixture.profile_of(device)] += 1;
            assert_eq!(mixture.profile_of(device), mixture.clone().profile_of(device));
        }
        for (count, expected) in counts.into_iter().zip([1_000, 2_000, 5_000]) {
            assert!((expected - 150..expected + 150).contains(&count), "{counts:?}");
        }
    }

    #[test]
    fn a_profile_has_a_weight() {
        let weightless = Weighted { weight: 0.0, profile: Profile::steady() };
        assert!(Mixture { seed: 0, profiles: vec![weightless] }.check().is_err());
    }
}
