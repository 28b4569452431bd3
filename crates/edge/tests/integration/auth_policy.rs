//! The authorisation function, from its public side: rules as an operator writes them, tables of what they
//! allow, reload, and the law that a filter is allowed only if everything that it matches is.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use stadium_edge::auth::{Error, Policy, Principal, RulesConfig, TopicRule, Via};
use stadium_grants::Verb::{StreamPublish as Publish, StreamRetain as Retain, StreamSubscribe as Subscribe};
use stadium_mqtt::broker::Grant;

fn device(client_id: &str) -> Principal<'_> {
    Principal { user: client_id, client_id, groups: &[], via: Via::Password }
}

fn policy(toml: &str) -> Result<Policy, Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.toml");
    fs::write(&path, toml).expect("written");
    Policy::open(RulesConfig::File(path))
}

#[test]
fn requests_of_a_device_for_itself_need_no_rule_and_a_rule_can_deny_them() {
    let denied = "[[rule]]\ndeny = [\"publish\"]\ntopics = [\"me/device\"]\nusers = [\"d1\"]\n\
                  [[rule]]\nallow = [\"publish\", \"subscribe\"]\ntopics = [\"#\"]\n";
    let default = Policy::open(RulesConfig::Default).expect("default rules");
    let (denied, everything) = (policy(denied).expect("rules"), Policy::everything());
    for (policy, device_may) in [(&default, true), (&denied, false), (&everything, true)] {
        let d1 = &device("d1");
        assert_eq!(policy.allows(d1, Publish, "me/device"), device_may);
        assert!(policy.allows(d1, Publish, "me/opened"));
        assert!(policy.allows(&device("d2"), Publish, "me/device"));
        for filter in ["me/#", "me/opened", "me/+", "$share/g/me/device"] {
            assert!(!policy.allows(d1, Subscribe, filter), "{filter}");
            assert_eq!(policy.grant(d1, filter), Grant::Denied, "{filter}");
        }
    }
    // Other topics that look like them are like any other.
    assert!(!default.allows(&device("d1"), Publish, "me"));
    assert!(!default.allows(&device("d1"), Publish, "mean/opened"));
    assert_eq!(everything.grant(&device("d1"), "#"), Grant::Whole);
}

#[test]
fn a_device_reads_its_inbox_and_channels_and_writes_its_uplink() {
    let policy = Policy::open(RulesConfig::Default).expect("default rules");
    let table = [
        (Subscribe, "inbox/d1", true),
        (Subscribe, "inbox/d1/#", true),
        (Subscribe, "inbox/d1/news", true),
        (Subscribe, "$share/g/inbox/d1", true),
        (Subscribe, "channels/+", true),
        (Subscribe, "channels/spring", true),
        (Publish, "uplink/d1/state", true),
        (Publish, "uplink/d1", true),
        (Subscribe, "inbox/d2", false),
        (Subscribe, "inbox/+", false),
        (Subscribe, "inbox/#", false),
        (Subscribe, "inbox/d10", false),
        (Subscribe, "#", false),
        (Subscribe, "+/d1", false),
        (Subscribe, "$share/g/inbox/d2", false),
        (Subscribe, "$share/g/#", false),
        (Subscribe, "$share/g", false),
        (Subscribe, "$share//inbox/d1", false),
        (Subscribe, "$share/g+/inbox/d1", false),
        (Subscribe, "$share", false),
        (Subscribe, "channels/#", false),
        (Subscribe, "channels/a/b", false),
        (Subscribe, "channels", false),
        (Subscribe, "$SYS/#", false),
        (Subscribe, "$SYS/broker/uptime", false),
        (Subscribe, "uplink/d1/state", false),
        (Publish, "inbox/d1", false),
        (Publish, "channels/spring", false),
        (Publish, "uplink/d2/state", false),
        (Publish, "uplink/d1/#", false),
        (Publish, "uplink/+/state", false),
        (Publish, "$SYS/broker", false),
        (Publish, "$share/g/uplink/d1/state", false),
        (Publish, "", false),
        (Subscribe, "", false),
        (Subscribe, "inbox/d1/#/x", false),
        (Subscribe, "inbox/d1/a+", false),
    ];
    for (action, asked, allowed) in table {
        assert_eq!(policy.allows(&device("d1"), action, asked), allowed, "{action:?} {asked}");
    }
}

