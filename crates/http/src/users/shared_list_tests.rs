//! The list of erasures of a cluster on documents in memory: two nodes, a node that is taken out,
//! and what a restore is given of it.

use std::path::Path;

use serde_json::json;

use super::*;
use crate::shared_documents::Documents;
use crate::users::list::NodePart;
use crate::users::registration::Registration;
use crate::users::restored::erased_after;
use crate::users::spelled::not_kept;

/// Documents of a cluster in memory.
#[derive(Debug, Default)]
struct InMemory {
    texts: Mutex<(u64, Texts)>,
    is_away: Mutex<bool>,
}

impl SharedDocuments for InMemory {
    fn version(&self) -> u64 {
        self.texts.lock().0
    }

    fn read(&self) -> Documents {
        let (version, texts) = self.texts.lock().clone();
        Documents { version, texts: Arc::new(texts) }
    }

    fn change(&self, change: &mut dyn FnMut(&mut Texts) -> bool) -> Result<Documents, NotChanged> {
        if *self.is_away.lock() {
            return Err(NotChanged::Away("nobody answers".to_owned()));
        }
        // Called twice, as where another node was faster.
        change(&mut self.texts.lock().1.clone());
        let (version, texts) = &mut *self.texts.lock();
        let mut changed = texts.clone();
        if change(&mut changed) {
            (*version, *texts) = (*version + 1, changed);
        }
        Ok(Documents { version: *version, texts: Arc::new(texts.clone()) })
    }
}

fn running(id: &str, user: &str) -> Running {
    Running::new(id.to_owned(), user.to_owned(), "k_1", 1)
}

fn done(list: &SharedErasures, id: &str, node: &str) {
    let part = NodePart { done: true, ..NodePart::default() };
    let noted = list.change(id, &mut |one| drop(one.nodes.insert(node.to_owned(), part.clone())));
    assert!(noted.expect("the store answers").is_some());
}

struct Node {
    list: SharedErasures,
    folder: tempfile::TempDir,
}

fn node(documents: &Arc<InMemory>) -> Node {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = Arc::clone(documents) as Arc<dyn SharedDocuments>;
    Node { list: SharedErasures::of(documents, folder.path()), folder }
}

#[test]
fn an_erasure_finishes_when_all_nodes_are_done_and_leaves_the_documents_when_all_have_it() {
    let documents = Arc::new(InMemory::default());
    let (a, b) = (node(&documents), node(&documents));
    for name in ["a", "b"] {
        a.list.register(name).expect("the store answers");
    }
    let begun = a.list.begin(running("1", "ada")).expect("the store answers");
    assert!(matches!(begun, Some(Erasure::Running(one)) if one.id == "1"));
    let same = b.list.begin(running("2", "ada")).expect("the store answers");
    assert!(matches!(same, Some(Erasure::Running(one)) if one.id == "1"), "one of a user");

    done(&b.list, "1", "b");
    let early = a.list.finish("1", json!({"salt": "s"}), 500).expect_err("a is not done").to_string();
    assert!(early.contains("the node a"), "{early}");
    done(&a.list, "1", "a");
    a.list.finish("1", json!({"salt": "s"}), 500).expect("all are done");
    a.list.finish("1", json!({"salt": "s"}), 501).expect("another node was faster");
    assert!(!documents.read().texts.values().any(|text| text.contains("ada")), "the name is gone");

    a.list.take("a").expect("it is written");
    assert!(documents.read().texts.contains_key("erased/1"), "b has it not");
    b.list.take("b").expect("it is written");
    assert!(!documents.read().texts.contains_key("erased/1"));
    let receipt = |list: &SharedErasures| match list.find("1").expect("it is read") {
        Some(Erasure::Finished(one)) => serde_json::to_string(&one.receipt).expect("JSON"),
        other => panic!("{other:?}"),
    };
    assert_eq!(receipt(&a.list), receipt(&b.list));
    let known = b.list.begin(running("1", "ada")).expect("the store answers");
    assert!(matches!(known, Some(Erasure::Finished(_))), "the same id is the same erasure");
}

