//! Traces over the nodes of a cluster: from a call through any node, over the owner of the shard,
//! its journal and the link, to the acknowledgement of a device that another node holds.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::api::Api;
use stadium_testing::deadline::until;
use stadium_testing::device::Device;
use stadium_testing::otlp::{Kind, Receiver, Span};

use crate::cluster::{NODES, PATIENCE, SHARDS, Stage, agree, owners};
use crate::push_platform::{push, reader, register};

const CALLER: &str = "00f067aa0ba902b7";
const REQUEST: &str = "POST /api/apps/{app}/pushes";
const DELIVERY: &str = "publish inbox/{device}";

/// The node that exported a span, by its name.
fn node(span: &Span) -> &str {
    span.process.get("stadium.node").map_or("", String::as_str)
}

/// The only span with this name.
fn only<'a>(spans: &'a [Span], name: &str) -> Result<&'a Span> {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let [span] = found[..] else { anyhow::bail!("{} spans {name} in {spans:#?}", found.len()) };
    Ok(span)
}

/// The span that another one belongs to.
fn parent<'a>(spans: &'a [Span], span: &Span) -> Result<&'a Span> {
    let parent = spans.iter().find(|other| other.id == span.parent);
    parent.with_context(|| format!("no parent of {span:#?} in {spans:#?}"))
}

/// Whether all spans of a push are there: each has its parent, and the command reached the journal.
fn is_whole(spans: &[Span]) -> bool {
    let has_parent = |span: &Span| span.parent == CALLER || spans.iter().any(|other| other.id == span.parent);
    let has = |name: &str| spans.iter().any(|span| span.name == name);
    has(REQUEST) && has(DELIVERY) && has("journal.commit") && spans.iter().all(has_parent)
}

/// Pushes to a device through a node. Returns the spans of the trace, and what the message carried.
fn traced_push(
    receiver: &Receiver,
    api: &Api,
    device: &mut Device,
    trace: &str,
) -> Result<(Vec<Span>, String)> {
    let api = api.in_trace(&format!("00-{trace}-{CALLER}-01"));
    push(&api, "default", &json!({"audience": {"device": "phone"}, "message": trace}))?;
    let received = device.take()?;
    ensure!(received.payload == trace.as_bytes(), "{received:?}");
    let carried = received.user_property("traceparent").context("the message has no trace")?;
    Ok((receiver.until(PATIENCE, trace, is_whole)?, carried))
}

/// The span of a command for a shard is on the shard's owner: below the request where the owner was
/// asked itself, else below the span of the node that asked. Returns whether it was forwarded.
fn on_its_owner(spans: &[Span], shard: &Span, through: &str, owners: &[String]) -> Result<bool> {
    let request = only(spans, REQUEST)?;
    let number: usize = shard.attribute("stadium.shard").parse()?;
    ensure!(shard.kind == Some(Kind::Internal) && node(shard) == owners[number], "{shard:#?}");
    let above = parent(spans, shard)?;
    if above == request {
        ensure!(node(shard) == through, "{shard:#?}");
        return Ok(false);
    }
    ensure!(
        above.name == shard.name && above.kind == Some(Kind::Client) && node(above) == through,
        "{above:#?}"
    );
    ensure!(above.attribute("stadium.shard") == shard.attribute("stadium.shard"), "{above:#?}");
    ensure!(above.events == ["forwarded to the owner of the shard"], "{above:#?}");
    ensure!(shard.events == ["taken"] && node(shard) != through, "{shard:#?}");
    ensure!(above.start_ns <= shard.start_ns && shard.end_ns <= above.end_ns, "{above:#?} {shard:#?}");
    ensure!(above.parent == request.id, "{above:#?}");
    Ok(true)
}

/// One trace with the right parents, nodes and times. Returns whether a command was forwarded.
fn is_one_trace(spans: &[Span], carried: &str, through: &str, owners: &[String]) -> Result<bool> {
    let request = only(spans, REQUEST)?;
    ensure!(request.kind == Some(Kind::Server) && request.parent == CALLER, "{request:#?}");
    ensure!(node(request) == through, "{request:#?}");
    let delivery = only(spans, DELIVERY)?;
    ensure!(delivery.kind == Some(Kind::Producer) && delivery.parent == request.id, "{delivery:#?}");
    ensure!(node(delivery) == NODES[2] && delivery.traceparent() == carried, "{carried}: {delivery:#?}");
    ensure!(delivery.events == ["sent", "acknowledged"] && delivery.error.is_none(), "{delivery:#?}");
    let mut was_forwarded = false;
    for commit in spans.iter().filter(|span| span.name == "journal.commit") {
        let shard = parent(spans, commit)?;
        ensure!(node(commit) == node(shard), "{commit:#?}");
        ensure!(shard.start_ns <= commit.start_ns && commit.end_ns <= shard.end_ns, "{shard:#?} {commit:#?}");
        was_forwarded |= on_its_owner(spans, shard, through, owners)?;
    }
    Ok(was_forwarded)
}

/// The owners of all shards, once each node has as many as the others: then the planner moves none.
fn balanced(api: &Api) -> Result<Vec<String>> {
    until(PATIENCE, "each node to own as many shards as the others", || {
        let has_its_share = |owners: &Vec<String>| {
            NODES
                .iter()
                .all(|node| owners.iter().filter(|owner| owner == node).count() == SHARDS / NODES.len())
        };
        Ok(owners(api)?.filter(has_its_share))
    })
}

#[test]
fn a_push_is_one_trace_through_any_node() -> Result<()> {
    let receiver = Receiver::start()?;
    let stage = Stage::with("traces", &receiver.settings())?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    agree(&apis, &NODES)?;
    register(&apis[0], "default", ["phone".to_owned()].into_iter())?;
    let mut phone = reader(stage.nodes[2].mqtt, "phone")?;
    let owners = balanced(&apis[0])?;

    let (mut forwarded, mut instances) = (0, BTreeSet::new());
    for (place, api) in apis.iter().enumerate() {
        let trace = format!("4bf92f3577b34da6a3ce929d0e0e473{place}");
        let (spans, carried) = traced_push(&receiver, api, &mut phone, &trace)?;
        forwarded += usize::from(is_one_trace(&spans, &carried, NODES[place], &owners)?);
        let instance = |span: &Span| span.process.get("service.instance.id").cloned();
        instances.extend(spans.iter().map(|span| (node(span).to_owned(), instance(span))));
    }
    // The shard that takes the push has one owner: the other two nodes asked that one.
    ensure!(forwarded == 2, "{forwarded} pushes were forwarded");
    let ids: BTreeSet<_> = instances.iter().map(|(_, id)| id).collect();
    ensure!(instances.len() == NODES.len() && ids.len() == NODES.len(), "{instances:?}");
    Ok(())
}