#[test]
fn a_client_identifier_with_wildcards_or_separators_gets_nothing_by_it() {
    let policy = Policy::open(RulesConfig::Default).expect("default rules");
    for client_id in ["#", "+", "", "d2/#", "D2/x", "d2/x/y", "d2/", "/x", "+/+", "/", "d\0"] {
        for asked in ["inbox/d2", "inbox/#", "inbox/+", "inbox/d2/x", "inbox/d2/#", "inbox/", "inbox"] {
            assert!(!policy.allows(&device(client_id), Subscribe, asked), "{client_id:?} {asked}");
        }
        for asked in ["uplink/d2/x", "uplink//x", "uplink/d2/x/y", "uplink"] {
            assert!(!policy.allows(&device(client_id), Publish, asked), "{client_id:?} {asked}");
        }
        assert!(policy.allows(&device(client_id), Subscribe, "channels/+"), "{client_id:?}");
    }
}

#[test]
fn a_device_of_an_app_has_two_levels_of_its_own() {
    let policy = Policy::open(RulesConfig::Default).expect("default rules");
    let table = [
        (Subscribe, "inbox/shop/d1", true),
        (Subscribe, "inbox/shop/d1/#", true),
        (Subscribe, "inbox/shop/d1/news", true),
        (Subscribe, "$share/g/inbox/shop/d1", true),
        (Publish, "uplink/shop/d1/state", true),
        (Publish, "uplink/shop/d1", true),
        (Subscribe, "channels/spring", true),
        (Subscribe, "inbox/shop/d2", false),
        (Subscribe, "inbox/other/d1", false),
        (Subscribe, "inbox/shop", false),
        (Subscribe, "inbox/shop/#", false),
        (Subscribe, "inbox/shop/+", false),
        (Subscribe, "inbox/+/d1", false),
        (Subscribe, "inbox/+/+", false),
        (Subscribe, "inbox/d1", false),
        (Subscribe, "inbox/shop//d1", false),
        (Subscribe, "inbox/#", false),
        (Publish, "uplink/shop/d2/state", false),
        (Publish, "uplink/shop", false),
        (Publish, "uplink/d1/state", false),
    ];
    for (action, asked, allowed) in table {
        assert_eq!(policy.allows(&device("shop/d1"), action, asked), allowed, "{action:?} {asked}");
    }
    let denying = self::policy(
        r##"
        [[rule]]
        deny = ["subscribe", "publish"]
        topics = ["inbox/%c/secret"]
        [[rule]]
        allow = ["subscribe", "publish"]
        topics = ["#"]
        "##,
    )
    .expect("rules");
    let table = [
        ("inbox/shop/d1/secret", false),
        ("inbox/+/d1/secret", false),
        ("inbox/shop/+/secret", false),
        ("inbox/shop/#", false),
        ("#", false),
        ("inbox/shop/d1", true),
        ("inbox/shop/d2/secret", true),
        ("inbox/d1/secret", true),
    ];
    for (asked, allowed) in table {
        assert_eq!(denying.allows(&device("shop/d1"), Subscribe, asked), allowed, "{asked}");
    }
}

#[test]
fn a_rule_says_whether_it_is_about_retained_messages_and_is_about_all_otherwise() {
    let policy = policy(
        r##"
        [[rule]]
        deny = ["publish"]
        topics = ["plant/secret/#"]
        retain = true
        [[rule]]
        allow = ["publish"]
        topics = ["plant/#"]
        [[rule]]
        allow = ["publish", "subscribe"]
        topics = ["chat/#"]
        retain = false
        [[rule]]
        allow = ["publish"]
        topics = ["config/#", "chat/pinned"]
        retain = true
        "##,
    )
    .expect("rules");
    let table = [
        (Publish, "plant/a", true),
        (Retain, "plant/a", true),
        (Publish, "plant/secret/a", true),
        (Retain, "plant/secret/a", false),
        (Publish, "chat/a", true),
        (Retain, "chat/a", false),
        (Subscribe, "chat/#", true),
        (Retain, "chat/pinned", true),
        (Publish, "config/a", false),
        (Retain, "config/a", true),
        (Retain, "config/+", false),
        (Retain, "elsewhere", false),
    ];
    for (action, asked, allowed) in table {
        assert_eq!(policy.allows(&device("d1"), action, asked), allowed, "{action:?} {asked}");
    }
    // As the default rules and the trial have it, who may publish may retain; nobody speaks for the
    // server.
    let default = Policy::open(RulesConfig::Default).expect("default rules");
    assert!(default.allows(&device("d1"), Retain, "uplink/d1/state"));
    assert!(!default.allows(&device("d1"), Retain, "uplink/d2/state"));
    assert!(Policy::everything().allows(&device("d1"), Retain, "any"));
    assert!(!Policy::everything().allows(&device("d1"), Retain, "$SYS/any"));
    let error = self::policy("[[rule]]\nallow = [\"subscribe\"]\ntopics = [\"a\"]\nretain = true\n");
    let error = error.expect_err("it has no publish").to_string();
    assert!(error.contains("rule 1 (line 1): says retain, which is for the action \"publish\""), "{error}");
}

