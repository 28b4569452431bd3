//! `[http.oidc]`: sign-in of people to the console, with an OpenID provider.
//!
//! docs/sign-in.md describes the registration at the provider. Sessions are in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stadium_grants::Role;

use crate::settings::define::group;
use crate::settings::value::{Bounds, Misfit, Raw, Value};

/// Groups with their roles: a table of `GROUP = ["ROLE", ...]`.
///
/// As text it is `GROUP = ROLE ROLE, GROUP = ROLE`; a group with a comma needs the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupRoles(pub BTreeMap<String, Vec<Role>>);

impl Value for GroupRoles {
    const IS_TABLE: bool = true;

    fn read(raw: &Raw, bounds: &Bounds) -> Result<Self, Misfit> {
        let expected = || Misfit::Kind("expected a table of groups, each with a list of roles".to_owned());
        let rows: Vec<(String, Vec<String>)> = match raw {
            Raw::Table(rows) => {
                let row = |(group, roles): &(String, Raw)| {
                    Ok((group.clone(), Vec::<String>::read(roles, bounds).map_err(|_| expected())?))
                };
                rows.iter().map(row).collect::<Result<_, Misfit>>()?
            }
            Raw::Text(text) => {
                let rows = text.split(',').map(str::trim).filter(|row| !row.is_empty());
                let row = |row: &str| {
                    let (group, roles) = row.rsplit_once('=').ok_or_else(expected)?;
                    let roles = roles.split_whitespace().map(str::to_owned).collect();
                    Ok((group.trim().to_owned(), roles))
                };
                rows.map(row).collect::<Result<_, Misfit>>()?
            }
            _ => return Err(expected()),
        };
        let mut read = BTreeMap::<String, Vec<Role>>::new();
        for (group, words) in rows {
            if words.is_empty() {
                return Err(Misfit::Kind(format!("group {group:?} has no role")));
            }
            for word in words {
                let role = word.parse().map_err(|wrong| Misfit::Kind(format!("group {group:?}: {wrong}")))?;
                read.entry(group.clone()).or_default().push(role);
            }
        }
        Ok(Self(read))
    }

    fn shown(&self) -> toml::Value {
        let words = |roles: &Vec<Role>| roles.iter().map(|role| role.word().to_owned().into()).collect();
        let rows = self.0.iter().map(|(group, roles)| (group.clone(), toml::Value::Array(words(roles))));
        toml::Value::Table(rows.collect())
    }

    fn kind() -> String {
        "table of groups with lists of roles".to_owned()
    }
}

group! {
    /// Sign-in of people to the console and the HTTP API with an OpenID provider. On when `issuer`
    /// is set.
    pub struct Oidc {
        /// The provider, exactly as it writes its issuer: `https://...`, or `http://` on this
        /// machine.
        issuer: Option<String> = None;
        /// The id under which the provider has registered this server.
        client_id: Option<String> = None;
        /// The file with the client's secret, one line. Empty for a public client.
        client_secret_file: Option<PathBuf> = None;
        /// The URL of `/auth/callback` as browsers reach it and as the provider has registered it,
        /// such as `https://push.example.org/auth/callback`.
        redirect_url: Option<String> = None;
        /// The URL to which the provider sends a browser after a logout, as registered there. Empty
        /// leaves the browser at the provider's page.
        post_logout_redirect_url: Option<String> = None;
        /// The scopes to ask for, `openid` among them. An empty list asks for `openid`, `profile`
        /// and `email`, and for `groups` where the provider announces it.
        scopes: Vec<String> = Vec::new();
        /// The claim with a person's groups: a list, or words with spaces between.
        groups_claim: String = "groups".to_owned();
        /// Authorities of the provider's certificate, PEM. Empty means the system's.
        ca: Option<PathBuf> = None;
        /// The roles of each group: `ops = ["operator"]`. A person has the roles of all its groups,
        /// and without one no access. Roles are `viewer`, `sender`, `bookkeeper`, `worker`,
        /// `operator` and `admin`.
        roles: GroupRoles = GroupRoles::default(), cost "whoever manages the group at the provider gives these rights away";
        /// The time from a sign-in to the end of its session.
        session_hours: u32 = 12, unit "h", in 1..=720, cost "a person who left the group keeps its roles for so long";
        /// The time from a session's last request to its end. An open page of the console makes
        /// requests.
        idle_minutes: u32 = 60, unit "min", in 1..=43_200, cost "an unattended browser is signed in for longer";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &Raw) -> Result<GroupRoles, Misfit> {
        GroupRoles::read(raw, &Bounds::Free)
    }

    #[test]
    fn groups_have_roles_in_a_table_or_in_a_line() {
        let word = |word: &str| Raw::Word(word.to_owned());
        let table = Raw::Table(vec![
            ("/team/a b".to_owned(), Raw::List(vec![word("operator"), word("sender")])),
            ("dev.ops".to_owned(), word("viewer")),
        ]);
        let roles = read(&table).expect("it is right");
        assert_eq!(roles.0["/team/a b"], [Role::Operator, Role::Sender]);
        assert_eq!(roles.0["dev.ops"], [Role::Viewer]);
        let line = Raw::Text("/team/a b = operator sender, dev.ops=viewer,".to_owned());
        assert_eq!(read(&line), Ok(roles.clone()));
        let shown = r#"{ "/team/a b" = ["operator", "sender"], "dev.ops" = ["viewer"] }"#;
        assert_eq!(roles.shown().to_string(), shown);
        assert_eq!(read(&Raw::Text(String::new())), Ok(GroupRoles::default()));
    }

    #[test]
    fn words_that_are_no_roles_are_refused_with_their_group() {
        let wrong = |text: &str| match read(&Raw::Text(text.to_owned())) {
            Err(Misfit::Kind(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(
            wrong("ops = root").starts_with("group \"ops\": a role is one of viewer, "),
            "{}",
            wrong("ops = root")
        );
        assert_eq!(wrong("ops ="), "group \"ops\" has no role");
        assert!(wrong("ops").starts_with("expected a table"));
        assert!(read(&Raw::Integer(1)).is_err());
        assert!(read(&Raw::Table(vec![("ops".to_owned(), Raw::Integer(1))])).is_err());
    }
}
