//! `stadium device explain`: the rule that decides what a device may do with a topic.
//!
//! It reads the configuration as the server does, and needs no running server.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::json;
use stadium_node::rights::{self, TopicDecision, Via};

use crate::failure::{Context, Failure};
use crate::settings_flags::SettingsFlags;
use crate::terminal::Terminal;

/// The device, and the action to explain.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The verb
    #[arg(value_parser = ["stream.publish", "stream.retain", "stream.subscribe"])]
    verb: String,
    /// The topic, or the filter of a subscription
    topic: String,
    /// The MQTT client identifier, such as shop/phone-7
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// The principal that authentication found, empty for an anonymous device [default: the client
    /// identifier]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// A group of the device; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// The proof of its identity
    #[arg(long, value_name = "PROOF", value_parser = proofs(), default_value = "registry")]
    via: String,
    #[command(flatten)]
    settings: Box<SettingsFlags>,
}

fn proofs() -> PossibleValuesParser {
    PossibleValuesParser::new(Via::ALL.map(|via| PossibleValue::new(via.as_str())))
}

/// Explains; `denied` is an answer, not a failure.
pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let Arguments { verb, topic, client_id, user, groups, via, settings } = arguments;
    let loaded = settings.load()?;
    let user = user.unwrap_or_else(|| client_id.clone());
    let asked = rights::TopicQuestion { user, client_id, groups, via, verb, topic };
    let decision = rights::explain_topic(&loaded.settings, &asked).context("the rules cannot be read")?;
    if terminal.is_json() {
        let rule = match decision {
            TopicDecision::Rule(place, _) => Some(place),
            _ => None,
        };
        return terminal.json(&json!({
            "allowed": decision.is_allowed(),
            "rule": rule,
            "reason": decision.to_string(),
        }));
    }
    terminal.data(&decision.to_string())
}
