//! Callers by signed tokens (JWT): an identity provider vouches for them, and their groups give
//! them roles.
//!
//! Keys, signature, `exp`, `nbf`, issuer and audience are `stadium_token_keys`' business; the claims
//! of a subject and of its groups, and the roles of groups, are those of sign-in (`stadium_oidc`).
//! No token and no part of one is in an error.

use std::time::{Duration, Instant, SystemTime};

use stadium_grants::Role;
use stadium_http::{Holder, HolderRights};
use stadium_oidc::{RoleMap, claims};
use stadium_rpc::Refusal;
use stadium_token_keys::{Error, Expected, Fault, KeySources, Keys};

use crate::refused::refused;

/// Bytes of a token that is looked at; one with a hundred groups has some 5 KB. The tokens that are
/// believed are kept, and so are bounded by it.
const TOKEN_BYTES_MAX: usize = 16 * 1_024;

/// The tokens that are believed. Their names and help are settings of the node.
#[derive(Clone, Debug)]
pub struct TokensConfig {
    /// The keys that verify them.
    pub sources: KeySources,
    /// The required `iss`.
    pub issuer: String,
    /// The required member of `aud`.
    pub audience: String,
    /// Tolerance for clocks in `exp` and `nbf`, in whole seconds.
    pub leeway: Duration,
    /// The claim with the groups of a subject: a list, or words with blanks between.
    pub groups_claim: String,
    /// Groups, and a role of each. A group may stand several times.
    pub roles: Vec<(String, Role)>,
}

/// Verifies tokens.
pub struct Tokens {
    keys: Keys,
    expected: Expected,
    issuer: String,
    groups_claim: String,
    roles: RoleMap,
}

impl Tokens {
    /// Reads the keys of files, and starts to fetch those at URLs.
    ///
    /// # Errors
    /// A key that cannot be used, or groups that [`RoleMap`] refuses; in words for the operator.
    pub fn open(config: TokensConfig) -> Result<Self, String> {
        let TokensConfig { sources, issuer, audience, leeway, groups_claim, roles } = config;
        let roles = RoleMap::new(roles.into_iter().map(|(group, role)| (group, role.word())));
        Ok(Self {
            keys: Keys::open(sources).map_err(|error| error.to_string())?,
            expected: Expected { issuer: Some(issuer.clone()), audience: Some(audience), leeway },
            issuer,
            groups_claim,
            roles: roles.map_err(|error| error.to_string())?,
        })
    }

    /// Reads the keys of files again, and has those at URLs fetched.
    ///
    /// # Errors
    /// A file that cannot be used; what it held before stays in force.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        self.keys.refresh();
        self.keys.reload()
    }

    /// The holder of a token, and the time at which the token stops being good.
    ///
    /// # Errors
    /// The refusal of a token that is not believed; Busy where its key is being fetched.
    pub(crate) fn holder(&self, token: &str, now: Instant) -> Result<(Holder, SystemTime), Refusal> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(refused(format!("the token has more than {TOKEN_BYTES_MAX} bytes")));
        }
        let not_believed = |why: &str| refused(format!("the token {why}"));
        let believed = self.keys.claims(token.as_bytes(), &self.expected).map_err(|fault| {
            if fault == Fault::NotGenuine
                && let Some(wait) = self.keys.fetch_key_of(token.as_bytes(), &self.expected, now)
            {
                return Refusal::busy(wait, "the key of the token is being fetched");
            }
            not_believed(match fault {
                Fault::NotGenuine => "is malformed, or is not signed by a key of rpc.tokens",
                Fault::Expired => "has expired (exp)",
                Fault::NotYetValid => "is not valid yet (nbf)",
                Fault::Claims => {
                    "is of another issuer (iss), for another audience (aud), or has no end (exp)"
                }
            })
        })?;
        let subject = claims::subject(&believed).ok_or_else(|| not_believed("names no subject (sub)"))?;
        let ends_at = self.expected.ends_at(&believed);
        let ends_at = ends_at.ok_or_else(|| not_believed("ends later than a clock can show (exp)"))?;
        let groups = claims::groups(&believed, &self.groups_claim).map_err(not_believed)?;
        let roles = self.roles.roles(&groups.unwrap_or_default());
        let roles: Vec<Role> = roles.into_iter().filter_map(|word| word.parse().ok()).collect();
        if roles.is_empty() {
            let why = format!("of {subject} is good, but none of its groups has a role in rpc.tokens.roles");
            return Err(not_believed(&why));
        }
        let name = claims::name(&believed).unwrap_or_else(|| subject.to_owned());
        let rights = HolderRights { roles, ..HolderRights::default() };
        // One issuer is believed, so that the id is one subject's alone.
        let holder = Holder::new(format!("token:{subject} of {}", self.issuer), name, rights);
        Ok((holder.map_err(|invalid| refused(invalid.to_string()))?, ends_at))
    }
}
