//! The requests to a provider, bounded in bytes and time.
//!
//! A problem names the endpoint and the status, never the body: it may hold a token.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stadium_token_keys::{Connections, NoCertificate};

use crate::error::plain_code;
use crate::form;
use crate::identity::Claims;
use crate::metadata::ClientProof;
use crate::secret::Secret;
use crate::{Error, Refusal};

/// Time for one request with its answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of an answer with claims or tokens. An ID token and an access token with a thousand groups
/// each have some 100 KB.
const ANSWER_BYTES_MAX: u64 = 256 * 1_024;

/// The HTTP client of one provider.
pub(crate) struct Endpoints(ureq::Agent);

/// Whom a code is exchanged for.
pub(crate) struct Client<'a> {
    pub(crate) id: &'a str,
    pub(crate) secret: Option<&'a Secret>,
    pub(crate) proof: ClientProof,
}

/// The answer of the token endpoint.
pub(crate) struct Tokens {
    pub(crate) id_token: Secret,
    /// The access token, where it is a bearer token.
    pub(crate) access_token: Option<Secret>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<Box<str>>,
    access_token: Option<Box<str>>,
    token_type: Option<String>,
}

#[derive(Default, Deserialize)]
struct ErrorAnswer {
    #[serde(default)]
    error: String,
}

impl Endpoints {
    pub(crate) fn new(authorities: Option<&[u8]>) -> Result<Self, NoCertificate> {
        let connections = Connections { timeout: TIMEOUT, kept_max: 0 };
        stadium_token_keys::agent(authorities, connections).map(Self)
    }

    /// Reads a document that everybody may read.
    pub(crate) fn document(&self, url: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
        let called = self.0.get(url).header("accept", "application/json").call();
        let (status, body) = read(called, bytes_max).map_err(|problem| format!("{url}: {problem}"))?;
        match status {
            200 => Ok(body),
            status => Err(format!("{url} answered with status {status}")),
        }
    }

    /// Exchanges a code (RFC 6749, 4.1.3; RFC 7636, 4.5).
    pub(crate) fn exchange(
        &self,
        url: &str,
        client: &Client<'_>,
        code: &Secret,
        verifier: &Secret,
        redirect_url: &str,
    ) -> Result<Tokens, Error> {
        let secret = client.secret.map(Secret::expose).unwrap_or_default();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", redirect_url),
            ("code_verifier", verifier.expose()),
        ];
        let mut request = self.0.post(url).header("accept", "application/json");
        match client.proof {
            // RFC 6749, 2.3.1: both are encoded as in forms first.
            ClientProof::Basic => {
                let pair = format!("{}:{}", form::encode(client.id), form::encode(secret));
                request = request.header("authorization", format!("Basic {}", STANDARD.encode(pair)));
            }
            ClientProof::Post => fields.extend([("client_id", client.id), ("client_secret", secret)]),
            ClientProof::Public => fields.push(("client_id", client.id)),
        }
        let fields = form::with_query("", &fields);
        let sent =
            request.content_type("application/x-www-form-urlencoded").send(fields.trim_start_matches('?'));
        let (status, body) = read(sent, ANSWER_BYTES_MAX)
            .map_err(|problem| Error::provider(format!("token endpoint {url}: {problem}")))?;
        if status != 200 {
            let answer: ErrorAnswer = serde_json::from_slice(&body).unwrap_or_default();
            return Err(match answer.error.as_str() {
                "invalid_grant" => Refusal::Code.into(),
                code => {
                    let code = plain_code(code);
                    Error::provider(format!("token endpoint {url} answered with status {status}, {code}"))
                }
            });
        }
        tokens(&body).map_err(|problem| Error::provider(format!("token endpoint {url} {problem}")))
    }

    /// Reads the claims of the userinfo endpoint (OpenID Connect Core 1.0, 5.3).
    pub(crate) fn userinfo(&self, url: &str, access_token: &Secret) -> Result<Claims, Error> {
        let problem = |problem: String| Error::provider(format!("userinfo endpoint {url}{problem}"));
        let request = self.0.get(url).header("accept", "application/json");
        let called = request.header("authorization", format!("Bearer {}", access_token.expose())).call();
        match read(called, ANSWER_BYTES_MAX).map_err(|error| problem(format!(": {error}")))? {
            (200, body) => serde_json::from_slice(&body).map_err(|_| {
                problem(" did not answer with JSON claims; signed or encrypted ones are not supported".into())
            }),
            (status, _) => Err(problem(format!(" answered with status {status}"))),
        }
    }
}

fn tokens(body: &[u8]) -> Result<Tokens, &'static str> {
    // The error of the parser is left out: it may quote a token.
    let answer: TokenAnswer = serde_json::from_slice(body).map_err(|_| "did not answer with JSON tokens")?;
    let id_token = answer.id_token.ok_or("sent no ID token: is the scope openid allowed to this client?")?;
    let is_bearer = answer.token_type.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    // One with blanks or control characters is none (RFC 6750, 2.1) and could split the header.
    let is_plain = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let access_token = answer.access_token.filter(|token| is_bearer && is_plain(token));
    Ok(Tokens { id_token: Secret::new(id_token), access_token: access_token.map(Secret::new) })
}

/// Status and body of an answer.
fn read(
    called: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    bytes_max: u64,
) -> Result<(u16, Vec<u8>), String> {
    let mut response = called.map_err(|error| error.to_string())?;
    let body = response.body_mut().with_config().limit(bytes_max).read_to_vec();
    let body = body.map_err(|error| format!("its answer cannot be read: {error}"))?;
    Ok((response.status().as_u16(), body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_token_is_used_only_as_a_bearer_token() {
        let access = |json: &str| tokens(json.as_bytes()).map(|tokens| tokens.access_token.is_some());
        assert_eq!(access(r#"{"id_token":"a","access_token":"b","token_type":"bearer"}"#), Ok(true));
        assert_eq!(access(r#"{"id_token":"a","access_token":"b","token_type":"DPoP"}"#), Ok(false));
        assert_eq!(access(r#"{"id_token":"a","access_token":"b\r\nc","token_type":"Bearer"}"#), Ok(false));
        assert_eq!(access(r#"{"id_token":"a"}"#), Ok(false));
        assert!(access(r#"{"access_token":"b","token_type":"Bearer"}"#).is_err());
        assert!(access(r#"{"id_token":7}"#).is_err_and(|problem| !problem.contains('7')));
    }
}
