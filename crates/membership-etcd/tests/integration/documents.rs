//! Documents that several nodes share through a real etcd: races, an etcd that is away, restarts,
//! lost answers, and documents that are lost or of another cluster.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use stadium_membership::{ClusterId, Error};
use stadium_membership_etcd::{DocumentSettings, Documents, NotChanged, Texts};
use stadium_testing::etcd::Cluster as Etcd;

use super::fixture::{NAME, access, until_true};

/// How soon a change is seen at the other nodes, on a machine that does other work as well.
const SEEN_MAX: Duration = Duration::from_secs(20);

fn settings(etcd: &Etcd, id: u64, copy: &Path) -> DocumentSettings {
    let copy = copy.join("access.json");
    DocumentSettings { etcd: access(etcd.endpoints()), cluster: NAME.to_owned(), id: ClusterId(id), copy }
}

fn open(etcd: &Etcd, copy: &Path) -> Documents {
    Documents::start(settings(etcd, 7, copy)).expect("a thread")
}

/// Documents that were read, and their folder.
fn opened(etcd: &Etcd) -> (Documents, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let documents = open(etcd, folder.path());
    documents.wait_until_read(SEEN_MAX).expect("etcd answers");
    (documents, folder)
}

fn put(documents: &Documents, name: &str, text: &str) -> Result<(), NotChanged> {
    let changed = documents.change(&mut |texts| {
        texts.insert(name.to_owned(), text.to_owned());
        true
    });
    changed.map(drop)
}

fn text(documents: &Documents, name: &str) -> Option<String> {
    documents.known().texts.get(name).cloned()
}

#[test]
fn changes_of_two_nodes_at_once_are_all_made() {
    const EACH: usize = 40;
    let etcd = Etcd::start(1);
    let nodes = [opened(&etcd), opened(&etcd)];
    std::thread::scope(|scope| {
        for (place, (documents, _)) in nodes.iter().enumerate() {
            scope.spawn(move || {
                for number in 0..EACH {
                    // A counter that both raise loses nothing if each sees the other's value.
                    let changed = documents.change(&mut |texts| {
                        let count =
                            texts.get("count").map_or(0, |count| count.parse::<usize>().expect("a number"));
                        texts.insert("count".to_owned(), (count + 1).to_string());
                        texts.insert(format!("keys/{place}-{number}"), String::new());
                        true
                    });
                    let count = changed.expect("it is made").texts["count"].clone();
                    assert!(count.parse::<usize>().expect("a number") > number);
                }
            });
        }
    });
    for (documents, _) in &nodes {
        until_true("all changes at both nodes", || {
            let texts = documents.known().texts;
            texts.len() == 2 * EACH + 1 && texts["count"] == (2 * EACH).to_string()
        });
    }
}

#[test]
fn of_two_nodes_that_begin_at_once_one_is_first() {
    let etcd = Etcd::start(1);
    let nodes = [opened(&etcd), opened(&etcd)];
    let began = |name: &'static str, documents: &Documents| {
        let changed = documents.change(&mut |texts| {
            texts.entry("secrets/one".to_owned()).or_insert_with(|| name.to_owned());
            true
        });
        changed.expect("it is made").texts["secrets/one"].clone()
    };
    let [a, b] = &nodes;
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| began("b", &b.0));
        (began("a", &a.0), second.join().expect("no panic"))
    });
    assert_eq!(first, second);
}

#[test]
fn a_change_is_seen_at_the_other_node_and_a_removal_too() {
    let etcd = Etcd::start(3);
    let ((a, _of_a), (b, _of_b)) = (opened(&etcd), opened(&etcd));
    let before = b.version();
    put(&a, "keys/k", "one").expect("it is made");
    assert_eq!(text(&a, "keys/k").as_deref(), Some("one"), "its maker knows it at once");
    let made = Instant::now();
    until_true("the change at b", || b.version() > before && text(&b, "keys/k").is_some());
    println!("seen at the other node after {:.2?}", made.elapsed());
    b.change(&mut |texts| texts.remove("keys/k").is_some()).expect("it is made");
    until_true("the removal at a", || text(&a, "keys/k").is_none());
    // A change that is none writes nothing.
    let version = a.version();
    a.change(&mut |_| true).expect("nothing is wrong");
    a.change(&mut |texts| texts.insert("x".to_owned(), String::new()).is_some()).expect("nothing is wrong");
    assert_eq!((a.version(), text(&a, "x")), (version, None));
}

