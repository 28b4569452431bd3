//! `stadium apply` and `stadium export`: the difference, what is made of it, and what a failure leaves.
//!
//! Black box: the built binary, and a server whose state is read back over its API.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::binary::{Server, err, json, out, run, run_in};

const SITE: &str = r#"
[assets.COIN]
scale = 2

[apps.shop]
register_at_connect = false
expiry_s = 86400
cap = { pushes = 3, within_s = 86400 }
device_writable = { tags = ["news-*"], attributes = ["language"] }
feeds = [
    { name = "presence", kinds = ["disconnected", "connected"] },
    { name = "crm", kinds = ["delivered", "opened"], webhook = { url = "http://127.0.0.1:1/hook", secret_file = "crm.secret" } },
]

[apps.shop.audiences]
vips = { and = [{ tag = "vip" }, { platform = "ios" }] }

[apps.shop.schedules.morning]
cron = "0 9 * * *"
time_zone = "local"
push = { audience = { saved = "vips" }, notification = { title = "Good morning, {{first_name|fan}}" } }

[queues.mail]
attempts_max = 3
backoff = { first_ms = 500, factor = 1.7, jitter = 0.3 }
dead_letter = { queue = "mail-dead" }
limit = { rate = 12.5 }

[queues.mail.schedules.nightly]
cron = "30 2 * * *"
time_zone = "Europe/Vienna"
job = { payload = { report = "daily" }, priority = 7 }

[keys.backend]
roles = ["sender"]
apps = ["shop"]
grants = ["queue.put:mail 100/s"]
secret_file = "keys/backend.key"
"#;

/// A server, and a folder with files for it.
struct Site {
    server: Server,
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n";
        std::fs::write(folder.path().join("crm.secret"), secret).expect("it is writable");
        Self { server: Server::trial(), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, text: &str) {
        std::fs::write(self.path("site.toml"), text).expect("it is writable");
    }

    fn runs(&self, arguments: &[&str]) -> Output {
        let data = self.server.data().display().to_string();
        run_in(self.folder.path(), &[arguments, &["--data", &data]].concat())
    }

    fn applies(&self, flags: &[&str]) -> String {
        let done = self.runs(&[&["apply", "site.toml"], flags].concat());
        assert!(done.status.success(), "{flags:?}: {}", err(&done));
        out(&done)
    }

    fn fails(&self, code: i32, flags: &[&str], why: &str) {
        let failed = self.runs(&[&["apply", "site.toml"], flags].concat());
        assert_eq!(failed.status.code(), Some(code), "{flags:?}: {} {}", out(&failed), err(&failed));
        assert!(err(&failed).contains(why), "{why:?} is not in {}", err(&failed));
    }

    fn asks(&self, path: &str) -> Value {
        json(&self.runs(&["api", "GET", path]))
    }
}

#[test]
fn a_file_is_applied_once_and_then_nothing_changes() {
    let site = Site::new();
    site.write(SITE);
    let shown = site.applies(&["--dry-run"]);
    assert!(shown.contains("  + app shop") && shown.contains("attempts_max: 3"), "{shown}");
    assert!(!shown.contains("whsec_") && shown.contains("7 to make"), "{shown}");
    assert!(!site.asks("/api/queues").to_string().contains("\"mail\""));

    let done = site.applies(&["--yes"]);
    assert!(done.contains("7 changes made"), "{done}");
    assert_eq!(site.asks("/api/apps/shop")["settings"]["cap"]["pushes"], 3);
    assert_eq!(site.asks("/api/queues/mail")["settings"]["dead_letter"]["queue"], "mail-dead");
    let schedule = site.asks("/api/apps/shop/schedules")["schedules"][0].clone();
    assert_eq!(schedule["name"], "morning");
    let mode = std::fs::metadata(site.path("keys/backend.key")).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Again: nothing differs, whatever the server made of the values.
    let again = site.applies(&["--yes"]);
    assert!(again.contains("no changes: 7 as declared"), "{again}");
    // The key works, within its rights.
    let key = site.path("keys/backend.key").display().to_string();
    let put = site.runs(&["queue", "put", "mail", "a letter", "--key-file", &key]);
    assert!(put.status.success(), "{}", err(&put));
    assert_eq!(site.runs(&["queue", "declare", "other", "--key-file", &key]).status.code(), Some(1));
}

