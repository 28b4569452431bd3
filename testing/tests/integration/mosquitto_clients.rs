//! mosquitto_pub and mosquitto_sub against the server: 3.1.1 and 5, TCP and TLS.
//!
//! The programs are Debian's; the suite fails and names the package where they are missing.

use anyhow::{Result, ensure};
use stadium_testing::certificates::Authority;
use stadium_testing::clients::{Subscriber, must_publish, publish};
use stadium_testing::ports;
use stadium_testing::server::{Plan, Server};

const VERSIONS: [&str; 2] = ["mqttv311", "mqttv5"];

fn test(test: impl Fn(&Server, &str, &str) -> Result<()>) -> Result<()> {
    for loops in [1, 2] {
        let mut server = Server::start(Plan { loops, ..Plan::default() })?;
        let port = server.mqtt.port().to_string();
        for version in VERSIONS {
            test(&server, version, &port)?;
        }
        server.must_still_serve()?;
    }
    Ok(())
}

#[test]
fn messages_pass_at_every_qos() -> Result<()> {
    test(|_, version, port| {
        for qos in ["0", "1", "2"] {
            let mut reader =
                Subscriber::start(&["-p", port, "-V", version, "-q", qos, "-t", "goal/+", "-F", "%t %q %p"])?;
            must_publish(&["-p", port, "-V", version, "-q", qos, "-t", "goal/home", "-m", "1:0"])?;
            let line = reader.message()?;
            ensure!(line == format!("goal/home {qos} 1:0"), "{line}");
        }
        Ok(())
    })
}

#[test]
fn retained_messages_are_set_and_cleared() -> Result<()> {
    test(|_, version, port| {
        must_publish(&["-p", port, "-V", version, "-q", "1", "-r", "-t", "score", "-m", "2:1"])?;
        let mut late =
            Subscriber::start(&["-p", port, "-V", version, "-q", "1", "-t", "score", "-F", "%r %p"])?;
        ensure!(late.message()? == "1 2:1");
        must_publish(&["-p", port, "-V", version, "-q", "1", "-r", "-n", "-t", "score"])?;
        let mut later =
            Subscriber::start(&["-p", port, "-V", version, "-q", "1", "-t", "score", "-F", "%r %p"])?;
        must_publish(&["-p", port, "-V", version, "-q", "1", "-t", "score", "-m", "live"])?;
        ensure!(later.message()? == "0 live");
        Ok(())
    })
}

#[test]
fn the_will_of_a_killed_client_is_published() -> Result<()> {
    test(|_, version, port| {
        let mut watcher =
            Subscriber::start(&["-p", port, "-V", version, "-q", "1", "-t", "wills/#", "-F", "%t %p"])?;
        let dying = Subscriber::start(&[
            "-p",
            port,
            "-V",
            version,
            "-t",
            "x",
            "--will-topic",
            "wills/a",
            "--will-payload",
            "gone",
            "--will-qos",
            "1",
        ])?;
        dying.kill()?;
        ensure!(watcher.message()? == "wills/a gone");
        Ok(())
    })
}

#[test]
fn a_persistent_session_keeps_messages_in_order() -> Result<()> {
    test(|_, version, port| {
        for qos in ["1", "2"] {
            let id = format!("kept-{version}-{qos}");
            let mut session =
                vec!["-p", port, "-V", version, "-i", &id, "-c", "-q", "2", "-t", "news", "-F", "%p"];
            if version == "mqttv5" {
                session.extend(["-x", "600"]);
            }
            // -E: subscribe and leave.
            let mut leaving = Subscriber::spawn(&[&session[..], &["-E"]].concat())?;
            leaving.prints("DISCONNECT")?;
            for number in 0..20 {
                let number = number.to_string();
                must_publish(&["-p", port, "-V", version, "-q", qos, "-t", "news", "-m", &number])?;
            }
            let mut back = Subscriber::spawn(&session)?;
            for number in 0..20 {
                let line = back.message()?;
                ensure!(line == number.to_string(), "expected {number}, got {line}");
            }
        }
        Ok(())
    })
}

