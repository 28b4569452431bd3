//! paho.mqtt.golang at its default settings publishes many messages at once, and loses no
//! connection.
//!
//! It speaks 3.1.1 and has no bound of its own for what is in flight. The program is testing/go; Go
//! builds it under target/.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::server::Server;

fn built() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("testing/ is in the workspace")?;
    let program = root.join("target/paho-go");
    let built = Command::new("go")
        .current_dir(root.join("testing/go"))
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .status()
        .context("cannot start go; install the Debian package golang-go")?;
    ensure!(built.success(), "Go cannot build testing/go");
    Ok(program)
}

#[test]
fn every_message_of_a_burst_arrives_and_no_connection_is_lost() -> Result<()> {
    let program = built()?;
    let mut server = Server::trial()?;
    let broker = format!("tcp://{}", server.mqtt);
    for qos in ["1", "2"] {
        for count in ["1000", "10000"] {
            let mut client = Command::new(&program);
            let output = client.args([&broker, qos, count]).stdin(Stdio::null()).output()?;
            let printed = String::from_utf8_lossy(&output.stdout);
            let wanted = format!("acknowledged={count} received={count} again=0 lost=0\n");
            let trouble = String::from_utf8_lossy(&output.stderr);
            ensure!(printed == wanted, "QoS {qos}, {count} messages: {printed}{trouble}\n{}", server.log());
        }
    }
    server.must_still_serve()
}