#[test]
fn the_first_rule_that_speaks_decides() {
    let policy = policy(
        r#"
        [[rule]]
        deny = ["publish", "subscribe"]
        topics = ["plant/+/secret/#"]
        [[rule]]
        allow = ["publish", "subscribe"]
        topics = ["plant/#", "$SYS/#"]
        groups = ["staff", "robots"]
        [[rule]]
        allow = ["subscribe"]
        topics = ["plant/open", "by/%u/%c", "mixed/%u-%c"]
        via = ["token"]
        users = ["anna"]
        "#,
    )
    .expect("rules");
    let staff = [Arc::from("guests"), Arc::from("staff")];
    let staff = Principal { user: "carl", client_id: "d1", groups: &staff, via: Via::Certificate };
    let anna = Principal { user: "anna", client_id: "d1", groups: &[], via: Via::Token };
    let table = [
        (&staff, Subscribe, "plant/1/heat", true),
        (&staff, Publish, "plant/1/heat", true),
        (&staff, Subscribe, "plant/1/secret", false),
        (&staff, Subscribe, "plant/1/secret/x", false),
        // Wider than what is denied, so it would read it.
        (&staff, Subscribe, "plant/#", false),
        (&staff, Subscribe, "plant/+/+", false),
        (&staff, Subscribe, "$share/g/plant/#", false),
        (&staff, Subscribe, "plant/+/heat", true),
        (&staff, Subscribe, "$SYS/#", true),
        (&staff, Subscribe, "plant/open", true),
        (&anna, Subscribe, "plant/open", true),
        (&anna, Subscribe, "plant/1/heat", false),
        (&anna, Publish, "plant/open", false),
        (&anna, Subscribe, "by/anna/d1", true),
        (&anna, Subscribe, "by/anna/d2", false),
        (&anna, Subscribe, "mixed/anna-d1", true),
        (&anna, Subscribe, "mixed/anna-d", false),
        (&Principal { via: Via::Password, ..anna }, Subscribe, "plant/open", false),
        (&Principal { user: "annabel", ..anna }, Subscribe, "plant/open", false),
    ];
    for (who, action, asked, allowed) in table {
        assert_eq!(policy.allows(who, action, asked), allowed, "{who:?} {action:?} {asked}");
    }
}

#[test]
fn a_name_that_cannot_be_substituted_escapes_no_denial() {
    let policy = policy(
        r#"
        [[rule]]
        deny = ["publish"]
        topics = ["uplink/%c/firmware"]
        [[rule]]
        allow = ["publish"]
        topics = ["uplink/#"]
        "#,
    )
    .expect("rules");
    assert!(!policy.allows(&device("d1"), Publish, "uplink/d1/firmware"));
    assert!(policy.allows(&device("d1"), Publish, "uplink/d1/state"));
    assert!(!policy.allows(&device("a/b"), Publish, "uplink/a/b/firmware"));
    assert!(!policy.allows(&device(""), Publish, "uplink//firmware"));
}

