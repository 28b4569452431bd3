//! The query that a provider sends a browser back with (RFC 6749, 4.1.2; RFC 9207).

use crate::Refusal;
use crate::error::plain_code;
use crate::form;
use crate::secret::Secret;

/// Bytes of the query. Codes that are encrypted tokens take some 2 KB.
const QUERY_BYTES_MAX: usize = 8_192;

/// A callback that was read. Nothing of it is believed before its state is found.
#[derive(Debug)]
pub struct Callback {
    pub(crate) state: Secret,
    pub(crate) issuer: Option<String>,
    pub(crate) outcome: Result<Secret, Refusal>,
}

impl Callback {
    /// Reads the query of the request, without its `?`. Names that are unknown are ignored; a known
    /// one that stands twice refuses the callback.
    pub fn parse(query: &str) -> Result<Self, Refusal> {
        if query.len() > QUERY_BYTES_MAX {
            return Err(Refusal::Callback("has more than 8192 bytes"));
        }
        let (mut code, mut state, mut issuer, mut error) = (None, None, None, None);
        for pair in form::pairs(query) {
            let (name, value) = pair.map_err(Refusal::Callback)?;
            let place = match name.as_str() {
                "code" => &mut code,
                "state" => &mut state,
                "iss" => &mut issuer,
                "error" => &mut error,
                _ => continue,
            };
            if place.replace(value).is_some() {
                return Err(Refusal::Callback("names a parameter twice"));
            }
        }
        let state = state.filter(|state| !state.is_empty());
        let state = Secret::new(state.ok_or(Refusal::Callback("has no state"))?);
        let outcome = match (code.filter(|code| !code.is_empty()), error) {
            (Some(code), None) => Ok(Secret::new(code)),
            (None, Some(error)) => Err(Refusal::Denied(plain_code(&error))),
            (Some(_), Some(_)) => return Err(Refusal::Callback("has a code and an error")),
            (None, None) => return Err(Refusal::Callback("has neither a code nor an error")),
        };
        Ok(Self { state, issuer, outcome })
    }

    /// The state, which [`crate::PendingLogins::take`] finds the login by.
    pub fn state(&self) -> &Secret {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_or_an_error_is_read() {
        let callback =
            Callback::parse("code=a%2Bb&state=s&iss=https%3A%2F%2Fid&session_state=x").expect("good");
        assert!(callback.state().matches("s"));
        assert_eq!(callback.issuer.as_deref(), Some("https://id"));
        assert!(callback.outcome.expect("a code").matches("a+b"));
        let denied = Callback::parse("error=access_denied&error_description=No!&state=s").expect("good");
        assert_eq!(denied.outcome.err(), Some(Refusal::Denied("access_denied".to_owned())));
    }

    #[test]
    fn malformed_callbacks_are_refused() {
        let long = format!("code={}&state=s", "a".repeat(QUERY_BYTES_MAX));
        for bad in [
            "",
            "code=a",
            "code=a&state=",
            "state=s",
            "code=&state=s",
            "code=a&state=s&state=t",
            "code=a&code=b&state=s",
            "code=a&error=b&state=s",
            "code=%FF&state=s",
            &long,
        ] {
            assert!(matches!(Callback::parse(bad), Err(Refusal::Callback(_))), "{bad}");
        }
    }

    #[test]
    fn neither_code_nor_state_is_printed() {
        let callback = Callback::parse("code=the-code&state=the-state").expect("good");
        let shown = format!("{callback:?}");
        assert!(!shown.contains("the-"), "{shown}");
    }
}
