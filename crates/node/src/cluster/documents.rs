//! The documents that all nodes of a cluster share, as the HTTP port takes them.
//!
//! They are in etcd, with a copy in the data directory: a node that was in its cluster before starts
//! and lets callers in while etcd is away.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stadium_http::{Documents, NotChanged, SharedDocuments, Texts};
use stadium_membership::ClusterId;
use stadium_membership_etcd as etcd;
use stadium_membership_etcd::{Access, DocumentSettings};

use crate::error::Error;

/// The copy, in the folder of the cluster.
const COPY: &str = "access.json";

/// How long the first start waits for etcd, as for the cluster itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a later start waits for what was changed meanwhile, before it goes on with its copy.
const PATIENCE_WITH_COPY: Duration = Duration::from_secs(3);

/// The documents of a cluster.
#[derive(Debug)]
pub(super) struct InEtcd(etcd::Documents);

/// Opens the documents of the cluster `name`, with the copy in `folder`.
pub(super) fn open(folder: &Path, name: &str, id: ClusterId, access: &Access) -> Result<Arc<InEtcd>, Error> {
    let failed = |error: stadium_membership::Error| Error::Cluster(format!("shared API keys: {error}"));
    let copy = folder.join(COPY);
    let settings = DocumentSettings { etcd: access.clone(), cluster: name.to_owned(), id, copy };
    let documents = etcd::Documents::start(settings).map_err(failed)?;
    // Without documents the copy is that of a start that was interrupted.
    let has_copy = !documents.known().texts.is_empty();
    let read = documents.wait_until_read(if has_copy { PATIENCE_WITH_COPY } else { PATIENCE });
    match read {
        Err(error) if has_copy => {
            tracing::warn!(%error, "API keys are those that this node knew last");
        }
        read => read.map_err(failed)?,
    }
    Ok(Arc::new(InEtcd(documents)))
}

impl SharedDocuments for InEtcd {
    fn version(&self) -> u64 {
        self.0.version()
    }

    fn read(&self) -> Documents {
        documents(self.0.known())
    }

    fn change(&self, change: &mut dyn FnMut(&mut Texts) -> bool) -> Result<Documents, NotChanged> {
        self.0.change(change).map(documents).map_err(|error| match error {
            etcd::NotChanged::Away(why) => NotChanged::Away(why),
            etcd::NotChanged::Unknown(why) => NotChanged::Unknown(why),
            etcd::NotChanged::TooLarge(why) => NotChanged::TooLarge(why),
        })
    }
}