#[test]
fn a_second_client_with_the_same_id_takes_over() -> Result<()> {
    test(|_, version, port| {
        let id = format!("same-{version}");
        let mut old = Subscriber::start(&["-p", port, "-V", version, "-i", &id, "-t", "t"])?;
        let mut fresh = Subscriber::start(&["-p", port, "-V", version, "-i", &id, "-t", "t", "-q", "1"])?;
        if version == "mqttv5" {
            old.prints("DISCONNECT")?;
        }
        // The old one would come back at once and take over in its turn.
        old.kill()?;
        drop(fresh);
        fresh = Subscriber::start(&["-p", port, "-V", version, "-i", &id, "-t", "t", "-q", "1"])?;
        must_publish(&["-p", port, "-V", version, "-q", "1", "-t", "t", "-m", "hello"])?;
        ensure!(fresh.message()? == "hello");
        Ok(())
    })
}

#[test]
fn a_shared_subscription_hands_each_message_to_one_member() -> Result<()> {
    test(|_, version, port| {
        let arguments =
            ["-p", port, "-V", version, "-q", "1", "-t", "$share/workers/work", "-C", "10", "-F", "%p"];
        let mut members = [Subscriber::start(&arguments)?, Subscriber::start(&arguments)?];
        for number in 0..20 {
            must_publish(&["-p", port, "-V", version, "-q", "1", "-t", "work", "-m", &number.to_string()])?;
        }
        let mut got = Vec::new();
        for member in &mut members {
            for _ in 0..10 {
                got.push(member.message()?.parse::<u32>()?);
            }
        }
        got.sort_unstable();
        ensure!(got == (0..20).collect::<Vec<_>>(), "{got:?}");
        Ok(())
    })
}

#[test]
fn version_5_properties_reach_the_other_side() -> Result<()> {
    test(|_, _, port| {
        let format = "%C %R %D %P %p";
        let mut reader =
            Subscriber::start(&["-p", port, "-V", "mqttv5", "-q", "1", "-t", "props", "-F", format])?;
        must_publish(&[
            "-p",
            port,
            "-V",
            "mqttv5",
            "-q",
            "1",
            "-t",
            "props",
            "-m",
            "x",
            "-D",
            "publish",
            "content-type",
            "text/plain",
            "-D",
            "publish",
            "response-topic",
            "back",
            "-D",
            "publish",
            "correlation-data",
            "c1",
            "-D",
            "publish",
            "user-property",
            "seat",
            "12F",
        ])?;
        let line = reader.message()?;
        ensure!(line == "text/plain back c1 seat:12F x", "{line}");
        Ok(())
    })
}

#[test]
fn tls_asks_for_certificates_as_configured() -> Result<()> {
    let (authority, other) = (Authority::new()?, Authority::new()?);
    let (own, device, stranger) =
        (authority.server()?, authority.device("phone")?, other.device("stranger")?);
    let path = |path: &std::path::Path| path.display().to_string();
    let (ca, other_ca) = (path(&authority.file()), path(&other.file()));
    let shown = |identity: &stadium_testing::certificates::Identity| {
        vec!["--cert".to_owned(), path(&identity.certificate), "--key".to_owned(), path(&identity.key)]
    };
    let cases = [
        ("none", vec![], true),
        ("optional", vec![], true),
        ("optional", shown(&device), true),
        ("optional", shown(&stranger), false),
        ("required", vec![], false),
        ("required", shown(&device), true),
        ("required", shown(&stranger), false),
    ];
    for (asks, arguments, welcome) in cases {
        let mut settings =
            format!("[mqtts]\ncertificate = {:?}\nkey = {:?}\n", path(&own.certificate), path(&own.key));
        if asks != "none" {
            settings += &format!("client_ca = {ca:?}\nclient_certificates = {asks:?}\n");
        }
        let address = ports::free()?;
        let mut server = Server::start(Plan { settings, tls: Some(address), ..Plan::default() })?;
        let port = address.port().to_string();
        for version in VERSIONS {
            let mut words =
                vec!["-p", &port, "-V", version, "--cafile", &ca, "-q", "1", "-t", "t", "-m", "x"];
            words.extend(arguments.iter().map(String::as_str));
            let output = publish(&words)?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success() == welcome, "{asks} {arguments:?}: {} {errors}", output.status);
        }
        let distrustful = publish(&["-p", &port, "--cafile", &other_ca, "-t", "t", "-m", "x"])?;
        ensure!(!distrustful.status.success(), "a client must not trust a server of another authority");
        server.must_still_serve()?;
    }
    Ok(())
}
