//! Feeds of events as an app's settings define them: what each is about, and where it is posted.
//!
//! A webhook's secret is written and never shown. Settings that are read and sent back leave it out, and it stays.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use stadium_push::feed::{Feed, FeedName, Kind, Kinds, Webhook};
use utoipa::ToSchema;

use crate::request::problem::Problem;
use crate::spelling::{field, named};

/// How secrets of the Standard Webhooks begin.
const SECRET_PREFIX: &str = "whsec_";

/// The events that an app wants to get.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Feed)]
pub(crate) struct FeedFields {
    /// Small letters, digits, `_` and `-`; at most 48 bytes.
    #[schema(example = "crm")]
    name: String,
    /// `delivered`, `opened`, `clicked`, `expired`, `refused`, `connected`, `disconnected`, `message`.
    #[schema(example = json!(["delivered", "opened"]))]
    kinds: Vec<String>,
    /// MQTT topic filters: of messages those whose topics match one of them. At most 16; with the kind `message` only, and needed there.
    #[serde(default)]
    #[schema(example = json!(["up/#"]))]
    topics: Vec<String>,
    /// Where its events are posted. Without one, others work on the jobs of its queue.
    #[serde(default)]
    webhook: Option<WebhookFields>,
}

/// Where events are posted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Webhook)]
struct WebhookFields {
    /// `https://` or `http://`.
    #[schema(example = "https://crm.example.org/hooks/stadium")]
    url: String,
    /// `whsec_` and 24 to 64 bytes as base64 (Standard Webhooks); the one that the feed has where it is left out.
    #[serde(default)]
    secret: Option<String>,
}

/// A feed; its secret is not shown.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeedReport {
    name: String,
    kinds: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    topics: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<WebhookReport>,
}

/// Where a feed is posted.
#[derive(Serialize, ToSchema)]
struct WebhookReport {
    url: String,
}

impl FeedReport {
    pub(crate) fn of(feed: &Feed) -> Self {
        Self {
            name: feed.name.to_string(),
            kinds: feed.kinds.iter().map(Kind::word).collect(),
            topics: feed.topics.clone(),
            webhook: feed.webhook.as_ref().map(|webhook| WebhookReport { url: webhook.url.clone() }),
        }
    }
}

/// All of an app's feeds from now on; `known` are those that it has.
pub(crate) fn check(given: Vec<FeedFields>, known: &[Feed]) -> Result<Vec<Feed>, Problem> {
    let each =
        given.into_iter().enumerate().map(|(index, feed)| feed.check(&format!("feeds[{index}]"), known));
    let feeds: Vec<Feed> = each.collect::<Result<_, _>>()?;
    Feed::check(&feeds).map_err(|reason| field("feeds", &reason))?;
    Ok(feeds)
}

impl FeedFields {
    fn check(self, at: &str, known: &[Feed]) -> Result<Feed, Problem> {
        let name = named(&format!("{at}.name"), FeedName::new(&self.name))?;
        let kind = |(index, word): (usize, &String)| {
            Kind::of(word).ok_or_else(|| {
                let words: Vec<_> = Kind::ALL.iter().map(|kind| kind.word()).collect();
                field(
                    &format!("{at}.kinds[{index}]"),
                    &format!("it is one of {}, not {word:?}", words.join(", ")),
                )
            })
        };
        let kinds: Vec<Kind> = self.kinds.iter().enumerate().map(kind).collect::<Result<_, _>>()?;
        let before = known.iter().find(|feed| feed.name == name).and_then(|feed| feed.webhook.as_ref());
        let webhook =
            self.webhook.map(|webhook| webhook.check(&format!("{at}.webhook"), before)).transpose()?;
        Ok(Feed { name, kinds: Kinds::of(kinds), topics: self.topics, webhook })
    }
}

impl WebhookFields {
    fn check(self, at: &str, before: Option<&Webhook>) -> Result<Webhook, Problem> {
        let secret = match (&self.secret, before) {
            (Some(text), _) => {
                let bytes = text.strip_prefix(SECRET_PREFIX).and_then(|base64| STANDARD.decode(base64).ok());
                bytes.ok_or_else(|| {
                    field(&format!("{at}.secret"), "it is `whsec_` and 24 to 64 bytes as base64")
                })?
            }
            (None, Some(before)) => before.secret.clone(),
            (None, None) => {
                return Err(field(
                    &format!("{at}.secret"),
                    "a new webhook needs one: `whsec_` and 24 to 64 bytes as base64",
                ));
            }
        };
        let webhook = Webhook { url: self.url, secret };
        webhook.check().map_err(|reason| field(at, reason))?;
        Ok(webhook)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(json: Value, known: &[Feed]) -> Result<Vec<Feed>, String> {
        let given: Vec<FeedFields> = serde_json::from_value(json).map_err(|error| error.to_string())?;
        check(given, known).map_err(|problem| problem.in_words())
    }

    fn secret(byte: u8) -> String {
        format!("whsec_{}", STANDARD.encode([byte; 32]))
    }

    #[test]
    fn a_secret_is_written_once_never_shown_and_stays() {
        let url = "https://crm.example.org/hook";
        let first = json!([{"name": "crm", "kinds": ["opened", "delivered"], "webhook": {"url": url, "secret": secret(7)}}]);
        let feeds = read(first, &[]).expect("good");
        let shown = serde_json::to_value(FeedReport::of(&feeds[0])).expect("JSON");
        assert_eq!(shown, json!({"name": "crm", "kinds": ["delivered", "opened"], "webhook": {"url": url}}));
        assert_eq!(read(json!([shown]), &feeds).expect("as it was read"), feeds);
        let changed =
            json!([{"name": "crm", "kinds": ["opened"], "webhook": {"url": url, "secret": secret(8)}}]);
        let changed = read(changed, &feeds).expect("good");
        assert_eq!(changed[0].webhook.as_ref().expect("one").secret, [8; 32]);
    }

    #[test]
    fn mistakes_are_named_by_their_path() {
        let with = |webhook: Value| json!([{"name": "crm", "kinds": ["opened"], "webhook": webhook}]);
        for (given, path) in [
            (json!([{"name": "a.b", "kinds": ["opened"]}]), "feeds[0].name"),
            (json!([{"name": "a", "kinds": ["opened", "read"]}]), "feeds[0].kinds[1]"),
            (json!([{"name": "a", "kinds": []}]), "feeds"),
            (json!([{"name": "a", "kinds": ["opened"]}, {"name": "a", "kinds": ["opened"]}]), "feeds"),
            (with(json!({"url": "https://x"})), "feeds[0].webhook.secret"),
            (with(json!({"url": "https://x", "secret": "abc"})), "feeds[0].webhook.secret"),
            (with(json!({"url": "https://x", "secret": "whsec_AAAA"})), "feeds[0].webhook"),
            (with(json!({"url": "x", "secret": secret(1)})), "feeds[0].webhook"),
        ] {
            let refused = read(given, &[]).expect_err(path);
            assert!(refused.starts_with(&format!("{path}: ")), "{refused}");
        }
    }
}