fn documents(known: etcd::Known) -> Documents {
    Documents { version: known.version, texts: known.texts }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use stadium_http::key_store::{Error as Keys, KeyStore, NewKey};
    use stadium_testing::deadline::must_hold;
    use stadium_testing::etcd::Cluster as Etcd;

    use super::*;
    use crate::rights::Role;

    /// A data directory of a node.
    struct Home {
        etcd: Access,
        data: tempfile::TempDir,
    }

    impl Home {
        fn of(etcd: &Etcd) -> Self {
            let etcd = Access { endpoints: etcd.endpoints(), user: None, tls: None };
            Self { etcd, data: tempfile::tempdir().expect("a temporary directory can be made") }
        }

        fn start(&self) -> KeyStore {
            let documents = open(self.data.path(), "main", ClusterId(7), &self.etcd).expect("etcd answers");
            KeyStore::open_shared(self.data.path(), documents).expect("keys can be made")
        }

        fn admin_key(&self) -> PathBuf {
            self.data.path().join("admin.key")
        }
    }

    fn admin(name: &str) -> NewKey {
        NewKey { name: name.to_owned(), roles: vec![Role::Admin], ..NewKey::default() }
    }

    /// Runs two things at once.
    fn both<T: Send>(one: impl FnOnce() -> T + Send, other: impl FnOnce() -> T + Send) -> [T; 2] {
        std::thread::scope(|scope| {
            let other = scope.spawn(other);
            [one(), other.join().expect("no panic")]
        })
    }

    #[test]
    fn nodes_that_start_at_once_have_one_admin_key_whose_secret_one_of_them_has() {
        let etcd = Etcd::start(1);
        let homes = [Home::of(&etcd), Home::of(&etcd)];
        let stores = both(|| homes[0].start(), || homes[1].start());
        let made: Vec<_> = homes.iter().map(Home::admin_key).filter(|file| file.exists()).collect();
        assert_eq!(made.len(), 1, "{made:?}");
        let secret = fs::read_to_string(&made[0]).expect("it is there");
        for store in &stores {
            must_hold("the key at both nodes", || store.authenticate(secret.trim()).is_ok());
            assert_eq!(store.list().len(), 1);
        }
        drop(stores);
        assert!(homes[0].start().authenticate(secret.trim()).is_ok(), "a second start keeps the key");
    }

    #[test]
    fn changes_at_two_nodes_at_once_keep_each_key_and_the_last_admin() {
        let etcd = Etcd::start(1);
        let homes = [Home::of(&etcd), Home::of(&etcd)];
        let [a, b] = [homes[0].start(), homes[1].start()];
        let made = both(
            || a.create(&admin("of a")).expect("it is made"),
            || b.create(&admin("of b")).expect("it is made"),
        );
        for store in [&a, &b] {
            for key in &made {
                must_hold("the key at both nodes", || store.authenticate(&key.secret).is_ok());
            }
        }
        let rotated = b.rotate(&made[0].key.id, Duration::ZERO).expect("it is known");
        must_hold("the end of the secret before", || a.authenticate(&made[0].secret).is_err());
        assert!(a.authenticate(&rotated.secret).is_ok());

        let first = a.list().iter().find(|key| key.name == "admin").expect("it was made first").id.clone();
        a.revoke(&first).expect("two others are there");
        let ended = both(|| a.revoke(&made[0].key.id), || b.revoke(&made[1].key.id));
        let refused = ended.iter().filter(|ended| matches!(ended, Err(Keys::LastAdmin))).count();
        assert_eq!((refused, ended.iter().filter(|ended| ended.is_ok()).count()), (1, 1), "{ended:?}");
    }

    #[test]
    fn keys_of_the_first_nodes_file_become_those_of_the_cluster() {
        let etcd = Etcd::start(1);
        let homes = [Home::of(&etcd), Home::of(&etcd)];
        let standalone = KeyStore::open(homes[0].data.path()).expect("keys can be made");
        // More than one change takes.
        let made: Vec<_> = (0..150)
            .map(|number| standalone.create(&admin(&format!("key {number}"))).expect("there is room"))
            .collect();
        let [a, b] = [homes[0].start(), homes[1].start()];
        assert_eq!((a.list().len(), b.list().len()), (151, 151));
        assert!(b.authenticate(&made[149].secret).is_ok());
        assert!(homes[0].admin_key().exists() && !homes[1].admin_key().exists());
        // From here on the file is nobody's.
        b.revoke(&made[149].key.id).expect("it is known");
        drop(a);
        assert!(homes[0].start().authenticate(&made[149].secret).is_err());
    }

    #[test]
    fn a_node_starts_with_its_copy_while_etcd_is_away_and_a_document_of_others_locks_nobody_out() {
        let mut etcd = Etcd::start(1);
        let home = Home::of(&etcd);
        let store = home.start();
        let made = store.create(&admin("kept")).expect("it is made");
        etcd.put("/stadium/main/access/keys/k_new", "{\"version\":3,\"key\":{}}");
        drop(store);
        etcd.kill(0);
        let store = home.start();
        assert!(store.authenticate(&made.secret).is_ok());
        assert!(matches!(store.create(&admin("late")), Err(Keys::Shared(NotChanged::Away(_)))));
        etcd.revive(0);
        etcd.until_ready();
        must_hold("a change to be possible again", || store.create(&admin("late")).is_ok());
        assert!(etcd.key("/stadium/main/access/keys/k_new").is_some(), "it stays as it is");
    }
}