#[test]
fn only_what_differs_is_changed() {
    let site = Site::new();
    site.write(SITE);
    site.applies(&["--yes"]);
    let changed = SITE
        .replace("attempts_max = 3", "attempts_max = 5")
        .replace("report = \"daily\"", "report = \"weekly\"")
        .replace("{ platform = \"ios\" }", "{ platform = \"web\" }");
    site.write(&changed);
    let shown = site.applies(&["--dry-run"]);
    assert!(shown.contains("  ~ queue mail\n      attempts_max: 3 -> 5\n"), "{shown}");
    assert!(shown.contains("  ~ audience shop/vips") && shown.contains("3 to change"), "{shown}");
    assert!(shown.contains("  ~ queue schedule mail/nightly\n      job.payload: "), "{shown}");
    let done: Value = json(&site.runs(&["apply", "site.toml", "--yes", "--json"]));
    assert_eq!((done["made"].clone(), done["changes"][0]["action"].clone()), (3.into(), "change".into()));
    // Things that a file leaves out stay.
    site.write("[queues.mail]\nlease_ms = 5000\n");
    site.applies(&["--yes"]);
    assert_eq!(site.asks("/api/queues/mail")["settings"]["attempts_max"], 5);
    // A secret that is never shown is written on request.
    site.write(&changed);
    assert!(site.applies(&["--dry-run", "--rewrite"]).contains("~ queue schedule mail/nightly"));
}

#[test]
fn removal_is_asked_for_and_spares_what_the_file_is_not_about() {
    let site = Site::new();
    site.write(SITE);
    site.applies(&["--yes"]);
    for arguments in [
        &["queue", "declare", "old"][..],
        &["app", "set", "gone"],
        &["key", "create", "lost", "--role", "viewer"],
    ] {
        assert!(site.runs(arguments).status.success());
    }
    site.write("[queues.mail]\nattempts_max = 3\n");
    let shown = site.applies(&["--dry-run"]);
    assert!(shown.contains("no changes"), "{shown}");
    let shown = site.applies(&["--dry-run", "--prune"]);
    assert!(shown.contains("  - queue old") && shown.contains("  - queue schedule mail/nightly"), "{shown}");
    assert!(!shown.contains("gone") && !shown.contains("lost") && !shown.contains("events."), "{shown}");
    site.fails(2, &["--prune"], "use --yes");
    site.applies(&["--prune", "--yes"]);
    let left = site.asks("/api/queues").to_string();
    assert!(!left.contains("\"old\"") && left.contains("\"mail\""), "{left}");

    site.write("[apps.shop]\n[keys]\n");
    let shown = site.applies(&["--prune", "--dry-run"]);
    for removed in
        ["- app gone", "- audience shop/vips", "- push schedule shop/morning", "- key lost", "- key backend"]
    {
        assert!(shown.contains(removed), "{removed}: {shown}");
    }
    assert!(!shown.contains("app default") && !shown.contains("admin"), "{shown}");
    site.applies(&["--prune", "--yes"]);
    assert!(site.runs(&["key", "list"]).status.success(), "the admin's key is still there");
}

#[test]
fn the_first_failure_ends_it_and_says_what_was_done() {
    let site = Site::new();
    site.write("[queues.a]\nattempts_max = 3\n[queues.b]\nattempts_max = 0\n[queues.c]\n");
    site.fails(1, &["--yes"], "queue b: ");
    site.fails(1, &["--yes"], "0 of 2 changes were made; 2 were not");
    let names = site.asks("/api/queues").to_string();
    assert!(names.contains("\"a\"") && !names.contains("\"c\""), "{names}");
    // Mended, it goes on.
    site.write("[queues.a]\nattempts_max = 3\n[queues.b]\nattempts_max = 1\n[queues.c]\n");
    assert!(site.applies(&["--yes"]).contains("2 changes made"));
}

