//! Errors, sorted by who must act: the operator, the provider's operator, or the person.
//!
//! None of them prints a secret, a code or a token. Text of other servers is shown only where it
//! is an error code of the protocol, and then in its plain characters.

use std::fmt;

/// Why a login failed.
#[derive(Debug)]
pub enum Error {
    /// A setting cannot be used. The operator must act.
    Setting {
        /// The field of [`crate::Settings`].
        name: &'static str,
        /// The mistake in its value.
        problem: String,
    },
    /// The provider cannot be reached, or its answer cannot be used. Its operator must act, or the
    /// settings do not fit it. The person may try later.
    Provider {
        /// The request and its outcome.
        problem: String,
    },
    /// This login is refused. The person may begin again.
    Refused(Refusal),
    /// The system gave no random bytes.
    Random,
}

/// Why one login is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The query of the callback is not one of RFC 6749, 4.1.2.
    Callback(&'static str),
    /// No login with this state waits: it is unknown, expired, or was used.
    UnknownState,
    /// The login began in another browser.
    OtherBrowser,
    /// The callback does not come from the configured issuer (RFC 9207).
    OtherIssuer,
    /// The provider refused, with this code of RFC 6749, 4.1.2.1: `access_denied`.
    Denied(String),
    /// The provider does not accept the code: it expired, or was used.
    Code,
    /// The ID token broke this rule of OpenID Connect Core 1.0, 3.1.3.7.
    Token(&'static str),
}

impl Error {
    pub(crate) fn provider(problem: impl Into<String>) -> Self {
        Self::Provider { problem: problem.into() }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { name, problem } => write!(f, "OpenID Connect setting {name}: {problem}"),
            Self::Provider { problem } => write!(f, "OpenID provider: {problem}"),
            Self::Refused(refusal) => write!(f, "login refused: {refusal}"),
            Self::Random => f.write_str("the system gave no random bytes"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Callback(problem) => write!(f, "the callback {problem}"),
            Self::UnknownState => f.write_str("it is not known here: it took too long, or was used before"),
            Self::OtherBrowser => f.write_str("it began in another browser"),
            Self::OtherIssuer => f.write_str("the callback comes from another issuer"),
            Self::Denied(code) => write!(f, "the provider answered {code}"),
            Self::Code => f.write_str("the provider does not accept the code any more"),
            Self::Token(problem) => write!(f, "the ID token {problem}"),
        }
    }
}

impl std::error::Error for Error {}

/// An error code of another server, if it is one: RFC 6749, 4.1.2.1, shortened to its plain part.
pub(crate) fn plain_code(code: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    match !code.is_empty() && code.len() <= 64 && code.chars().all(is_plain) {
        true => code.to_owned(),
        false => "an error without a plain code".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain_code;

    #[test]
    fn only_plain_codes_of_others_are_shown() {
        assert_eq!(plain_code("access_denied"), "access_denied");
        for bad in ["", "<script>", "a b", "a\nb", &"x".repeat(65)] {
            assert_eq!(plain_code(bad), "an error without a plain code", "{bad}");
        }
    }
}
