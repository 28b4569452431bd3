//! `stadium demo --nodes 3` as a person runs it, with a small crowd: a real etcd and a real broker that it starts
//! itself, three nodes, one of them killed, and what it tells in the end.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use stadium_testing::server::binary;

const DEVICES: u64 = 60;

#[test]
fn the_demo_kills_a_node_and_its_books_balance() -> Result<()> {
    let devices = DEVICES.to_string();
    let mut demo = Command::new(binary()?);
    demo.args(["demo", "--nodes", "3", "--devices", &devices, "--pushes", "3", "--json"]);
    // No Kafka of this machine but the one that all suites use.
    demo.env_remove("KAFKA_HOME").stdin(Stdio::null());
    let output = demo.output().context("it runs")?;
    let shown = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {shown}", output.status);
    let summary: Value = serde_json::from_slice(&output.stdout).context("one JSON object")?;

    let books = &summary["books"];
    let acknowledged = books["acknowledged"].as_u64().context("a number")?;
    ensure!(acknowledged > 0 && books["counted"] == acknowledged, "{books}");
    ensure!(
        (&books["lost"], &books["twice"], &books["unasked"]) == (&0.into(), &0.into(), &0.into()),
        "{books}"
    );
    let candidates = books["candidates"].as_array().context("a list")?;
    let votes: u64 = candidates.iter().filter_map(|candidate| candidate["votes"].as_u64()).sum();
    ensure!(
        votes == acknowledged && books["credit"] == books["debit"] && books["balance"] == true,
        "{books}"
    );

    // Three before the kill, one across it, and one through each node that is left: each to every device.
    let pushes = summary["pushes"].as_array().context("a list")?;
    ensure!(pushes.len() == 6 && pushes.iter().all(|push| push["delivered"] == DEVICES), "{pushes:?}");
    let through = |node: &str| pushes.iter().filter(|push| push["through"] == node).count();
    ensure!((through("node-1"), through("node-2"), through("node-3")) == (2, 1, 3), "{pushes:?}");
    ensure!(pushes.iter().filter(|push| push["during_takeover"] == true).count() == 1, "{pushes:?}");

    let kill = &summary["kill"];
    let owned = kill["shards"].as_u64().context("a number")?;
    let takers = kill["taken_by"].as_array().context("a list")?;
    let taken: u64 = takers.iter().filter_map(|taker| taker["shards"].as_u64()).sum();
    ensure!(kill["node"] == "node-2" && owned >= 7 && taken == owned, "{kill}");
    ensure!(
        takers.iter().all(|taker| ["node-1", "node-3"].map(Value::from).contains(&taker["node"])),
        "{kill}"
    );
    // Voters of the killed node asked the others, so that no vote went without an answer.
    ensure!(summary["votes"]["asked_again"].as_u64() > Some(0), "{}", summary["votes"]);
    Ok(())
}
