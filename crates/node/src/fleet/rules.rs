//! The rules over topics, between the edge's words and those of the HTTP API.

use stadium_edge::auth::{self, RulesInForce};
use stadium_http::fleet::{NewRules, NotSet, RuleMistake, RulesReport};

/// The reason for which a node of a cluster does not set them.
pub(crate) const OF_CLUSTER: &str = "in a cluster each node reads a rules file of its own: change the file \
                                     (`auth.rules_file`) at every node and send each a SIGHUP";

/// The rules in force.
pub(crate) fn report(rules: RulesInForce) -> RulesReport {
    let RulesInForce { file, is_trial, fingerprint, rules } = rules;
    RulesReport { file: file.map(|file| file.display().to_string()), is_trial, name: fingerprint, rules }
}

/// New rules.
pub(crate) fn new(rules: NewRules) -> auth::NewRules {
    match rules {
        NewRules::List(rules) => auth::NewRules::List(rules),
        NewRules::Text(text) => auth::NewRules::Text(text),
    }
}

/// The reason for which they were not set.
pub(crate) fn not_set(error: auth::NotSet) -> NotSet {
    match error {
        auth::NotSet::Mistake(mistake) => {
            NotSet::Mistake(RuleMistake { rule: mistake.rule, words: mistake.to_string() })
        }
        auth::NotSet::Changed(name) => NotSet::Changed(name),
        auth::NotSet::Edited(path) => NotSet::Fixed(format!(
            "{} was changed since the server read it: send the server a SIGHUP first, or put the file back",
            path.display()
        )),
        auth::NotSet::NoFile => NotSet::Fixed(
            "in trial mode everything is allowed and there are no rules: name a file (`auth.rules_file`) or leave trial mode"
                .to_owned(),
        ),
        auth::NotSet::File(path, error) => {
            NotSet::NotWritten(format!("{} cannot be written: {error}; nothing was changed", path.display()))
        }
    }
}
