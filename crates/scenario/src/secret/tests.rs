//! Tables of texts with secrets, and the same texts as they are shown.
//!
//! Passwords that are made up hold `hunter`, so that one that was not hidden is found by that word.

use super::{HIDDEN, Secrets};
use crate::value::Value;

const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLW9mLWEtdG9rZW4";
const KEY: &str = "sk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

#[test]
fn secrets_are_hidden_by_name_and_by_look() {
    let secrets = Secrets::default();
    for (text, shown) in [
        ("GET /a?key=hunter2&x=1", "GET /a?key=<secret>&x=1"),
        (
            "{\"user\": \"ada\", \"password\": \"hun ter2\"}",
            "{\"user\": \"ada\", \"password\": \"<secret>\"}",
        ),
        ("{\\\"token\\\":\\\"hunter2\\\"}", "{\\\"token\\\":\\\"<secret>\\\"}"),
        ("Authorization: Bearer hunter2", "Authorization: Bearer <secret>"),
        ("-H \"authorization: hunter2 x\" -d a", "-H \"authorization: <secret>\" -d a"),
        ("Cookie: a=b; sid=c", "Cookie: <secret>"),
        ("X-Api-Key: hunter", "X-Api-Key: <secret>"),
        ("password: hunter2", "password: <secret>"),
        ("got Bearer aB3.x-_~+/=, and more", "got Bearer <secret>, and more"),
        ("Basic dXNlcjpodW50ZXIy", "Basic <secret>"),
        ("https://ada:hunter2@host:1/x", "https://<secret>@host:1/x"),
        ("redis://hunter2@host", "redis://<secret>@host"),
        ("token == 'hunter2' and x", "token == '<secret>' and x"),
        (
            "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----<secret>-----END PRIVATE KEY-----",
        ),
    ] {
        assert_eq!(secrets.text(text), shown);
        assert_eq!(secrets.text(shown), shown, "what is hidden stays as it is");
    }
    for secret in [JWT, KEY, "whsec_AAAABBBBCCCC"] {
        assert_eq!(secrets.text(&format!("got {secret}!")), "got <secret>!");
    }
}

#[test]
fn ordinary_texts_stay_as_they_are() {
    let secrets = Secrets::default();
    for text in [
        "this worker asks for a key: --worker-key, or STADIUM_LOAD_KEY",
        "bearer certificates, basic authentication",
        "GET /keys?page=2&token_url=x",
        "check: $.token is there",
        "key=${api_key}&token=${ token }",
        "Authorization: Bearer ${token}",
        "http://127.0.0.1:8080/a@b",
        "response.p99 < 50ms",
        "https://${user}:${password}@host/",
    ] {
        assert_eq!(secrets.text(text), text);
    }
}

#[test]
fn a_scenario_is_shown_without_its_secrets_and_can_still_be_read() {
    let text = r#"# curl -H "Authorization: Bearer h1unter-comment"
name = "n"                       # kept
[variables]
api_key = "hunter2-variable"
pin_token = 123456
place = "hall"
[secrets]
worker_key = { env = "SOME_VARIABLE", file = "some.file" }
[targets.token]
url = "https://ada:hunter2-url@127.0.0.1:1"
headers = { Authorization = "Bearer hunter2-header", X-Api-Key = "${api_key}", accept = "*/*" }
tls = { certificate = "c.pem", key = "k.pem" }
[data.key]
rows = [{ name = "ada", password = 'hunter2-row' }]
[[phases]]
duration = "1s"
[[sessions]]
name = "s"
[[sessions.steps]]
post = "/login?token=hunter2-query"
json = { user = "ada", password = "hunter2-json", credentials = { a = "hunter2-nested" } }
extract = { token = "$.token" }
check = { json = { "$.secret" = "hunter2-check" } }
[[sessions.steps]]
set = { token = "'hunter2-set' + name", n = "n + 1" }
[[sessions.steps]]
post = "/body"
body = """{"password": "hunter2-body", "n": 1}"""
"#;
    let shown = Secrets::default().scenario(text);
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(!shown.contains("123456"), "{shown}");
    for kept in [
        "name = \"n\"                       # kept",
        "place = \"hall\"",
        "{ env = \"SOME_VARIABLE\", file = \"some.file\" }",
        "Authorization = \"Bearer <secret>\", X-Api-Key = \"${api_key}\", accept = \"*/*\"",
        "certificate = \"c.pem\", key = \"k.pem\"",
        "extract = { token = \"$.token\" }",
        "set = { token = \"'<secret>' + name\", n = \"n + 1\" }",
        "{\"password\": \"<secret>\", \"n\": 1}",
        "post = \"/login?token=<secret>\"",
    ] {
        assert!(shown.contains(kept), "{kept}\n{shown}");
    }
    let read = |text: &str| text.parse::<toml::Table>().expect("TOML");
    assert_eq!(read(&shown).keys().collect::<Vec<_>>(), read(text).keys().collect::<Vec<_>>());
    assert_eq!(Secrets::default().scenario(&shown), shown, "what is hidden stays as it is");
}

#[test]
fn a_declared_secret_is_hidden_wherever_it_occurs() {
    let text = "[secrets]\nown = {}\n[targets.a]\nurl = \"http://h\"\n[[phases]]\nduration = \"1s\"\n\
                [[sessions]]\nname = \"s\"\nsteps = [{ get = \"/${own}\" }]\n";
    let mut program = crate::parse(text, &mut |_| Err("no files".to_owned())).expect("it is right");
    assert_eq!(program.secrets.len(), 1);
    let slot = usize::from(program.secrets[0].slot.0);
    program.initial[slot] = Value::from("swordfish \"9\"/");
    let secrets = Secrets::of(&program);
    for spelling in ["swordfish \"9\"/", "swordfish \\\"9\\\"/", "swordfish%20%229%22%2F"] {
        assert_eq!(secrets.text(&format!("reset by {spelling} x")), format!("reset by {HIDDEN} x"));
    }
    assert!(!format!("{secrets:?}").contains("swordfish"));
}

#[test]
fn what_a_secret_name_holds_is_hidden_in_other_places_too() {
    let text = "[targets.a]\nurl = \"http://h\"\n[[phases]]\nduration = \"1s\"\n[[sessions]]\nname = \"s\"\n\
                steps = [{ get = \"/\", check = { json = { \"$.password\" = \"hunter2-x\" } } }]\n";
    let program = crate::parse(text, &mut |_| Err("no files".to_owned())).expect("it is right");
    let secrets = Secrets::of(&program);
    let shown: Vec<String> = program.steps[0].checks.iter().map(|check| secrets.text(&check.text)).collect();
    assert!(shown.iter().any(|text| text.contains(HIDDEN)), "{shown:?}");
    assert!(!shown.iter().any(|text| text.contains("hunter2")), "{shown:?}");
}

#[test]
fn a_command_line_is_shown_without_secrets() {
    let secrets = Secrets::default();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let line = "stadium load run x.toml --set api_key=hunter2 --set=token=hun=ter2 --set place=hall \
                --worker-key hunter2 --worker-key=hunter2 --target api=ada:1 --target http://a:hunter2@h:1 \
                --threshold errors<1% --upload s3://b?sig=hunter2";
    assert_eq!(
        secrets.command(&words(line)).join(" "),
        "stadium load run x.toml --set api_key=<secret> --set=token=<secret> --set place=hall \
         --worker-key <secret> --worker-key=<secret> --target api=ada:1 --target http://<secret>@h:1 \
         --threshold errors<1% --upload s3://b?sig=<secret>"
    );
}
