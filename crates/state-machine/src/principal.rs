//! The principal that asked for something: named in records beside what it came to.

use crate::name;

name!(
    /// The id of a principal, as the audit log has it: `k_` and hexadecimal digits of an API key,
    /// `oidc:SUBJECT` of a person, `token:SUBJECT of ISSUER` or `certificate:NAME` of a caller of
    /// RPC. At most 260 bytes, without control characters.
    PrincipalId,
    "principal",
    260,
    |c| !c.is_control(),
    "control characters are not allowed"
);
