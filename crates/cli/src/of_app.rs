//! What commands of the push platform have in common: the app, audiences in words, files that are
//! uploaded.
//!
//! An audience is JSON as in the API, or short for the usual ones: `all`, `device:ID`, `tag:TAG`,
//! `user:USER`, `list:LIST`, `saved:NAME`.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use crate::api::{Api, encoded};
use crate::failure::{Context, Failure};

/// Which app.
#[derive(Debug, Clone, Args)]
pub(crate) struct AppFlag {
    /// Which app of the push platform [default: the profile's, else default]
    #[arg(long, value_name = "APP", env = "STADIUM_APP")]
    app: Option<String>,
}

impl AppFlag {
    /// This app, whatever the profile.
    #[cfg(feature = "lab")]
    pub(crate) fn of(app: &str) -> Self {
        Self { app: Some(app.to_owned()) }
    }

    /// The app's name.
    pub(crate) fn name<'a>(&'a self, api: &'a Api) -> &'a str {
        self.app.as_deref().unwrap_or_else(|| api.app())
    }

    /// The path of the app, and of what is below it.
    pub(crate) fn path(&self, api: &Api, below: &str) -> String {
        format!("/api/apps/{}{below}", encoded(self.name(api)))
    }

    /// The path of something with a name below it.
    pub(crate) fn named(&self, api: &Api, what: &str, name: &str, below: &str) -> String {
        self.path(api, &format!("/{what}/{}{below}", encoded(name)))
    }
}

/// An audience in words, or JSON.
pub(crate) fn parse_audience(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with(['{', '"']) {
        return serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"));
    }
    if text == "all" {
        return Ok(json!("all"));
    }
    let expected = || {
        "expected all, device:ID, tag:TAG, tag:GROUP:TAG, user:USER, list:LIST, saved:NAME, or a selector as JSON".to_owned()
    };
    match text.split_once(':') {
        Some((_, "")) | None => Err(expected()),
        Some(("device", id)) => Ok(json!({"device": id})),
        Some(("tag", tag)) => Ok(match tag.split_once(':') {
            Some((group, tag)) => json!({"tag": tag, "group": group}),
            None => json!({"tag": tag}),
        }),
        Some(("user", user)) => Ok(json!({"named_user": user})),
        Some(("list", list)) => Ok(json!({"list": list})),
        Some(("saved", name)) => Ok(json!({"saved": name})),
        // Of a live push alone: the server reports it.
        Some(("channel", name)) => Ok(json!({"channel": name})),
        Some(_) => Err(expected()),
    }
}

/// A JSON object out of a file.
pub(crate) fn json_file(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path).context(path.display())?;
    serde_json::from_str(&text).context(format_args!("{} is no JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audiences_are_words_or_json() {
        for (text, audience) in [
            ("all", json!("all")),
            ("\"all\"", json!("all")),
            ("device:a:b", json!({"device": "a:b"})),
            ("tag:vip", json!({"tag": "vip"})),
            ("tag:loyalty:gold", json!({"tag": "gold", "group": "loyalty"})),
            ("user:u1", json!({"named_user": "u1"})),
            ("saved:vips", json!({"saved": "vips"})),
            (r#"{"not": {"tag": "vip"}}"#, json!({"not": {"tag": "vip"}})),
        ] {
            assert_eq!(parse_audience(text), Ok(audience), "{text}");
        }
        for wrong in ["everybody", "tag:", "phone:7", "{"] {
            assert!(parse_audience(wrong).is_err(), "{wrong}");
        }
    }
}