#[test]
fn without_etcd_documents_stay_and_changes_are_refused() {
    let mut etcd = Etcd::start(1);
    let (a, folder) = opened(&etcd);
    put(&a, "keys/k", "one").expect("it is made");
    etcd.kill(0);
    assert!(matches!(put(&a, "keys/l", "two"), Err(NotChanged::Away(_))));
    assert_eq!(*a.known().texts, Texts::from([("keys/k".to_owned(), "one".to_owned())]));
    drop(a);
    // A node that starts meanwhile has its copy.
    let again = open(&etcd, folder.path());
    assert_eq!(text(&again, "keys/k").as_deref(), Some("one"));
    assert!(matches!(again.wait_until_read(Duration::ZERO), Err(Error::Away(_))));
    etcd.revive(0);
    etcd.until_ready();
    until_true("a change to be possible again", || put(&again, "keys/l", "two").is_ok());
}

#[test]
fn what_was_changed_while_contact_was_lost_is_found_also_when_it_is_compacted() {
    let mut etcd = Etcd::start(1);
    let (a, folder) = opened(&etcd);
    let (b, _of_b) = opened(&etcd);
    put(&a, "keys/k", "one").expect("it is made");
    put(&a, "keys/l", "one").expect("it is made");
    drop(a);
    b.change(&mut |texts| texts.remove("keys/k").is_some()).expect("it is made");
    etcd.compact();
    etcd.kill(0);
    etcd.revive(0);
    etcd.until_ready();
    let a = open(&etcd, folder.path());
    for documents in [&a, &b] {
        until_true("the documents of etcd", || text(documents, "keys/k").is_none());
        assert_eq!(text(documents, "keys/l").as_deref(), Some("one"));
    }
    put(&b, "keys/m", "one").expect("it is made");
    until_true("the change at a", || text(&a, "keys/m").is_some());
}

#[test]
fn documents_that_etcd_lost_stay_in_force_and_those_of_another_cluster_are_not_read() {
    let etcd = Etcd::start(1);
    let (a, _folder) = opened(&etcd);
    put(&a, "keys/k", "one").expect("it is made");
    let change = format!("/stadium/{NAME}/access/change");
    let number = etcd.key(&change).expect("it was written").value;
    etcd.delete(&change);
    let refused = |documents: &Documents| match put(documents, "keys/l", "two") {
        Err(NotChanged::Away(why)) => why,
        other => panic!("{other:?}"),
    };
    until_true("the loss to be seen", || refused(&a).contains("etcd has lost the documents"));
    assert_eq!(text(&a, "keys/k").as_deref(), Some("one"));
    etcd.put(&change, &number);
    until_true("a change to be possible again", || put(&a, "keys/l", "two").is_ok());

    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = Documents::start(settings(&etcd, 8, folder.path())).expect("a thread");
    until_true("the refusal", || {
        let read = other.wait_until_read(Duration::ZERO).expect_err("it is of another cluster");
        read.to_string().contains("of a cluster that was made before this one")
    });
    assert!(other.known().texts.is_empty());
}

#[test]
fn a_user_with_rights_below_the_prefix_is_enough() {
    let etcd = Etcd::start(1);
    etcd.enable_authentication("stadium", "secret", &format!("/stadium/{NAME}"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let user = stadium_membership_etcd::User { name: "stadium".to_owned(), password: "secret".to_owned() };
    let mut settings = settings(&etcd, 7, folder.path());
    settings.etcd.user = Some(user);
    let documents = Documents::start(settings).expect("a thread");
    documents.wait_until_read(SEEN_MAX).expect("etcd answers");
    put(&documents, "keys/k", "one").expect("it is made");
    assert_eq!(text(&documents, "keys/k").as_deref(), Some("one"));
}

#[test]
fn a_change_whose_answer_was_lost_is_made_once() {
    let etcd = Mutex::new(Etcd::start(1));
    let (a, _folder) = opened(&etcd.lock().expect("no panic"));
    std::thread::scope(|scope| {
        let mut calls = 0;
        let changed = a.change(&mut |texts| {
            calls += 1;
            if calls == 1 {
                etcd.lock().expect("no panic").pause(0);
                // After the transaction was given up; etcd carries it out when it goes on.
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(2500));
                    etcd.lock().expect("no panic").go_on(0);
                });
            }
            let count = texts.get("count").map_or(0, |count| count.parse::<usize>().expect("a number"));
            texts.insert("count".to_owned(), (count + 1).to_string());
            true
        });
        // A slow machine may take longer than a change is tried.
        assert!(matches!(changed, Ok(_) | Err(NotChanged::Unknown(_))), "{changed:?}");
    });
    until_true("the change", || text(&a, "count").is_some());
    put(&a, "another", "").expect("etcd is back");
    assert_eq!(text(&a, "count").as_deref(), Some("1"));
}