#[test]
fn mistakes_are_found_before_anything_changes() {
    let site = Site::new();
    for (text, why) in [
        ("[queues.a]\n[queue.b]\n", "queue: there is no such field"),
        ("[queues.a]\nattempts = 3\n", "queues.a.attempts: there is no such field; there are attempts_max"),
        ("[keys.k]\nroles = [\"viewer\"]\n", "keys.k.secret_file: it is needed"),
        ("[queues.a\n", "line 1"),
    ] {
        site.write(text);
        site.fails(2, &["--yes"], why);
    }
    site.write("[queues.a]\n[apps.shop]\nfeeds = [{ name = \"f\", kinds = [\"opened\"], webhook = { url = \"http://a\", secret_file = \"none\" } }]\n");
    site.fails(1, &["--yes"], "the secret file ");
    // A secret that is there is never overwritten.
    std::fs::write(site.path("my.key"), "mine").expect("it is writable");
    site.write("[queues.a]\n[keys.k]\nroles = [\"viewer\"]\nsecret_file = \"my.key\"\n");
    site.fails(1, &["--yes"], "is there already: move it away");
    assert!(!site.asks("/api/queues").to_string().contains("\"a\""));
    let missing = run(&["apply", "no-such.toml", "--url", "127.0.0.1:1"]);
    assert!(err(&missing).contains("no-such.toml cannot be read"), "{}", err(&missing));
}

#[test]
fn a_key_with_other_rights_is_replaced_on_request_only() {
    let site = Site::new();
    let with = |role: &str| format!("[keys.k]\nroles = [\"{role}\"]\nsecret_file = \"k.key\"\n");
    site.write(&with("viewer"));
    site.applies(&["--yes"]);
    let secret = || std::fs::read_to_string(site.path("k.key")).expect("it was written").trim().to_owned();
    let before = secret();
    site.write(&with("worker"));
    site.fails(1, &["--yes"], "--replace-keys");
    assert_eq!(secret(), before);
    assert!(site.applies(&["--dry-run"]).contains("-/+ key k"));
    site.applies(&["--yes", "--replace-keys"]);
    assert_ne!(secret(), before);
    let put = |key: &str| site.runs(&["queue", "put", "q", "job", "--key", key]).status.code();
    assert_eq!((put(&secret()), put(&before)), (Some(0), Some(1)));
}

#[test]
fn an_export_applies_to_another_server() {
    let (site, other) = (Site::new(), Site::new());
    site.write(SITE);
    site.applies(&["--yes"]);
    let text = out(&site.runs(&["export"]));
    assert!(text.contains("[queues.mail.schedules.nightly.job]") && !text.contains("whsec_"), "{text}");
    // A webhook needs a secret where there is none yet.
    let url = "url = \"http://127.0.0.1:1/hook\"\n";
    assert!(text.contains(url), "{text}");
    other.write(&text.replace(url, &format!("{url}secret_file = \"crm.secret\"\n")));
    other.applies(&["--yes"]);
    other.write(&text);
    assert!(other.applies(&["--yes"]).contains("no changes"));
    let exported = |site: &Site| json(&site.runs(&["export", "--json"]));
    assert_eq!(exported(&site), exported(&other));
}

#[test]
fn the_example_is_the_one_of_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("it is there");
    let (page, example) = (read("docs/apply.md"), read("examples/site.toml"));
    let (_, declared) = example.split_once("\n\n").expect("a comment comes first");
    assert!(
        page.contains(&format!("```toml\n{declared}```")),
        "docs/apply.md shows another examples/site.toml"
    );
}

#[test]
fn the_documented_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/apply.schema.json");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == out(&run(&["apply", "--schema"])),
        "docs/reference/apply.schema.json is stale: cargo xtask fix"
    );
}
