//! Secrets in a command line: values of flags, and of variables that flags set.

use super::{HIDDEN, is_secret_name};

/// Flags whose next word is a value of a run: `--set NAME=VALUE`.
const SETTING: &str = "--set";

/// The words without secrets. `text` hides those of any other word.
pub(super) fn hide(words: &[String], text: &dyn Fn(&str) -> String) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut before = "";
    for word in words {
        out.push(one(before, word, text));
        before = word;
    }
    out
}

fn one(before: &str, word: &str, text: &dyn Fn(&str) -> String) -> String {
    if let Some((flag, value)) = word.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        if flag == SETTING {
            return format!("{flag}={}", setting(value, text));
        }
        return if is_secret_name(flag) { format!("{flag}={HIDDEN}") } else { text(word) };
    }
    if before == SETTING {
        return setting(word, text);
    }
    if before.starts_with("--") && !before.contains('=') && is_secret_name(before) && !word.starts_with("--")
    {
        return HIDDEN.to_owned();
    }
    text(word)
}

fn setting(word: &str, text: &dyn Fn(&str) -> String) -> String {
    match word.split_once('=') {
        Some((name, _)) if is_secret_name(name) => format!("{name}={HIDDEN}"),
        _ => text(word),
    }
}
