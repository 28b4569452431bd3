//! Reports for people: tables, a letter for each shard's owner, a bar for each node.
//!
//! Colours and widths are those of all commands.

use stadium_cluster_admin::{
    AliveNode, Check, CopiedShard, CopyReport, DoctorReport, DrainReport, FilledReport, InitReport,
    LogReport, MemberReport, MoveReport, NodeCounts, NodeReport, NodesReport, ShardReport, ShardsReport,
    StatusReport, Verdict,
};
use stadium_membership::{NodeName, Request, Shard, ShardSet};

use crate::failure::Failure;
use crate::shown::{Table, clean, timestamp};
use crate::terminal::{Style, Terminal, count, short};

/// Shards in a row of the picture of owners.
const ROW: usize = 64;
/// Cells of the longest bar.
const BAR: usize = 32;
/// Letters of nodes, in the order of their names. Nodes beyond them share `?`.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The longest text of others in a cell.
const CELL: usize = 60;

/// Node names, and `-` for none.
fn or_dash(name: Option<&NodeName>) -> String {
    name.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn set(shards: &[Shard]) -> ShardSet {
    shards.iter().copied().collect()
}

/// `1 shard`, `2 shards`.
fn some(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn init(report: &InitReport, terminal: &Terminal) -> Result<(), Failure> {
    for warning in &report.warnings {
        terminal.note(format_args!("{} {warning}", terminal.err(Style::Warning, "warning:")));
    }
    let cluster = &report.cluster;
    let topic = if report.is_topic_made { "made" } else { "existed, with the right settings" };
    terminal.data(&format!(
        "{} cluster {} is made\n  id      {}\n  shards  {}\n  topic   {} ({topic})",
        terminal.out(Style::Good, "ok:"),
        terminal.out(Style::Name, &cluster.name),
        String::from(cluster.id),
        cluster.shards,
        report.topic,
    ))
}

pub(super) fn status(report: &StatusReport, terminal: &Terminal) -> Result<(), Failure> {
    let cluster = &report.cluster;
    let healthy = match report.is_healthy {
        true => terminal.out(Style::Good, "healthy"),
        false => terminal.out(Style::Bad, "not healthy"),
    };
    terminal.data(&format!(
        "{} {}  {healthy}\nid {}, {} shards, {} each, feature level {}, revision {}\n",
        terminal.out(Style::Strong, "Cluster"),
        terminal.out(Style::Name, &cluster.name),
        String::from(cluster.id),
        cluster.shards,
        some(report.standbys, "standby"),
        cluster.feature_level,
        report.revision,
    ))?;
    nodes_with_bars(report, terminal)?;
    owners(report, terminal)?;

    let owned = report.owners.len() - report.without_owner.len();
    let mut lines = vec![
        ("owned".to_owned(), owned.to_string(), None),
        problem("without owner", &report.without_owner),
        problem("few standbys", &report.few_standbys),
        problem("unreadable", &report.unreadable),
        ("moving".to_owned(), counted(&report.moving), None),
    ];
    lines.retain(|(name, value, _)| name != "unreadable" || value != "0");
    terminal.data("")?;
    for (name, value, style) in lines {
        let value = style.map_or_else(|| value.clone(), |style| terminal.out(style, &value).to_string());
        terminal.data(&format!("{name:<14} {value}"))?;
    }
    let requests: Vec<String> = report.requests.iter().map(request).collect();
    let requests = if requests.is_empty() { "none".to_owned() } else { requests.join(", ") };
    let balancing = if report.is_balancing { "on" } else { "off" };
    terminal.data(&format!("{:<14} {requests}\n{:<14} {balancing}", "requests", "balancing"))?;
    terminal.data(&format!("{:<14} {}\n", "planner", or_dash(report.planner.as_ref())))?;
    etcd(&report.etcd, terminal)
}

/// A count and the shards; bad where there are some.
fn problem(name: &str, shards: &[Shard]) -> (String, String, Option<Style>) {
    (name.to_owned(), counted(shards), (!shards.is_empty()).then_some(Style::Bad))
}

/// `0`, or a count and the shards.
fn counted(shards: &[Shard]) -> String {
    match shards.len() {
        0 => "0".to_owned(),
        count => format!("{count}: {}", clean(&set(shards).to_string(), CELL)),
    }
}

fn request(request: &Request) -> String {
    match request {
        Request::Move { shard, to } => format!("move {shard} to {to}"),
        Request::Drain { node } => format!("drain {node}"),
        Request::BalanceOff => "balance off".to_owned(),
    }
}

/// The letter of each node.
fn letter(nodes: &[NodeCounts], node: &NodeName) -> char {
    let place = nodes.iter().position(|one| one.node == *node);
    place.and_then(|place| LETTERS.chars().nth(place)).unwrap_or('?')
}

fn nodes_with_bars(report: &StatusReport, terminal: &Terminal) -> Result<(), Failure> {
    let most = report.nodes.iter().map(|node| node.owned + node.standby).max().unwrap_or(0);
    let cells = |count: usize| match most {
        0 => 0,
        most if most <= BAR => count,
        most => (count * BAR).div_ceil(most),
    };
    let alive = report.nodes.iter().filter(|node| node.is_alive).count();
    let known = report.nodes.len();
    terminal.data(&format!("{} {alive} alive, {known} known", terminal.out(Style::Strong, "Nodes")))?;
    let mut table = Table::new(&["", "node", "zone", "state", "owned>", "standby>", "█ owned ░ standby"]);
    for node in &report.nodes {
        table.row(vec![
            letter(&report.nodes, &node.node).to_string(),
            node.node.to_string(),
            clean(node.zone.as_deref().unwrap_or("-"), CELL),
            state(node.is_alive, node.is_draining).to_owned(),
            node.owned.to_string(),
            node.standby.to_string(),
            format!("{}{}", "█".repeat(cells(node.owned)), "░".repeat(cells(node.standby))),
        ]);
    }
    table.print(terminal)
}

/// The state of a node in a word.
fn state(is_alive: bool, is_draining: bool) -> &'static str {
    match (is_alive, is_draining) {
        (true, false) => "alive",
        (true, true) => "draining",
        (false, _) => "away",
    }
}

fn owners(report: &StatusReport, terminal: &Terminal) -> Result<(), Failure> {
    let title = terminal.out(Style::Strong, "Owners").to_string();
    terminal
        .data(&format!("\n{title} of shards 0 to {}; `.` has none", report.owners.len().saturating_sub(1)))?;
    for (row, owners) in report.owners.chunks(ROW).enumerate() {
        let letters: String = owners
            .iter()
            .map(|owner| owner.as_ref().map_or('.', |owner| letter(&report.nodes, owner)))
            .collect();
        terminal.data(&format!("{:>4}  {letters}", row * ROW))?;
    }
    Ok(())
}

fn etcd(members: &[MemberReport], terminal: &Terminal) -> Result<(), Failure> {
    let mut table = Table::new(&["etcd", "state", "version", "role", "revision>", "read>"]);
    for member in members {
        let dash = || "-".to_owned();
        table.row(vec![
            member.endpoint.clone(),
            member.error.as_ref().map_or_else(|| "healthy".to_owned(), |error| clean(error, CELL)),
            member.version.clone().unwrap_or_else(dash),
            match (member.version.is_some(), member.is_leader) {
                (true, true) => "leader".to_owned(),
                (true, false) => "follower".to_owned(),
                (false, _) => dash(),
            },
            member.revision.map_or_else(dash, |revision| revision.to_string()),
            member.read_ms.map_or_else(dash, |milliseconds| short(milliseconds / 1e3)),
        ]);
    }
    table.print(terminal)
}

pub(super) fn nodes(report: &NodesReport, terminal: &Terminal) -> Result<(), Failure> {
    if report.nodes.is_empty() {
        return terminal.data("no nodes");
    }
    let mut table = Table::new(&[
        "node",
        "zone",
        "state",
        "version",
        "levels",
        "load>",
        "owned>",
        "standby>",
        "in step>",
        "incarnation",
        "addresses",
    ]);
    for NodeReport { node, alive, is_alive, owned, standby, in_step, .. } in &report.nodes {
        let is_draining = report.nodes.iter().any(|one| one.node == *node && one.is_draining());
        let about =
            |shown: &dyn Fn(&AliveNode) -> String| alive.as_ref().map_or_else(|| "-".to_owned(), shown);
        let mut state = state(*is_alive, is_draining).to_owned();
        if report.planner.as_ref() == Some(node) {
            state.push_str(", plans");
        }
        table.row(vec![
            node.to_string(),
            about(&|node| clean(node.zone.as_deref().unwrap_or("-"), CELL)),
            state,
            about(&|node| clean(&node.versions.program, CELL)),
            about(&|node| format!("{}-{}", node.versions.level_min, node.versions.level_max)),
            about(&|node| format!("{:.0}%", node.load * 100.0)),
            owned.to_string(),
            standby.to_string(),
            in_step.to_string(),
            about(&|node| node.incarnation.clone()),
            about(&|node| {
                let addresses: Vec<String> =
                    node.addresses.iter().map(|(purpose, at)| format!("{purpose}={at}")).collect();
                clean(
                    if addresses.is_empty() { "-".to_owned() } else { addresses.join(" ") }.as_str(),
                    4 * CELL,
                )
            }),
        ]);
    }
    table.print(terminal)
}

pub(super) fn shards(report: &ShardsReport, terminal: &Terminal) -> Result<(), Failure> {
    if report.shards.is_empty() {
        return terminal.data(&format!("no such shard, of {}", report.all));
    }
    let mut table = Table::new(&["shard>", "owner", "standbys", "generation>", "successor", "problem"]);
    for shard in &report.shards {
        let ShardReport { owner, standbys, generation, successor, asked_to, problems, .. } = shard;
        let standbys: Vec<String> = standbys
            .iter()
            .map(|standby| match (standby.is_alive, standby.is_in_step) {
                (true, true) => format!("{}*", standby.node),
                (true, false) => standby.node.to_string(),
                (false, _) => format!("{} (away)", standby.node),
            })
            .collect();
        let problems: Vec<&str> = problems.iter().map(|problem| problem.words()).collect();
        table.row(vec![
            shard.shard.to_string(),
            or_dash(owner.as_ref()),
            if standbys.is_empty() { "-".to_owned() } else { standbys.join(" ") },
            generation.to_string(),
            match (successor, asked_to) {
                (Some(successor), _) => successor.to_string(),
                (None, Some(asked)) => format!("{asked} (asked for)"),
                (None, None) => "-".to_owned(),
            },
            if problems.is_empty() { "-".to_owned() } else { problems.join(", ") },
        ]);
    }
    table.print(terminal)?;
    terminal.note(terminal.err(Style::Faint, "* in step: it can take the shard over at once"));
    Ok(())
}

/// Milliseconds as a person reads them.
fn took(milliseconds: u64) -> String {
    short(milliseconds as f64 / 1e3)
}

pub(super) fn moved(report: &MoveReport, terminal: &Terminal) -> Result<(), Failure> {
    let MoveReport { shard, from, to, is_done, took_ms } = report;
    let (from, to) = (or_dash(from.as_ref()), or_dash(to.as_ref()));
    match (is_done, took_ms) {
        (true, Some(ms)) => terminal.data(&format!(
            "{} {to} owns shard {shard}, before it {from} did ({})",
            terminal.out(Style::Good, "ok:"),
            took(*ms)
        )),
        (true, None) => terminal.data(&format!("{to} owns shard {shard} already")),
        (false, _) => terminal.data(&format!("asked that {to} owns shard {shard}; now {from} does")),
    }
}

pub(super) fn undone_move(report: &MoveReport, terminal: &Terminal) -> Result<(), Failure> {
    let (shard, to) = (report.shard, or_dash(report.to.as_ref()));
    terminal.data(&format!("the request to move shard {shard} to {to} is taken back"))
}

pub(super) fn drained(report: &DrainReport, terminal: &Terminal) -> Result<(), Failure> {
    let DrainReport { node, is_leaving, owned_before, owned, standby, took_ms } = report;
    match (is_leaving, took_ms) {
        (false, _) => terminal.data(&format!("the request to drain {node} is taken back: it gets shards again")),
        (true, None) => terminal.data(&format!(
            "asked that {node} drains: it owns {}, and is a standby of {standby}",
            some(*owned, "shard")
        )),
        (true, Some(ms)) => terminal.data(&format!(
            "{} {node} owns no shard, {} handed over in {}; it is a standby of {standby} until others have copied them",
            terminal.out(Style::Good, "ok:"),
            owned_before,
            took(*ms)
        )),
    }
}

pub(super) fn doctor(report: &DoctorReport, brief: bool, terminal: &Terminal) -> Result<(), Failure> {
    for Check { area, verdict, finding, remedy } in &report.checks {
        if brief && *verdict == Verdict::Ok {
            continue;
        }
        let style = match verdict {
            Verdict::Ok => Style::Good,
            Verdict::Warning => Style::Warning,
            Verdict::Problem => Style::Bad,
        };
        let word = terminal.out(style, format!("{:<7}", verdict.name()));
        terminal.data(&format!("{word}  {:<6}  {}", area.name(), clean(finding, 400)))?;
        if let Some(remedy) = remedy {
            terminal.data(&format!(
                "{:17}{} {}",
                "",
                terminal.out(Style::Faint, "->"),
                clean(remedy, 400)
            ))?;
        }
    }
    terminal.data(&format!("\n{}, {}", some(report.problems, "problem"), some(report.warnings, "warning")))
}

pub(super) fn copied(report: &CopyReport, terminal: &Terminal) -> Result<(), Failure> {
    let CopyReport { cluster, taken_ms, took_ms, shards, archive } = report;
    copied_shards(shards, terminal)?;
    let archive = archive.map_or_else(String::new, |archive| {
        format!(", {} bytes, as cut {}", count(archive.bytes), archive.cut)
    });
    terminal.data(&format!(
        "\n{} {} of cluster {}, id {}, as of {}{archive} ({})",
        terminal.out(Style::Good, "ok:"),
        some(shards.len(), "shard"),
        terminal.out(Style::Name, &cluster.name),
        String::from(cluster.id),
        timestamp(*taken_ms),
        took(*took_ms)
    ))
}

pub(super) fn filled(report: &FilledReport, terminal: &Terminal) -> Result<(), Failure> {
    let FilledReport { cluster, topic, stored_ms, took_ms, shards, warnings } = report;
    for warning in warnings {
        terminal.note(format_args!("{} {warning}", terminal.err(Style::Warning, "warning:")));
    }
    copied_shards(shards, terminal)?;
    let stored = stored_ms.map_or_else(String::new, |stored| format!(" of {}", timestamp(stored)));
    terminal.data(&format!(
        "\n{} cluster {} is made, id {}, topic {topic}, with {}{stored} ({})",
        terminal.out(Style::Good, "ok:"),
        terminal.out(Style::Name, &cluster.name),
        String::from(cluster.id),
        some(shards.len(), "shard"),
        took(*took_ms)
    ))
}

fn copied_shards(shards: &[CopiedShard], terminal: &Terminal) -> Result<(), Failure> {
    let mut table = Table::new(&["shard>", "up to position>", "checkpoint>", "offset in the log>"]);
    for shard in shards {
        table.row(vec![
            shard.shard.to_string(),
            count(shard.position),
            count(shard.checkpoint),
            count(shard.offset),
        ]);
    }
    table.print(terminal)
}

pub(super) fn restored_log(report: &LogReport, terminal: &Terminal) -> Result<(), Failure> {
    let LogReport { shard, from, to, records, messages, is_appended, epoch } = report;
    let done = match epoch {
        Some(epoch) => format!("were appended again, with epoch {epoch}"),
        None => "would be appended again: add --append".to_owned(),
    };
    let word = terminal.out(if *is_appended { Style::Good } else { Style::Warning }, "lost:").to_string();
    terminal.data(&format!(
        "{word} {} records of shard {shard} in {}, from position {} to {}; they {done}",
        count(*records),
        some(usize::try_from(*messages).unwrap_or(usize::MAX), "message"),
        count(*from),
        count(*to)
    ))
}
