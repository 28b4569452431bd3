//! All devices that the server knows: registered, connected or with a session, each on one line.
//!
//! Both lists are in the order of ids and are merged in it. With `--json` a device has the fields
//! of its session, as with `--sessions`, and `registered`: what is registered, or `null`.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::{registered, sessions};
use crate::api::{Api, Refused};
use crate::failure::Failure;
use crate::of_app::AppFlag;
use crate::on::more;
use crate::shown::{Table, clean, items, text, when};
use crate::terminal::Terminal;

/// The code of a server whose shards read their journals: it knows who is connected, and not yet
/// who is registered.
const SHARDS_STARTING: &str = "HTTP-026";

/// A device's id, its session, and what is registered of it; one of both at least.
struct Known {
    id: String,
    session: Option<Value>,
    registered: Option<Value>,
}

/// Lists them.
pub(super) fn list(
    api: &Api,
    app: &AppFlag,
    prefix: Option<String>,
    limit: u64,
    terminal: &Terminal,
) -> Result<(), Failure> {
    // A device of another app than `default` connects as APP/DEVICE.
    let of_app = match app.name(api) {
        "default" => String::new(),
        app => format!("{app}/"),
    };
    let begins = Some(format!("{of_app}{}", prefix.as_deref().unwrap_or_default()));
    let begins = begins.as_deref().filter(|begins| !begins.is_empty());
    let (sessions, more_sessions) = sessions::read(api, begins, None, limit)?;
    let which = registered::Which { prefix, audience: None, user: None, limit };
    let (registered, more_registered) = match registered::read(api, app, &which) {
        Err(Refused::Busy { failure, .. }) if failure.to_string().contains(SHARDS_STARTING) => {
            terminal.note(format_args!("only devices with a session are shown: {failure}"));
            (Vec::new(), None)
        }
        read => read?,
    };
    let mut known = merged(sessions, registered, &of_app);
    // Beyond the end of a list that was cut nothing is known of the other one's devices.
    let is_cut = known.len() as u64 > limit || more_sessions.is_some() || more_registered.is_some();
    known.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next = known.last().filter(|_| is_cut).map(|last| last.id.clone());
    if terminal.is_json() {
        let devices: Vec<Value> = known.into_iter().map(Known::json).collect();
        return terminal.json(&json!({"devices": devices, "next": next}));
    }
    let mut table = Table::new(&["device", "state", "registered", "platform", "user", "tags"]);
    known.iter().for_each(|device| table.row(device.row()));
    if table.is_empty() {
        terminal.note("no device matches: none is registered, connected, or has a session");
        return Ok(());
    }
    table.print(terminal)?;
    more(next.as_ref(), limit, terminal);
    Ok(())
}

/// Two lists in the order of their ids as one, with a device that is in both once. `of_app` states
/// the prefix of client ids.
fn merged(sessions: Vec<Value>, registered: Vec<Value>, of_app: &str) -> Vec<Known> {
    let client_id = |device: &Value| format!("{of_app}{}", text(device, "device"));
    let mut known = Vec::with_capacity(sessions.len().max(registered.len()));
    let (mut sessions, mut registered) = (sessions.into_iter().peekable(), registered.into_iter().peekable());
    loop {
        let order = match (sessions.peek(), registered.peek()) {
            (None, None) => return known,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(session), Some(device)) => text(session, "id").cmp(&client_id(device)),
        };
        let session = if order.is_le() { sessions.next() } else { None };
        let registered = if order.is_ge() { registered.next() } else { None };
        let id = match (&session, &registered) {
            (Some(session), _) => text(session, "id").to_owned(),
            (None, Some(device)) => client_id(device),
            (None, None) => return known,
        };
        known.push(Known { id, session, registered });
    }
}

impl Known {
    fn json(self) -> Value {
        let none = || json!({"id": self.id, "connected": false, "subscription_count": 0, "queued": 0, "in_flight": 0});
        let mut device = self.session.unwrap_or_else(none);
        device["registered"] = self.registered.unwrap_or(Value::Null);
        device
    }

    fn row(&self) -> Vec<String> {
        let of = |field: &str| self.registered.as_ref().map(|device| text(device, field)).unwrap_or_default();
        let is = |field: &str| {
            self.registered.as_ref().and_then(|device| device.get(field)).and_then(Value::as_bool)
                == Some(true)
        };
        let state = match &self.session {
            Some(session) => {
                let (word, facts) = sessions::state(session);
                format!("{word}{facts}")
            }
            None => match self.registered.as_ref().and_then(|device| device.get("last_seen")?.as_str()) {
                Some(time) => format!("seen {}", when(time)),
                None => "never seen".to_owned(),
            },
        };
        let registered = match &self.registered {
            None => "no",
            Some(_) if is("revoked") => "revoked",
            Some(_) if is("opt_in") => "yes",
            Some(_) => "opted out",
        };
        let tags: Vec<&str> = self
            .registered
            .iter()
            .flat_map(|device| items(device, "tags"))
            .filter_map(Value::as_str)
            .collect();
        vec![
            clean(&self.id, 60),
            clean(&state, 80),
            registered.to_owned(),
            of("platform").to_owned(),
            clean(of("named_user"), 40),
            clean(&tags.join(" "), 60),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_registered_and_has_a_session_is_one() {
        let sessions = ["a", "c", "d"].map(|id| json!({"id": id, "connected": true})).to_vec();
        let registered = ["b", "c"].map(|id| json!({"device": id})).to_vec();
        let known: Vec<_> = merged(sessions.clone(), registered.clone(), "")
            .into_iter()
            .map(|known| (known.id, known.session.is_some(), known.registered.is_some()))
            .collect();
        let expected = [("a", true, false), ("b", false, true), ("c", true, true), ("d", true, false)];
        assert_eq!(known, expected.map(|(id, session, is)| (id.to_owned(), session, is)));
        let of_app = merged(vec![json!({"id": "app/b"})], registered, "app/");
        let ids: Vec<_> = of_app.iter().map(|known| (known.id.as_str(), known.session.is_some())).collect();
        assert_eq!(ids, [("app/b", true), ("app/c", false)]);
    }
}
