//! Which mutants are in a sample: those whose names have the lowest hashes.
//!
//! A mutant is named by its file, its change, and how many of the same change stand before it in the file. An edit
//! that adds or removes a few mutants so changes a few of the sample, and not nearly all as every n-th would.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// A mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Its name in cargo-mutants: `crates/a/src/b.rs:12:5: replace x`.
    pub(super) name: String,
    /// The package that it is in.
    pub(super) package: String,
    /// Its name without the line and column, which change with every edit, and its number among those of one name.
    pub(super) key: String,
}

/// Reads the list that cargo-mutants prints as JSON.
pub(super) fn read(list: &str) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_str(list).context("the list of cargo-mutants")?;
    let mut seen: HashMap<String, usize> = HashMap::new();
    let text =
        |value: &Value| value.as_str().map(str::to_owned).context("the list of cargo-mutants has no names");
    list.iter()
        .map(|mutant| {
            let name = text(&mutant["name"])?;
            let without_place = without_place(&name);
            let count = seen.entry(without_place.clone()).or_default();
            let key = format!("{without_place}#{count}");
            *count += 1;
            Ok(Mutant { name, package: text(&mutant["package"])?, key })
        })
        .collect()
}

/// The `from`th sample of so many; all of them where that is 0.
///
/// # Errors
///
/// There is no such sample.
pub(super) fn choose(all: &[Mutant], size: usize, from: usize) -> Result<Vec<&Mutant>> {
    let mut order: Vec<&Mutant> = all.iter().collect();
    order.sort_by_key(|mutant| hash(&mutant.key));
    let size = if size == 0 { all.len().max(1) } else { size };
    match order.chunks(size).nth(from) {
        Some(sample) => Ok(sample.to_vec()),
        None => bail!("there are {} samples of {size}, counted from 0", all.len().div_ceil(size)),
    }
}

/// `crates/a/src/b.rs:12:5: replace x` without the line and column.
pub(super) fn without_place(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(what)) => format!("{path}:{what}"),
        _ => name.to_owned(),
    }
}

/// FNV-1a, its bits mixed by the finalizer of MurmurHash3: the same for ever, unlike the standard library's.
fn hash(text: &str) -> u64 {
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    hash ^ hash >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(names: &[String]) -> Vec<Mutant> {
        let list: Vec<Value> =
            names.iter().map(|name| serde_json::json!({"name": name, "package": "stadium-a"})).collect();
        read(&Value::from(list).to_string()).expect("a list")
    }

    #[test]
    fn a_mutant_is_known_by_its_file_and_change_and_number() {
        let name = |line| format!("crates/a/src/b.rs:{line}:5: replace Header::size -> u32 with 0");
        let keys: Vec<String> = mutants(&[name(12), name(14)]).into_iter().map(|mutant| mutant.key).collect();
        let key = "crates/a/src/b.rs: replace Header::size -> u32 with 0";
        assert_eq!(keys, [format!("{key}#0"), format!("{key}#1")]);
    }

    #[test]
    fn samples_share_nothing_and_an_edit_changes_few_of_a_sample() {
        let names: Vec<String> = (0..1_000)
            .map(|number| format!("crates/a/src/b.rs:{number}:5: replace f{number} with ()"))
            .collect();
        let all = mutants(&names);
        let keys = |all: &[Mutant], from| -> Vec<String> {
            choose(all, 100, from).expect("there is one").iter().map(|mutant| mutant.key.clone()).collect()
        };
        let first = keys(&all, 0);
        assert_eq!(first.len(), 100);
        assert!(keys(&all, 1).iter().all(|key| !first.contains(key)));
        assert_eq!(choose(&all, 0, 0).map(|sample| sample.len()).ok(), Some(1_000));
        assert!(choose(&all, 100, 10).is_err());
        // Ten mutants fewer, and all others some lines further down.
        let later: Vec<String> = names[10..].iter().map(|name| name.replace(":5:", ":9:")).collect();
        let again = keys(&mutants(&later), 0);
        assert!(again.iter().filter(|key| first.contains(key)).count() >= 90);
    }
}
