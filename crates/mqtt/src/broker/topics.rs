//! Topics in their order, read as a trie of levels.
//!
//! A map in the order of its keys' bytes is a trie that costs nothing: what is below a level stands
//! together, between `LEVEL/` and `LEVEL0` (`0` follows `/`). [`look`] finds for one topic whether
//! a filter matches it, and where in the order the next topic may stand that it matches, so that a
//! reader goes only through branches that can match. A place in that order is a topic: it stays
//! right whatever is added or removed meanwhile.

/// What a filter has to do with a topic, and where it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It matches; so may the topic behind it.
    Match,
    /// It does not match; the topic behind it may.
    Next,
    /// It does not match, nor does any before the target.
    Seek,
    /// Neither it nor any behind it matches.
    Over,
}

/// Where in the order of topics the first one may stand that the filter matches.
pub(super) fn first(filter: &str) -> &str {
    literal(filter)
}

/// Looks at one topic, which is not before [`first`]. Writes the target of [`Look::Seek`].
pub(super) fn look(filter: &str, topic: &str, target: &mut String) -> Look {
    target.clear();
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        // The server's own topics stand together [MQTT-4.7.2-1]: `%` follows `$`.
        target.push('%');
        return Look::Seek;
    }
    // Where the level ends that the last `+` stands for.
    let mut any_to = None;
    let mut is_behind_plus = false;
    let mut wanted = Some(filter);
    let mut rest = Some(topic);
    while let Some(filter) = wanted {
        let (level, deeper) = split(filter);
        if level == "#" {
            return Look::Match;
        }
        let Some(below) = rest else {
            if is_behind_plus {
                // `a!` and what is below it stand between `a` and `a/`.
                return Look::Next;
            }
            target.push_str(topic);
            target.push('/');
            target.push_str(literal(filter));
            return Look::Seek;
        };
        let from = topic.len() - below.len();
        let (here, under) = split(below);
        is_behind_plus = level == "+";
        if is_behind_plus {
            any_to = Some(from + here.len());
        } else if level != here {
            let text = literal(filter);
            if text > below {
                target.push_str(&topic[..from]);
                target.push_str(text);
                return Look::Seek;
            }
            // `a/#` matches `a`, which stands before `a!`, and what is below `a`, which stands behind it.
            if filter[text.len()..].starts_with("/#")
                && below.strip_prefix(text).is_some_and(|tail| tail < "/")
            {
                target.push_str(&topic[..from]);
                target.push_str(text);
                target.push('/');
                return Look::Seek;
            }
            return behind(topic, any_to, target);
        }
        (wanted, rest) = (deeper, under);
    }
    if rest.is_none() { Look::Match } else { behind(topic, any_to, target) }
}

/// Goes on behind all that is below the level of the last `+`, which is not the topic's last level.
fn behind(topic: &str, any_to: Option<usize>, target: &mut String) -> Look {
    let Some(end) = any_to else { return Look::Over };
    target.push_str(&topic[..end]);
    target.push('0');
    Look::Seek
}

/// The filter up to its first wildcard. `a/#` matches `a` as well, so that the separator before `#`
/// is no part of it.
fn literal(filter: &str) -> &str {
    match filter.find(['+', '#']) {
        None => filter,
        Some(at) if filter[at..].starts_with('+') => &filter[..at],
        Some(at) => &filter[..at.saturating_sub(1)],
    }
}

fn split(levels: &str) -> (&str, Option<&str>) {
    match levels.split_once('/') {
        Some((level, rest)) => (level, Some(rest)),
        None => (levels, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic;

    #[test]
    fn a_look_says_where_the_next_match_may_stand() {
        for (filter, topic, expected, to) in [
            ("a/b", "a/b", Look::Match, ""),
            ("#", "a/b", Look::Match, ""),
            ("a/#", "a", Look::Match, ""),
            ("a/#", "a!x", Look::Seek, "a/"),
            ("a/#", "b", Look::Over, ""),
            ("#", "$SYS/x", Look::Seek, "%"),
            ("+/x", "$SYS/x", Look::Seek, "%"),
            ("$SYS/#", "$SYS/x", Look::Match, ""),
            ("+/b", "x", Look::Next, ""),
            ("+/b", "x/a", Look::Seek, "x/b"),
            ("+/b", "x/c", Look::Seek, "x0"),
            ("+/b", "x/b/c", Look::Seek, "x0"),
            ("+/b/c", "x/b", Look::Seek, "x/b/c"),
            ("+/b/+/d", "x/a/y", Look::Seek, "x/b/"),
            ("a/+/c", "a/x/c/d", Look::Seek, "a/x0"),
            ("a/b", "a/c", Look::Over, ""),
        ] {
            let mut target = String::new();
            assert_eq!(look(filter, topic, &mut target), expected, "{filter} at {topic}");
            assert_eq!(target, to, "{filter} at {topic}");
        }
    }

    #[test]
    fn no_match_is_passed_over() {
        let levels = ["", "a", "a!", "a0", "b", "$c"];
        let mut topics: Vec<String> = Vec::new();
        let mut filters: Vec<String> = vec!["#".into()];
        for one in levels {
            topics.push(one.into());
            for two in levels {
                topics.push(format!("{one}/{two}"));
                topics.extend(levels.iter().map(|three| format!("{one}/{two}/{three}")));
            }
        }
        topics.retain(|topic| !topic.is_empty());
        topics.sort();
        let wanted = ["", "a", "a!", "$c", "+"];
        for one in wanted {
            filters.extend([one.into(), format!("{one}/#")]);
            for two in wanted {
                filters.extend([format!("{one}/{two}"), format!("{one}/{two}/#")]);
                filters.extend(wanted.iter().map(|three| format!("{one}/{two}/{three}")));
            }
        }
        filters.retain(|filter| !filter.is_empty());
        let mut target = String::new();
        for filter in &filters {
            for (at, topic) in topics.iter().enumerate() {
                if topic.as_str() < first(filter) {
                    assert!(!topic::matches(filter, topic), "{filter} begins behind {topic}");
                    continue;
                }
                let look = look(filter, topic, &mut target);
                assert_eq!(look == Look::Match, topic::matches(filter, topic), "{filter} at {topic}");
                let passed_over = |other: &&String| match look {
                    Look::Match | Look::Next => false,
                    Look::Seek => **other < target,
                    Look::Over => true,
                };
                if look == Look::Seek {
                    assert!(target > *topic, "{filter} at {topic} goes back to {target}");
                }
                for other in topics[at + 1..].iter().take_while(passed_over) {
                    assert!(!topic::matches(filter, other), "{filter} at {topic} skips {other}");
                }
            }
        }
    }
}
