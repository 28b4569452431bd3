//! `[rpc.tokens]` and `rpc.identities`: callers of RPC that show a signed token or a certificate.
//!
//! Callers with API keys need no setting.

use std::collections::BTreeMap;

use stadium_grants::{Grant, Role};
use toml::de::DeTable;

use crate::settings::define::group;
use crate::settings::sections::auth::TokenKeys;
use crate::settings::sections::oidc::GroupRoles;
use crate::settings::value::{Bounds, Misfit, Raw, Value};

/// The rights of one identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentityRights {
    /// Its roles.
    pub roles: Vec<Role>,
    /// The apps that its roles are about; none for everything.
    pub apps: Option<Vec<String>>,
    /// Grants beside those of its roles.
    pub grants: Vec<Grant>,
}

/// Names of certificates with their rights: a table of `NAME = { roles, apps, grants }`.
///
/// As text it is the same table, as TOML writes it in one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallerIdentities(pub BTreeMap<String, IdentityRights>);

impl Value for CallerIdentities {
    const IS_TABLE: bool = true;

    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let expected =
            || Misfit::Kind("expected a table of names, each with roles, apps or grants".to_owned());
        let parsed;
        let rows = match raw {
            Raw::Table(rows) => rows,
            Raw::Text(text) if text.trim().is_empty() => return Ok(Self::default()),
            Raw::Text(text) => {
                let line = format!("identities = {text}");
                parsed = Raw::from(DeTable::parse(&line).map_err(|_| expected())?.get_ref());
                match &parsed {
                    Raw::Table(one) => match one.as_slice() {
                        [(_, Raw::Table(rows))] => rows,
                        _ => return Err(expected()),
                    },
                    _ => return Err(expected()),
                }
            }
            _ => return Err(expected()),
        };
        let mut read = BTreeMap::new();
        for (name, rights) in rows {
            let Raw::Table(fields) = rights else { return Err(expected()) };
            read.insert(name.clone(), identity(name, fields, bounds)?);
        }
        Ok(Self(read))
    }

    fn shown(&self) -> toml::Value {
        fn list<T: ToString>(items: &[T]) -> toml::Value {
            toml::Value::Array(items.iter().map(|item| item.to_string().into()).collect())
        }
        let shown = |rights: &IdentityRights| {
            let mut fields = toml::Table::new();
            if !rights.roles.is_empty() {
                fields.insert("roles".to_owned(), list(&rights.roles));
            }
            if let Some(apps) = &rights.apps {
                fields.insert("apps".to_owned(), list(apps));
            }
            if !rights.grants.is_empty() {
                fields.insert("grants".to_owned(), list(&rights.grants));
            }
            toml::Value::Table(fields)
        };
        toml::Value::Table(self.0.iter().map(|(name, rights)| (name.clone(), shown(rights))).collect())
    }

    fn kind() -> String {
        "table of names with `roles`, `apps` and `grants`".to_owned()
    }
}

fn identity(name: &str, fields: &[(String, Raw)], bounds: &Bounds) -> Result<IdentityRights, Misfit> {
    let mut rights = IdentityRights::default();
    for (field, raw) in fields {
        let wrong = |wrong: &dyn std::fmt::Display| Misfit::Kind(format!("{name:?}: {wrong}"));
        let words = Vec::<String>::read(raw, bounds);
        let words = words.map_err(|_| wrong(&format_args!("{field} is not a list of texts")))?;
        match field.as_str() {
            "roles" => {
                let roles = words.iter().map(|word| word.parse()).collect::<Result<_, _>>();
                rights.roles = roles.map_err(|error: stadium_grants::Invalid| wrong(&error))?;
            }
            "grants" => {
                let grants = words.iter().map(|text| text.parse()).collect::<Result<_, _>>();
                rights.grants = grants.map_err(|error: stadium_grants::Invalid| wrong(&error))?;
            }
            "apps" => rights.apps = Some(words),
            _ => return Err(wrong(&format_args!("has roles, apps and grants, and no {field}"))),
        }
    }
    Ok(rights)
}

group! {
    /// Signed tokens (JWT) of an identity provider, as bearer tokens of RPC. On when it has a key;
    /// needs `issuer`, `audience` and `roles` then.
    pub struct Tokens {
        /// Only tokens of this issuer (`iss`), exactly as it writes itself.
        issuer: Option<String> = None;
        /// Only tokens for this audience (`aud`): a name for this server that the provider puts into
        /// its tokens.
        audience: Option<String> = None;
        /// Clock difference tolerated for `exp` and `nbf`.
        leeway_s: u32 = 30, unit "s", in 0..=600, cost "tokens live this much longer";
        /// The claim with the groups of a token's subject: a list, or words with spaces between.
        groups_claim: String = "groups".to_owned();
        /// The roles of each group: `backends = ["sender"]`. A caller has the roles of all its groups,
        /// and without one no access. Roles are `viewer`, `sender`, `bookkeeper`, `worker`,
        /// `operator` and `admin`.
        roles: GroupRoles = GroupRoles::default(), cost "whoever manages the group at the provider gives these rights away";
    }
    with {
        /// Its keys.
        sources: TokenKeys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CallerIdentities, Misfit> {
        CallerIdentities::read(&Raw::Text(text.to_owned()), &Bounds::Free)
    }

    #[test]
    fn identities_are_read_from_a_line_and_shown_as_one() {
        let line = r#"{ "billing.internal" = { roles = ["sender", "worker"], apps = ["shop"] }, importer = { grants = ["queue.put:imports 50/s"] } }"#;
        let identities = read(line).expect("it is right");
        assert_eq!(identities.0["billing.internal"].roles, [Role::Sender, Role::Worker]);
        assert_eq!(identities.0["billing.internal"].apps.as_deref(), Some(&["shop".to_owned()][..]));
        assert_eq!(identities.0["importer"].grants.len(), 1);
        assert_eq!(read(&identities.shown().to_string()), Ok(identities));
        assert_eq!(read(""), Ok(CallerIdentities::default()));
    }

    #[test]
    fn an_identity_that_is_wrong_is_refused_by_its_name() {
        for (line, why) in [
            ("{ a = { roles = [\"root\"] } }", "\"a\": a role is one of"),
            ("{ a = { grants = [\"queue.eat\"] } }", "\"a\": "),
            ("{ a = { rolls = [\"sender\"] } }", "no rolls"),
            ("{ a = { roles = [[1]] } }", "\"a\": roles is not a list"),
            ("{ a = \"sender\" }", "expected a table"),
            ("a", "expected a table"),
        ] {
            match read(line) {
                Err(Misfit::Kind(text)) => assert!(text.contains(why), "{line}: {text}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