#[test]
fn a_filter_that_is_denied_in_part_is_granted_and_looked_at_when_messages_leave() {
    let policy = policy(
        r##"
        [[rule]]
        deny = ["subscribe"]
        topics = ["secret/#", "plant/+/secret"]
        [[rule]]
        allow = ["subscribe"]
        topics = ["#"]
        groups = ["staff"]
        [[rule]]
        allow = ["subscribe"]
        topics = ["plant/#", "inbox/%c/#"]
        "##,
    )
    .expect("rules");
    let staff = [Arc::from("staff")];
    let staff = Principal { groups: &staff, ..device("d1") };
    let table = [
        (&staff, "#", Grant::Partly),
        (&staff, "+/+", Grant::Partly),
        (&staff, "plant/#", Grant::Partly),
        (&staff, "$share/g/#", Grant::Partly),
        (&staff, "plant/1/heat", Grant::Whole),
        (&staff, "plant/+/heat", Grant::Whole),
        (&staff, "secret/#", Grant::Denied),
        (&staff, "secret/+", Grant::Denied),
        (&staff, "secret", Grant::Denied),
        (&staff, "$share/g/secret/x", Grant::Denied),
        (&staff, "$SYS/#", Grant::Denied),
        (&staff, "a/#/b", Grant::Denied),
        (&device("d1"), "plant/+/+", Grant::Partly),
        (&device("d1"), "inbox/d1/#", Grant::Whole),
        (&device("d1"), "inbox/#", Grant::Denied),
        (&device("d1"), "#", Grant::Denied),
    ];
    for (who, filter, grant) in table {
        assert_eq!(policy.grant(who, filter), grant, "{who:?} {filter}");
    }
    for (topic, allowed) in [("secret/x", false), ("plant/1/secret", false), ("plant/1/heat", true)] {
        assert_eq!(policy.allows(&staff, Subscribe, topic), allowed, "{topic}");
    }
}

#[test]
fn nobody_publishes_to_the_servers_own_topics_in_trial_mode() {
    let policy = Policy::everything();
    for (topic, allowed) in [
        ("$SYS", false),
        ("$SYS/", false),
        ("$SYS/broker/uptime", false),
        ("$SYSTEM/x", true),
        ("a/$SYS", true),
    ] {
        assert_eq!(policy.allows(&device("d1"), Publish, topic), allowed, "{topic}");
    }
    assert_eq!(policy.grant(&device("d1"), "$SYS/#"), Grant::Whole);
}

#[test]
fn everything_is_every_well_formed_topic() {
    let policy = Policy::everything();
    assert_eq!(policy.grant(&device("d1"), "#"), Grant::Whole);
    assert_eq!(policy.grant(&device("d1"), "a/#/b"), Grant::Denied);
    assert!(policy.allows(&device("d1"), Subscribe, "#"));
    assert!(policy.allows(&device("d1"), Subscribe, "$share/g/$SYS/#"));
    assert!(policy.allows(&device("d1"), Publish, "$any/thing"));
    assert!(!policy.allows(&device("d1"), Publish, "a/+"));
    assert!(!policy.allows(&device("d1"), Subscribe, "a/#/b"));
}

#[test]
fn no_rules_allow_nothing() {
    let policy = policy("").expect("an empty file");
    assert!(!policy.allows(&device("d1"), Subscribe, "inbox/d1"));
}

#[test]
fn rules_that_cannot_be_meant_are_refused_with_their_number() {
    for (toml, says) in [
        ("[[rule]]\ntopics = ['a']", "rule 1 (line 1): says neither"),
        ("[[rule]]\nallow = ['publish']\ndeny = ['publish']\ntopics = ['a']", "rule 1 (line 1): says both"),
        ("[[rule]]\nallow = ['read']\ntopics = ['a']", "\"read\" is no action"),
        ("[[rule]]\nallow = ['publish']\ntopics = []", "names no topics"),
        ("[[rule]]\nallow = ['publish']\ntopics = ['a/%x']", "after % stands"),
        ("[[rule]]\nallow = ['publish']\ntopics = ['a/#/b']", "# stands only"),
        ("[[rule]]\nallow = ['publish']\ntopics = ['a']\nvia = ['luck']", "\"luck\""),
        ("[[rule]]\nallow = ['publish']\ntopics = ['a']\nuser = ['x']", "unknown field"),
        ("[[rules]]", "unknown field"),
        ("]", "rules file"),
    ] {
        let error = policy(toml).expect_err(toml);
        let text = error.to_string();
        assert!(text.contains(says) && text.ends_with("(AUTH-004)"), "{text}");
    }
}

