//! Which of two app versions is the later one.
//!
//! As in Semantic Versioning where a version looks like that, and sensible for all others: `2.3` is `2.3.0`, `2.10` comes behind
//! `2.9`, `3.0-beta.2` before `3.0`, and `v3+build7` is `3`.

use std::cmp::Ordering;

use crate::{AppVersion, VersionRange};

/// How two app versions stand to each other.
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    let ((one, one_before), (other, other_before)) = (split(one), split(other));
    let core = parts(one, other, Some("0"));
    core.then_with(|| match (one_before, other_before) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(one), Some(other)) => parts(one, other, None),
    })
}

/// The release, and the pre-release that precedes it, if any. Build metadata counts for nothing.
fn split(version: &str) -> (&str, Option<&str>) {
    let version = version.strip_prefix(['v', 'V']).unwrap_or(version);
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    version.split_once('-').map_or((version, None), |(release, before)| (release, Some(before)))
}

/// Part by part; a missing part is `filler`, or less than any.
fn parts(one: &str, other: &str, filler: Option<&str>) -> Ordering {
    let (mut ones, mut others) = (one.split('.'), other.split('.'));
    loop {
        let ordering = match (ones.next(), others.next()) {
            (None, None) => return Ordering::Equal,
            (one, other) => match (one.or(filler), other.or(filler)) {
                (Some(one), Some(other)) => part(one, other),
                (one, other) => one.is_some().cmp(&other.is_some()),
            },
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

/// Numbers by their value, however long, and before texts.
fn part(one: &str, other: &str) -> Ordering {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match (is_number(one), is_number(other)) {
        (true, true) => {
            let (one, other) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
            one.len().cmp(&other.len()).then_with(|| one.cmp(other))
        }
        (false, false) => one.cmp(other),
        (one, _) => {
            if one {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    }
}

impl VersionRange {
    /// Whether a version is in it.
    pub fn contains(&self, version: &str) -> bool {
        let fits = |edge: &Option<(AppVersion, bool)>, wanted: Ordering| {
            edge.as_ref().is_none_or(|(edge, included)| {
                let stands = compare_versions(version, edge.as_str());
                stands == wanted || *included && stands.is_eq()
            })
        };
        fits(&self.from, Ordering::Greater) && fits(&self.to, Ordering::Less)
    }
}

#[cfg(test)]
mod tests {
    use super::compare_versions;
    use std::cmp::Ordering;

    #[test]
    fn versions_stand_in_this_order() {
        let order = [
            "1",
            "1.0.1",
            "1.9",
            "1.10",
            "1.10.0.1",
            "2.0-alpha",
            "2.0-alpha.1",
            "2.0-alpha.beta",
            "2.0-beta",
            "2.0-beta.2",
            "2.0-beta.11",
            "2.0-rc",
            "2",
            "2.0.build",
            "18446744073709551616",
            "18446744073709551617",
        ];
        for (at, one) in order.iter().enumerate() {
            for (other_at, other) in order.iter().enumerate() {
                assert_eq!(compare_versions(one, other), at.cmp(&other_at), "{one} and {other}");
            }
        }
    }

    #[test]
    fn these_are_the_same_version() {
        for (one, other) in
            [("2.3", "2.3.0"), ("v2.3", "2.3"), ("2.03", "2.3"), ("2.3+1", "2.3+2"), ("", "0")]
        {
            assert_eq!(compare_versions(one, other), Ordering::Equal, "{one} and {other}");
        }
    }
}
