//! Topic names and filters: what is valid, what matches, what covers (MQTT 5.0 sections 4.7 and 4.8.2).

use stadium_mqtt::topic::{
    SharedFilter, Subscribed, TopicError, TopicFilter, TopicName, covers, has_levels_within, matches,
};

#[test]
fn valid_names_and_filters_are_accepted() {
    for name in
        ["a", "/", "//", "sport/tennis", "/finance", "Accounts payable", "$SYS/x", "a\u{FEFF}b", "ß/日本"]
    {
        assert_eq!(TopicName::parse(name).map(TopicName::as_str), Ok(name));
    }
    for filter in ["#", "+", "/", "/+", "+/", "a/#", "+/+/#", "a/+/b", "$SYS/#", "+/tennis/#", "/#", "a b/#"]
    {
        assert_eq!(TopicFilter::parse(filter).map(TopicFilter::as_str), Ok(filter));
    }
}

#[test]
fn names_and_filters_that_break_a_rule_are_refused() {
    use TopicError::*;
    let long = "x".repeat(65_536);
    for (name, error) in [
        ("", Empty),
        ("a\0", Nul),
        (long.as_str(), TooLong),
        ("a/+", WildcardInName),
        ("#", WildcardInName),
        ("a#b", WildcardInName),
    ] {
        assert_eq!(TopicName::parse(name), Err(error), "{name:.20}");
    }
    for (filter, error) in [
        ("", Empty),
        ("\0", Nul),
        (long.as_str(), TooLong),
        ("sport/tennis#", MisplacedWildcard),
        ("sport/tennis/#/ranking", MisplacedWildcard),
        ("#/", MisplacedWildcard),
        ("##", MisplacedWildcard),
        ("sport+", MisplacedWildcard),
        ("+sport", MisplacedWildcard),
        ("a/++", MisplacedWildcard),
        ("a/+#", MisplacedWildcard),
        ("a/#+", MisplacedWildcard),
    ] {
        assert_eq!(TopicFilter::parse(filter), Err(error), "{filter:.20}");
    }
    assert!(TopicName::parse(&long[1..]).is_ok());
    // As many levels as the length allows: how many a server takes is a setting of its own.
    assert!(TopicName::parse(&"/".repeat(65_535)).is_ok());
    for (topic, levels) in [("a", 1), ("a/b", 2), ("/", 2), ("///", 4), ("sport/+/#", 3)] {
        assert!(has_levels_within(topic, levels) && !has_levels_within(topic, levels - 1), "{topic}");
    }
}

#[test]
fn shared_filters_are_taken_apart() {
    let shared = SharedFilter::parse("$share/consumers/sport/+/#").unwrap().unwrap();
    assert_eq!((shared.group, shared.filter.as_str()), ("consumers", "sport/+/#"));
    let rooted = SharedFilter::parse("$share/g//finance").unwrap().unwrap();
    assert_eq!((rooted.group, rooted.filter.as_str()), ("g", "/finance"));
    assert_eq!(SharedFilter::parse("share/g/t"), None);
    assert_eq!(SharedFilter::parse("$shared/g/t"), None);
    assert!(matches!(Subscribed::parse("$share/g/t"), Ok(Subscribed::Shared(_))));
    assert!(matches!(Subscribed::parse("$SYS/t"), Ok(Subscribed::Own(_))));
    for bad in ["$share/", "$share//t", "$share/g", "$share/g/", "$share/g+/t", "$share/#/t", "$share/+/t"] {
        assert_eq!(Subscribed::parse(bad), Err(TopicError::BadShare), "{bad}");
    }
    assert_eq!(Subscribed::parse("$share/g/a#"), Err(TopicError::MisplacedWildcard));
}

#[test]
fn filters_match_as_the_specification_says() {
    for (filter, topic, expected) in [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
        ("sport/tennis/player1/#", "sport/tennis/player10", false),
        ("sport/#", "sport", true),
        ("#", "sport/tennis", true),
        ("#", "/", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+", "sport", true),
        ("+", "/finance", false),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("#", "$SYS/uptime", false),
        ("+/monitor/Clients", "$SYS/monitor/Clients", false),
        ("$SYS/#", "$SYS/uptime", true),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
        ("a/+", "a/$x", true),
        ("ACCOUNTS", "Accounts", false),
        ("/finance", "finance", false),
        ("a", "a/b", false),
        ("a/b", "a", false),
    ] {
        assert_eq!(matches(filter, topic), expected, "{filter} {topic}");
        let (filter, topic) = (TopicFilter::parse(filter).unwrap(), TopicName::parse(topic).unwrap());
        assert_eq!(filter.matches(topic), expected);
    }
}

/// All strings of one to `depth` levels.
fn paths(levels: &[&str], depth: usize) -> Vec<String> {
    let mut all: Vec<String> = levels.iter().map(|&level| level.to_owned()).collect();
    let mut last = all.clone();
    for _ in 1..depth {
        last = last.iter().flat_map(|p| levels.iter().map(move |l| format!("{p}/{l}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn a_filter_covers_exactly_those_whose_topics_it_matches() {
    // `z` stands for every level that no filter names, and topics are deeper than filters: what holds for
    // these topics holds for all.
    let topics: Vec<String> =
        paths(&["a", "b", "", "$s", "z"], 5).into_iter().filter(|t| !t.is_empty()).collect();
    let filters: Vec<String> =
        paths(&["a", "", "$s", "+", "#"], 3).into_iter().filter(|f| TopicFilter::parse(f).is_ok()).collect();
    let selected: Vec<Vec<u64>> = filters
        .iter()
        .map(|filter| {
            topics
                .chunks(64)
                .map(|chunk| {
                    chunk.iter().rev().fold(0, |bits, topic| bits << 1 | u64::from(matches(filter, topic)))
                })
                .collect()
        })
        .collect();
    let mut covering = 0;
    for (outer, outer_selects) in filters.iter().zip(&selected) {
        for (inner, inner_selects) in filters.iter().zip(&selected) {
            let expected = inner_selects.iter().zip(outer_selects).all(|(inner, outer)| inner & !outer == 0);
            assert_eq!(covers(outer, inner), expected, "{outer} covers {inner}");
            covering += usize::from(expected);
        }
    }
    assert!(filters.len() > 90 && covering > 500, "{} filters, {covering} pairs", filters.len());
}