#[test]
fn reload_replaces_the_rules_and_their_version_and_keeps_them_on_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.toml");
    fs::write(&path, "[[rule]]\nallow = ['publish']\ntopics = ['old']").expect("written");
    let policy = Policy::open(RulesConfig::File(path.clone())).expect("rules");
    let first = policy.version();
    assert!(policy.allows(&device("d1"), Publish, "old"));

    fs::write(&path, "[[rule]]\nallow = ['publish']\ntopics = ['new']").expect("written");
    policy.reload().expect("rules");
    assert_ne!(policy.version(), first);
    assert!(!policy.allows(&device("d1"), Publish, "old"));
    assert!(policy.allows(&device("d1"), Publish, "new"));

    let second = policy.version();
    fs::write(&path, "[[rule]]").expect("written");
    assert!(policy.reload().is_err());
    assert_eq!(policy.version(), second);
    assert!(policy.allows(&device("d1"), Publish, "new"));
}

/// MQTT 5.0, 4.7: whether a filter matches a topic name, written down a second time and plainly.
fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (filter, topic): (Vec<_>, Vec<_>) = (filter.split('/').collect(), topic.split('/').collect());
    match filter.split_last() {
        Some((&"#", before)) => {
            topic.len() >= before.len() && before.iter().zip(&topic).all(|(f, t)| *f == "+" || f == t)
        }
        _ => filter.len() == topic.len() && filter.iter().zip(&topic).all(|(f, t)| *f == "+" || f == t),
    }
}

fn text(levels: &'static [&'static str], last: &'static [&'static str]) -> impl Strategy<Value = String> {
    (prop::collection::vec(prop::sample::select(levels), 0..3), prop::sample::select(last)).prop_map(
        |(mut levels, last)| {
            levels.push(last);
            levels.join("/")
        },
    )
}

fn rule() -> impl Strategy<Value = TopicRule> {
    let pattern = text(
        &["a", "b", "", "+", "%c", "%u", "x%c", "$s"],
        &["a", "b", "", "+", "#", "%c", "%u", "x%c", "$s"],
    );
    (any::<bool>(), prop::collection::vec(pattern, 1..3)).prop_map(|(allow, topics)| {
        let actions = vec!["subscribe".to_owned()];
        let (allow, deny) = if allow { (actions, vec![]) } else { (vec![], actions) };
        TopicRule { allow, deny, topics, ..TopicRule::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every topic over a small alphabet is tried, so the implication is checked as a whole for each case.
    #[test]
    fn an_allowed_filter_allows_every_topic_that_it_matches(
        rules in prop::collection::vec(rule(), 1..5),
        filter in text(&["a", "b", "", "+", "xa", "$s"], &["a", "b", "", "+", "#", "xa", "$s"]),
        client_id in prop::sample::select(&["a", "b", "", "+", "#", "a/b", "$s"][..]),
        user in prop::sample::select(&["a", "b", "", "+", "#", "a/b", "$s"][..]),
    ) {
        if filter.is_empty() {
            return Ok(());
        }
        let policy = Policy::open(RulesConfig::Inline(rules.into_iter().filter(|rule| {
            rule.topics.iter().all(|topic| !topic.is_empty())
        }).collect())).expect("the alphabet makes well-formed rules");
        let who = Principal { user, client_id, groups: &[], via: Via::Token };
        let grant = policy.grant(&who, &filter);
        prop_assert_eq!(policy.allows(&who, Subscribe, &filter), grant == Grant::Whole);
        if grant == Grant::Whole {
            let levels = ["a", "b", "", "xa", "xb", "$s", "c"];
            let mut topics: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
            let mut longest = topics.clone();
            for _ in 0..3 {
                longest = longest
                    .iter()
                    .flat_map(|topic| levels.iter().map(move |level| format!("{topic}/{level}")))
                    .collect();
                topics.extend(longest.iter().cloned());
            }
            for topic in topics.iter().filter(|topic| !topic.is_empty() && matches(&filter, topic)) {
                prop_assert!(policy.allows(&who, Subscribe, topic), "{} allowed, {} not", filter, topic);
            }
        }
    }
}