#[test]
fn without_the_store_nothing_begins_and_a_torn_line_is_cut_off() {
    let documents = Arc::new(InMemory::default());
    let a = node(&documents);
    a.list.register("a").expect("the store answers");
    fs::write(a.folder.path().join(FILE), "{\"id\":\"0\",\"ha").expect("it is written");
    a.list.begin(running("1", "ada")).expect("the store answers");
    done(&a.list, "1", "a");
    a.list.finish("1", json!({}), 7).expect("it is done");
    a.list.take("a").expect("it is written");
    assert!(matches!(a.list.find("1").expect("it is read"), Some(Erasure::Finished(_))));

    *documents.is_away.lock() = true;
    let refused = a.list.begin(running("2", "bob")).expect_err("the store is away");
    assert!(not_kept(refused).has_code("ERA-007"));
    assert!(a.list.running().is_empty());
}

#[test]
fn a_node_that_was_taken_out_does_not_start_with_its_sessions() {
    let documents = Arc::new(InMemory::default());
    let a = node(&documents);
    let of = |cluster: &str| Registration::of(a.folder.path(), cluster, "a");
    of("c1").at_start(&a.list).expect("it is new");
    assert!(a.list.nodes().contains("a"));
    of("c1").at_start(&a.list).expect("it is known");
    assert!(a.list.forget("a").expect("the store answers"));
    assert!(!a.list.forget("a").expect("the store answers"));
    let refused = of("c1").at_start(&a.list).expect_err("it was taken out");
    assert!(refused.contains("ERA-010"), "{refused}");
    assert!(a.list.nodes().is_empty(), "it does not come back by itself");

    // While the store is away nobody knows; and in another cluster it is another node.
    *documents.is_away.lock() = true;
    of("c1").at_start(&a.list).expect("it may go on");
    *documents.is_away.lock() = false;
    of("c2").at_start(&a.list).expect("it is new there");
    assert!(a.list.nodes().contains("a"));
}

#[test]
fn a_restore_gets_erasures_that_were_under_way_or_finished_later() {
    let documents = Arc::new(InMemory::default());
    let a = node(&documents);
    let dir = a.folder.path();
    assert!(erased_after(dir, 0).is_err(), "it is no node's directory");
    a.list.register("a").expect("the store answers");
    for (id, user, finished_ms) in [("1", "ada", 500), ("2", "bob", 600)] {
        a.list.begin(running(id, user)).expect("the store answers");
        done(&a.list, id, "a");
        let (salt, _) = a.list.salt_and_key().expect("it is made");
        a.list.finish(id, json!({"salt": salt}), finished_ms).expect("it is done");
    }
    a.list.take("a").expect("it is written");
    a.list.begin(running("3", "eve")).expect("the store answers");
    a.list.change("3", &mut |one| one.done = ["devices".to_owned()].into()).expect("noted");
    write_copy(dir, &documents);

    let texts = erased_after(dir, 500).expect("it is read");
    let again: Running = read(&texts["erasing/3"]).expect("it is one");
    assert!(again.again && again.done.is_empty() && again.user == "eve", "{again:?}");
    assert_eq!(texts.get("secrets/receipts.key"), documents.read().texts.get("secrets/receipts.key"));
    let new = Arc::new(InMemory::default());
    *new.texts.lock() = (1, texts);
    let b = node(&new);
    let (hash_of_bob, repeated) = (a.list.hash("bob").expect("hashed"), b.list.to_repeat());
    assert_eq!(repeated.into_iter().map(|one| one.hash).collect::<Vec<_>>(), [hash_of_bob]);
    b.list.repeated().expect("the store answers");
    assert!(b.list.to_repeat().is_empty() && b.list.running().len() == 1);
}

/// The copy of the documents, as a node has it in its data directory.
fn write_copy(dir: &Path, documents: &InMemory) {
    let copy = json!({"version": 1, "cluster": 7, "documents": &*documents.read().texts});
    fs::create_dir(dir.join("cluster")).expect("a folder");
    fs::write(dir.join("cluster/access.json"), copy.to_string()).expect("it is written");
}
