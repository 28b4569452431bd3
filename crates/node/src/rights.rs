//! The page of all rights: verbs, roles, and the right that each endpoint and method asks for.
//!
//! Everything on it comes out of the tables that decide; docs/reference/rights.md is a copy.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use stadium_edge::auth::{Policy, TOPIC_RIGHTS};
use stadium_grants::topics::{Principal, TopicRules};
use stadium_grants::{Kind, Verb};
use stadium_rpc_api::{Rights, platform, push, queue, wallet};

use crate::mapping;
use crate::settings::Settings;

pub use stadium_grants::Role;
pub use stadium_grants::topics::{TopicDecision, Via};

/// Services of the node with the rights of their methods.
const SERVICES: [(&str, Rights); 4] = [
    (push::NAME, push::RIGHTS),
    (queue::NAME, queue::RIGHTS),
    (wallet::NAME, wallet::RIGHTS),
    (platform::NAME, platform::RIGHTS),
];

const HEAD: &str = "\
# All rights

[Who may do what](../authentication.md) explains grants and has recipes. This page is printed by
`stadium key rights`, out of the tables that decide.
";

const ENDPOINTS: &str = "
## HTTP endpoints

A name in braces stands for a part of the request: of the path, or else of the body or of the thing
that a job, a lease or a transfer belongs to. A right that ends with `?` is asked for only if the
request has such a part; without `queue.payload`, payloads are left out. A list that asks for
`VERB:{name}` shows the items that the caller may see.
`me` is no right of a key: a [device's token](../devices-own-rights.md) reaches these endpoints.

";

const METHODS: &str = "
## RPC methods

A key or a signed token is sent as a bearer token in the authentication metadata; a caller without
one is known by its certificate. Methods of the framework that only
look (`health`, `describe`, `statistics` and the like) are open to callers that the listener lets
in; those that change the node ask for `node.operate`.

";

const TOPICS: &str = "
## MQTT topics

Devices hold the verbs `stream.*` by [the rules file](rules-file.md), which grants them to all
principals that a rule names. `stadium device explain` says which rule decides. Keys and people hold
them by grants, for [topics over HTTP](../web.md).

";

const DEFAULT_RULES: &str = "
Without a rules file these rules hold:

";

/// A use of a topic by a device.
#[derive(Clone, Debug)]
pub struct TopicQuestion {
    /// The principal that authentication found; empty for an anonymous device.
    pub user: String,
    /// The MQTT client identifier.
    pub client_id: String,
    /// Groups of the identity.
    pub groups: Vec<String>,
    /// The word of the proof of its identity ([`Via::as_str`]).
    pub via: String,
    /// The verb, one of `stream.*`.
    pub verb: String,
    /// The topic, or the filter of a subscription.
    pub topic: String,
}

/// Decides by the rules that these settings name, as a server with them does.
///
/// # Errors
/// The rules file cannot be read or is wrong, or a word is no verb or no proof.
pub fn explain_topic(settings: &Settings, asked: &TopicQuestion) -> Result<TopicDecision, Box<dyn Error>> {
    let policy = Policy::open(mapping::auth::config(settings).rules)?;
    let groups: Vec<Arc<str>> = asked.groups.iter().map(|group| group.as_str().into()).collect();
    let who = Principal {
        user: &asked.user,
        client_id: &asked.client_id,
        groups: &groups,
        via: asked.via.parse()?,
    };
    Ok(policy.decide(&who, asked.verb.parse()?, &asked.topic))
}

/// The page, as Markdown.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n## Verbs\n\n| verb | resource | reserved | allows to |\n|---|---|---|---|\n");
    for verb in Verb::ALL {
        let resource = match verb.kind() {
            Kind::Node => "none",
            Kind::App => "`APP`",
            Kind::OfApp => "`APP/NAME`",
            Kind::Name if *verb == Verb::WalletTransfer => "`debit=WALLET`",
            Kind::Name => "`NAME`",
            Kind::Topic => "`TOPIC` or `FILTER`",
        };
        let reserved: Vec<_> = verb.reserved().iter().map(|name| format!("`{name}*`")).collect();
        let about = lower(verb.about().trim_end_matches('.'));
        page.push_str(&format!("| `{verb}` | {resource} | {} | {about} |\n", reserved.join(", ")));
    }
    page.push_str("\n## Roles\n\n| role | purpose | verbs |\n|---|---|---|\n");
    for role in Role::ALL {
        let verbs = match role {
            Role::Admin => "all, reserved names included".to_owned(),
            _ => {
                let grants = role.grants(None).unwrap_or_default();
                let verbs: Vec<_> = grants.iter().map(|grant| format!("`{}`", grant.verb())).collect();
                verbs.join(", ")
            }
        };
        page.push_str(&format!("| `{role}` | {} | {verbs} |\n", role.about()));
    }
    page.push_str(ENDPOINTS);
    page.push_str("| endpoint | right |\n|---|---|\n");
    let api: Value = serde_json::from_str(&crate::openapi()).unwrap_or_default();
    for (path, operations) in api["paths"].as_object().into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            let right = match &operation["x-right"] {
                Value::String(right) => format!("`{right}`"),
                Value::Array(rights) => {
                    let rights = rights.iter().filter_map(Value::as_str).map(|right| format!("`{right}`"));
                    rights.collect::<Vec<_>>().join(", ")
                }
                _ => "public".to_owned(),
            };
            page.push_str(&format!("| {} {path} | {right} |\n", method.to_uppercase()));
        }
    }
    page.push_str(METHODS);
    page.push_str("| method | right |\n|---|---|\n");
    for (service, rights) in SERVICES {
        for (method, rights) in rights {
            let rights: Vec<_> = rights.iter().map(|right| format!("`{right}`")).collect();
            page.push_str(&format!("| {service}/{method} | {} |\n", rights.join(", ")));
        }
    }
    page.push_str(TOPICS);
    page.push_str("| use of a topic | right |\n|---|---|\n");
    for (packet, right) in TOPIC_RIGHTS {
        page.push_str(&format!("| {packet} | `{right}` |\n"));
    }
    page.push_str(DEFAULT_RULES);
    page.push_str("| allows to | topics |\n|---|---|\n");
    for rule in TopicRules::default_rules() {
        let topics: Vec<_> = rule.topics.iter().map(|topic| format!("`{topic}`")).collect();
        page.push_str(&format!("| {} | {} |\n", rule.allow.join(", "), topics.join(", ")));
    }
    page
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_services_name_rights_that_can_be_read() {
        for (service, rights) in SERVICES {
            assert!(!rights.is_empty(), "{service}");
            for right in rights.iter().flat_map(|(_, rights)| *rights) {
                assert!(right.parse::<stadium_grants::Right>().is_ok(), "{service}: {right}");
            }
        }
        for (packet, right) in TOPIC_RIGHTS {
            let right: stadium_grants::Right = right.parse().expect(packet);
            assert_eq!(right.verb().kind(), Kind::Topic, "{packet}");
        }
    }

    #[test]
    fn every_verb_is_asked_for_somewhere() {
        let page = markdown();
        let (_, asked) = page.split_once("## HTTP endpoints").expect("the page has endpoints");
        for verb in Verb::ALL {
            assert!(asked.contains(&format!("`{verb}")), "nothing asks for {verb}");
        }
    }
}
