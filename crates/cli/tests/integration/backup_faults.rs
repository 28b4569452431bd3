//! Backups and restores that are cut off: full disks, killed processes. What is left is whole, or is
//! refused and made anew. Black box: the built binary on small disks of its own.

use crate::{backup, binary};

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

use backup::{jobs, newest, restored, settings};
use binary::{PATIENCE, Server, err, json, run, stadium, wait_for};
use stadium_testing::small_disk::SmallDisk;

/// Bytes of a full disk that are left: the rest of a block that a small file takes.
const ROOM: u64 = 1 << 20;

/// Restores that are tried for each point at which one is to be cut off.
const TRIES: usize = 20;

/// A stopped server's directory with 40 jobs of 64 KiB, and a backup of it.
fn with_backup(place: &Path) -> (tempfile::TempDir, String) {
    let url = format!("file://{}/backups", place.display());
    let mut server = Server::trial();
    let payload = "x".repeat(64 << 10);
    let payload = payload.as_str();
    server.does(&[&["queue", "put", "mails"][..], &[payload; 10]].concat());
    for _ in 0..3 {
        server.does(&[&["queue", "put", "mails"][..], &[payload; 10]].concat());
    }
    server.signal("TERM");
    assert!(server.ended().success());
    let data = server.into_data();
    let created = run(&["backup", "create", &data.path().display().to_string(), "--to", &url]);
    assert!(created.status.success(), "{}", err(&created));
    (data, url)
}

/// A server on a directory; it must refuse to start.
fn refusal(data: &Path) -> Output {
    let data = data.display().to_string();
    let serve =
        ["serve", "--trial", "--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"];
    run(&[&serve[..], &["--data", &data]].concat())
}

