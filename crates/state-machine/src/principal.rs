//! Who asked for something: named in records beside what it came to.

use crate::name;

name!(
    /// The id of an API key or of a person, as the audit log has it: `k_` and hexadecimal digits, or
    /// `oidc:` and the provider's subject. At most 260 bytes, without control characters.
    PrincipalId,
    "principal",
    260,
    |c| !c.is_control(),
    "control characters are not allowed"
);
