//! Roles of groups. A person whose groups have no role may do nothing.

use std::collections::BTreeSet;

use crate::Error;

/// Rows of a map.
pub const ROWS_MAX: usize = 1_024;

/// The roles that each group gives. Names are compared exactly, as providers write them: some have
/// blanks, paths (`/ops/admins`) or numbers for names.
#[derive(Clone, Debug, Default)]
pub struct RoleMap {
    rows: Vec<(Box<str>, Box<str>)>,
}

impl RoleMap {
    /// A map of rows of a group and a role. A group may have several roles, and a role several
    /// groups. An error where a name is empty, or there are more than [`ROWS_MAX`] rows.
    pub fn new<G: Into<Box<str>>, R: Into<Box<str>>>(
        rows: impl IntoIterator<Item = (G, R)>,
    ) -> Result<Self, Error> {
        let rows: Vec<_> = rows.into_iter().map(|(group, role)| (group.into(), role.into())).collect();
        let is_empty = |(group, role): &(Box<str>, Box<str>)| group.is_empty() || role.is_empty();
        if rows.len() > ROWS_MAX || rows.iter().any(is_empty) {
            let problem = format!("at most {ROWS_MAX} rows, each with the name of a group and a role");
            return Err(Error::Setting { name: "roles", problem });
        }
        Ok(Self { rows })
    }

    /// The roles of a person in these groups. None of them: the person has no access.
    pub fn roles(&self, groups: &[String]) -> BTreeSet<&str> {
        let has = |group: &str| groups.iter().any(|of_person| of_person == group);
        self.rows.iter().filter(|(group, _)| has(group)).map(|(_, role)| &**role).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_give_roles_and_nothing_else_does() {
        let map = RoleMap::new([("ops", "admin"), ("ops", "send"), ("/team/a b", "read"), ("dev", "send")]);
        let map = map.expect("a map");
        let roles = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            map.roles(&groups).into_iter().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(roles(&["ops"]), "admin send");
        assert_eq!(roles(&["dev", "/team/a b", "other"]), "read send");
        for nobody in [&[][..], &["other"], &["OPS"], &["ops "], &["op"], &[""]] {
            assert_eq!(roles(nobody), "", "{nobody:?}");
        }
        assert!(RoleMap::default().roles(&["ops".to_owned()]).is_empty());
    }

    #[test]
    fn empty_names_and_long_maps_are_refused() {
        assert!(RoleMap::new([("", "admin")]).is_err());
        assert!(RoleMap::new([("ops", "")]).is_err());
        assert!(RoleMap::new(vec![("ops", "admin"); ROWS_MAX + 1]).is_err());
    }
}
