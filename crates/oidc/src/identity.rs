//! The person who logged in, as the provider's claims say.

use serde_json::Value;

use crate::secret::Secret;

/// Groups of one person. Directories know people in some hundred groups.
pub const GROUPS_MAX: usize = 1_024;

/// Bytes of a group's name.
pub const GROUP_BYTES_MAX: usize = 256;

/// Bytes of a subject (OpenID Connect Core 1.0, 2).
const SUBJECT_BYTES_MAX: usize = 255;

/// Bytes of a name or an address that are kept.
const TEXT_BYTES_MAX: usize = 256;

/// Bytes of an ID token that is kept for the logout. A longer one does not fit a URL.
const HINT_BYTES_MAX: usize = 8_192;

/// A person at a provider. Only issuer and subject together name the person: names and addresses
/// change, and are given to others.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The provider.
    pub issuer: String,
    /// The person's id there: 1 to 255 bytes.
    pub subject: String,
    /// The name to show: the claim `name`, else `preferred_username`.
    pub name: Option<String>,
    /// The address to show. The provider may not have verified it; it grants nothing.
    pub email: Option<String>,
    /// The groups, each once: at most [`GROUPS_MAX`].
    pub groups: Vec<String>,
    /// The ID token, by which the provider knows the session to end
    /// ([`crate::Provider::logout_url`]); none where it is longer than 8 KB.
    pub id_token_hint: Option<Secret>,
}

impl Identity {
    pub(crate) fn is(&self, issuer: &str, subject: &str) -> bool {
        self.issuer == issuer && self.subject == subject
    }

    pub(crate) fn is_same_person(&self, other: &Self) -> bool {
        self.is(&other.issuer, &other.subject)
    }
}

/// The claims of an ID token or of the userinfo endpoint.
pub(crate) use stadium_token_keys::Claims;

/// The subject of the claims: 1 to 255 bytes without control characters.
pub fn subject(claims: &Claims) -> Option<&str> {
    let subject = claims.get("sub").and_then(Value::as_str)?;
    let is_good = (1..=SUBJECT_BYTES_MAX).contains(&subject.len()) && !subject.contains(char::is_control);
    is_good.then_some(subject)
}

/// The name to show: the claim `name`, else `preferred_username`.
pub fn name(claims: &Claims) -> Option<String> {
    text(claims, "name").or_else(|| text(claims, "preferred_username"))
}

/// A claim to show, where it is text of one line that is not too long.
pub(crate) fn text(claims: &Claims, claim: &str) -> Option<String> {
    let text = claims.get(claim).and_then(Value::as_str)?;
    let is_good = (1..=TEXT_BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control);
    is_good.then(|| text.to_owned())
}

/// The groups of the claims: none where the claim is absent, an error where it is not a list of
/// names or too long. A part of the list is never taken for the whole.
///
/// # Errors
/// The fault, as the end of a sentence about the token.
pub fn groups(claims: &Claims, claim: &str) -> Result<Option<Vec<String>>, &'static str> {
    let listed: Vec<&str> = match claims.get(claim) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.split(' ').filter(|group| !group.is_empty()).collect(),
        Some(Value::Array(list)) => list
            .iter()
            .map(Value::as_str)
            .collect::<Option<_>>()
            .ok_or("has a claim with groups that are not text")?,
        Some(_) => return Err("has a claim with groups that is not a list"),
    };
    let mut groups: Vec<String> = Vec::new();
    if listed.len() > GROUPS_MAX || listed.iter().any(|group| group.len() > GROUP_BYTES_MAX) {
        return Err("has more than 1024 groups, or one with more than 256 bytes");
    }
    for group in listed {
        if !groups.iter().any(|known| known == group) {
            groups.push(group.to_owned());
        }
    }
    Ok(Some(groups))
}

/// The ID token as a hint for the logout.
pub(crate) fn hint(id_token: Secret) -> Option<Secret> {
    (id_token.expose().len() <= HINT_BYTES_MAX).then_some(id_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(json: &str) -> Claims {
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn groups_are_a_list_or_words() {
        let read = |json: &str| groups(&claims(json), "groups").map(|read| read.map(|list| list.join("|")));
        assert_eq!(read(r#"{"groups":["a b","c","a b"]}"#), Ok(Some("a b|c".to_owned())));
        assert_eq!(read(r#"{"groups":"a  b"}"#), Ok(Some("a|b".to_owned())));
        assert_eq!(read(r#"{"groups":[]}"#), Ok(Some(String::new())));
        assert_eq!(read(r#"{"groups":null}"#), Ok(None));
        assert_eq!(read("{}"), Ok(None));
        for bad in [
            r#"{"groups":[1]}"#.to_owned(),
            r#"{"groups":{"a":1}}"#.to_owned(),
            r#"{"groups":true}"#.to_owned(),
            format!(r#"{{"groups":{:?}}}"#, vec!["g"; GROUPS_MAX + 1]),
            format!(r#"{{"groups":["{}"]}}"#, "g".repeat(GROUP_BYTES_MAX + 1)),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn subjects_are_bounded() {
        assert_eq!(subject(&claims(r#"{"sub":"ann"}"#)), Some("ann"));
        let long = format!(r#"{{"sub":"{}"}}"#, "s".repeat(256));
        for bad in ["{}", r#"{"sub":""}"#, r#"{"sub":1}"#, r#"{"sub":"a\nb"}"#, &long] {
            assert_eq!(subject(&claims(bad)), None, "{bad}");
        }
    }

    #[test]
    fn what_is_shown_is_one_short_line() {
        let read = |json: &str| name(&claims(json));
        assert_eq!(read(r#"{"name":"Ann B","preferred_username":"ann"}"#).as_deref(), Some("Ann B"));
        assert_eq!(read(r#"{"name":"a\u0000","preferred_username":"ann"}"#).as_deref(), Some("ann"));
        assert_eq!(read(r#"{"name":7}"#), None);
    }
}