/// Kills a restore once the point is there. Where that leaves half a directory, no server serves
/// it, and the next restore makes it whole. Removes the directory.
fn is_cut_off(url: &str, data: &Path, point: &str) -> bool {
    let shown = data.display().to_string();
    let restore =
        stadium(&["restore", url, "--data", &shown]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut restore = restore.expect("it starts");
    let deadline = Instant::now() + PATIENCE;
    while restore.try_wait().expect("it is our child").is_none() && !data.join(point).exists() {
        assert!(Instant::now() < deadline, "{point}: the restore goes on and on");
        std::thread::yield_now();
    }
    restore.kill().expect("it is our child");
    restore.wait().expect("it is our child");
    let is_half = data.join("restore.unfinished").exists();
    if is_half {
        let refused = refusal(data);
        let why = err(&refused);
        assert!(!refused.status.success() && why.contains("NODE-001"), "{point}: {why}");
        assert!(why.contains("stadium restore"), "{point}: {why}");
        let created = run(&["backup", "create", &shown, "--to", &format!("file://{shown}.backups")]);
        assert!(err(&created).contains("ARC-008"), "{point}: {}", err(&created));
        assert_eq!(jobs(&restored(url, data, &[])), 40, "{point}");
    }
    let verified = run(&["backup", "list", url]);
    assert!(verified.status.success());
    let again = run(&["restore", url, "--data", &shown]);
    assert!(err(&again).contains("ARC-010"), "{point}: it is whole: {}", err(&again));
    fs::remove_dir_all(data).expect("it is ours");
    is_half
}

#[test]
fn a_server_never_serves_half_a_restore_and_the_next_restore_makes_it_whole() {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let (_data, url) = with_backup(place.path());
    let mut cut_off = 0;
    // Each is there at a later point of the restore than the one before.
    let points = [
        "restore.unfinished",
        "restore.work/shards/shard-0000/journal",
        "restore.work/shards/shard-0001/journal",
        "restore.work/api-keys.toml",
        "api-keys.toml",
    ];
    for point in points {
        let data = place.path().join("copy");
        // A restore may have passed the point, or have ended, before it is seen there.
        if (0..TRIES).any(|_| is_cut_off(&url, &data, point)) {
            cut_off += 1;
        }
    }
    assert!(cut_off >= 3, "{cut_off} of {} restores were cut off", points.len());
}

#[test]
fn a_restore_onto_a_full_disk_leaves_the_directory_empty() {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let (_data, url) = with_backup(place.path());
    let small = tempfile::tempdir().expect("a temporary directory can be made");
    let disk = SmallDisk::mount(small.path()).expect("root mounts");
    let ballast = disk.fill(ROOM).expect("there is room");
    let data = small.path().join("data");
    let shown = data.display().to_string();
    let full = run(&["restore", &url, "--data", &shown]);
    assert_eq!(full.status.code(), Some(1));
    assert!(err(&full).contains("No space left") && err(&full).contains("ARC-020"), "{}", err(&full));
    assert!(!data.exists(), "the directory was not there before");
    fs::remove_file(ballast).expect("it is ours");
    // The root of a mounted disk is a directory that cannot be renamed.
    assert_eq!(jobs(&restored(&url, small.path(), &[])), 40);
}

#[test]
fn a_full_store_stops_no_server_and_the_next_backup_is_whole() {
    let small = tempfile::tempdir().expect("a temporary directory can be made");
    let disk = SmallDisk::mount(small.path()).expect("root mounts");
    let url = format!("file://{}/backups", small.path().display());
    let arguments = settings(&url);
    let mut server = Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for("a backup", || newest(&url));
    let ballast = disk.fill(ROOM).expect("there is room");
    let payload = "x".repeat(64 << 10);
    for _ in 0..10 {
        server.does(&[&["queue", "put", "mails"][..], &[payload.as_str(); 10]].concat());
    }
    // The line of the value: that of the help has the same beginning.
    let failing = |server: &Server| {
        let metrics = server.prints(&["api", "GET", "/metrics"]);
        metrics.lines().any(|line| line == "stadium_backup_failing 1")
    };
    wait_for("a backup that fails", || failing(&server).then_some(()));
    server.does(&["queue", "put", "mails", "while it is full"]);
    // The backups that are there are still whole.
    let verified = run(&["backup", "verify", &url]);
    assert!(verified.status.success(), "{}", err(&verified));
    fs::remove_file(ballast).expect("it is ours");
    wait_for("a backup that is stored", || (!failing(&server)).then_some(()));
    server.signal("TERM");
    assert!(server.ended().success());
    let copy = tempfile::tempdir().expect("a temporary directory can be made");
    assert_eq!(jobs(&restored(&url, &copy.path().join("data"), &[])), 101);

    // Not even a marker has room, and old backups can be removed all the same.
    let ballast = disk.fill(0).expect("there is room");
    let pruned = run(&["backup", "prune", &url, "--keep", "1", "--grace", "0s", "--json"]);
    assert!(pruned.status.success(), "{}", err(&pruned));
    assert_eq!(json(&pruned)["kept"], 1);
    fs::remove_file(ballast).expect("it is ours");

    let ballast = disk.fill(ROOM).expect("there is room");
    let data = server.into_data();
    let data = data.path().display().to_string();
    let other = format!("file://{}/other", small.path().display());
    let full = run(&["backup", "create", &data, "--to", &other]);
    assert!(err(&full).contains("ARC-020"), "{}", err(&full));
    fs::remove_file(ballast).expect("it is ours");
    let created = run(&["backup", "create", &data, "--to", &other, "--json"]);
    assert!(created.status.success(), "{}", err(&created));
    assert!(run(&["backup", "verify", &other]).status.success());
}

#[test]
fn the_configuration_and_its_files_come_back_and_secrets_only_with_the_key() {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).expect("it is written");
        path.display().to_string()
    };
    let rules = file("rules.toml", "[[rule]]\nallow = [\"publish\"]\ntopics = [\"a\"]\n");
    let key = file("backup.key", &"k".repeat(40));
    let wrong = file("wrong.key", &"w".repeat(40));
    let url = format!("file://{}/backups", place.path().display());
    let mut arguments = settings(&url);
    for setting in [format!("auth.rules_file={rules}"), format!("backup.secrets_key_file={key}")] {
        arguments.extend(["--set".to_owned(), setting]);
    }
    let mut server = Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let before = newest(&url).unwrap_or(0);
    wait_for("a backup", || newest(&url).filter(|number| *number >= before + 2));
    server.signal("TERM");
    assert!(server.ended().success());
    let admin = fs::read(server.data().join("admin.key")).expect("the server made one");

    let data = place.path().join("copy");
    let shown = data.display().to_string();
    let other = run(&["restore", &url, "--data", &shown, "--secrets-key", &wrong]);
    assert!(err(&other).contains("ARC-019") && !data.exists(), "{}", err(&other));
    let report = restored(&url, &data, &["--secrets-key", &key]);
    let settings: Vec<&str> = report["configuration"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|part| part["setting"].as_str().expect("a name"))
        .collect();
    assert_eq!(settings, ["auth.rules_file", "stadium.toml"], "{report}");
    let back = |name: &str| data.join("configuration").join(name);
    assert_eq!(fs::read(back("auth.rules_file")).ok(), fs::read(&rules).ok());
    let checked = run(&["config", "check", "--offline", &back("stadium.toml").display().to_string()]);
    assert!(checked.status.success(), "{}", err(&checked));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&back("auth.rules_file")), mode(Path::new(&rules)));
    assert_eq!((mode(&data.join("api-keys.toml")), mode(&data.join("admin.key"))), (0o600, 0o600));
    assert_eq!(fs::read(data.join("admin.key")).expect("it was sealed"), admin);

    let plain = place.path().join("plain");
    let report = restored(&url, &plain, &[]);
    assert!(report["sealed"].as_array().expect("a list").contains(&"admin.key".into()), "{report}");
    assert!(!plain.join("admin.key").exists());
    let found = json(&run(&["backup", "list", &url, "--json"]));
    assert!(!found.to_string().contains("kkkk"), "the secret is in no backup");
}
