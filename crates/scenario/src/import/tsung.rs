//! Tsung's XML (tsung-1.0.dtd): servers, arrival phases, options and sessions.
//!
//! What sessions do is in `tsung_session`. Options, monitoring and phases that have no counterpart are listed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roxmltree::{Document, Node, ParsingOptions};

use super::tsung_session::Sessions;
use super::{Imported, LeftOut, Unreadable, bare_key, quoted, time, untaken};

/// A target of the scenario.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) url: String,
}

/// What an import collects.
pub(super) struct Import<'x> {
    document: &'x Document<'x>,
    pub(super) targets: Vec<Target>,
    /// Files by their id in Tsung.
    pub(super) files: BTreeMap<String, String>,
    /// The first server: host, port, and whether it speaks TLS.
    server: Option<(String, String, bool)>,
    left_out: Vec<LeftOut>,
}

impl Import<'_> {
    /// Notes that something of a node has no counterpart.
    pub(super) fn leave(&mut self, node: Node<'_, '_>, what: impl Into<String>) {
        let line = self.document.text_pos_at(node.range().start).row;
        self.left_out.push(LeftOut { line, what: what.into() });
    }

    /// The target of a protocol on Tsung's first server.
    pub(super) fn server_target(&mut self, plain: &str, secured: &str) -> Option<String> {
        let (host, port, is_secured) = self.server.clone()?;
        let scheme = if is_secured { secured } else { plain };
        Some(self.target(&format!("{scheme}://{host}:{port}"), &format!("{plain}_server")))
    }

    pub(super) fn target(&mut self, url: &str, name: &str) -> String {
        if let Some(target) = self.targets.iter().find(|target| target.url == url) {
            return target.name.clone();
        }
        let name = untaken(bare_key(name), |name| self.targets.iter().any(|target| target.name == name));
        self.targets.push(Target { name: name.clone(), url: url.to_owned() });
        name
    }
}

/// Makes a scenario of a Tsung file.
///
/// # Errors
/// Where the file is not XML, or not of Tsung.
pub fn tsung(text: &str) -> Result<Imported, Unreadable> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: 1_000_000, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| Unreadable { line: error.pos().row, message: format!("not XML: {error}") })?;
    let root = document.root_element();
    if !root.has_tag_name("tsung") {
        return Err(Unreadable {
            line: 1,
            message: format!("not a Tsung file: it begins with <{}>", root.tag_name().name()),
        });
    }
    let mut import = Import {
        document: &document,
        targets: Vec::new(),
        files: BTreeMap::new(),
        server: None,
        left_out: Vec::new(),
    };
    let mut sessions = Sessions::default();
    let mut phases = String::new();
    for part in elements(root) {
        match part.tag_name().name() {
            "servers" => servers(part, &mut import),
            "options" => self::options(part, &mut import),
            _ => {}
        }
    }
    for part in elements(root) {
        match part.tag_name().name() {
            "servers" | "options" => {}
            "clients" => import.leave(part, "clients: workers are named on the command line"),
            "monitoring" => {
                import.leave(part, "monitoring: a target's `metrics` are kept beside the run's figures")
            }
            "load" => load(part, &mut import, &mut phases),
            "sessions" => {
                for session in elements(part) {
                    sessions.session(session, &mut import);
                }
            }
            other => import.leave(part, format!("<{other}>")),
        }
    }
    if sessions.text.is_empty() {
        return Err(Unreadable { line: 1, message: "the file has no sessions".to_owned() });
    }
    if phases.is_empty() {
        import.leave(root, "no arrival phases: one user a second for a minute was put in");
        phases.push_str("[[phases]]\nduration = \"1m\"\nrate = 1\n\n");
    }
    let mut out = String::from("# Imported from a Tsung file.\nname = \"imported from Tsung\"\n\n");
    // Writing into a string does not fail.
    if !sessions.undefined.is_empty() {
        out.push_str("# Named in sessions, set by nothing that could be translated.\n[variables]\n");
        for name in &sessions.undefined {
            let _ = writeln!(out, "{name} = \"\"");
        }
        out.push('\n');
    }
    for target in &import.targets {
        let _ = writeln!(out, "[targets.{}]\nurl = {}\n", target.name, quoted(&target.url));
    }
    for (id, data) in &sessions.data {
        let columns: Vec<String> = (1..=data.columns).map(|column| quoted(&format!("c{column}"))).collect();
        let _ = writeln!(
            out,
            "[data.{}]\nfile = {}\ndelimiter = {}\ncolumns = [{}]\norder = {}\n",
            id,
            quoted(&data.file),
            quoted(&data.delimiter),
            columns.join(", "),
            quoted(if data.is_random { "random" } else { "sequential" })
        );
    }
    out.push_str(&phases);
    out.push_str(&sessions.text);
    import.left_out.sort();
    Ok(Imported { text: out, left_out: import.left_out })
}

/// The elements in a node.
pub(super) fn elements<'x>(node: Node<'x, 'x>) -> impl Iterator<Item = Node<'x, 'x>> {
    node.children().filter(Node::is_element)
}

fn servers(part: Node<'_, '_>, import: &mut Import<'_>) {
    for (number, server) in elements_of(part, "server").into_iter().enumerate() {
        let host = server.attribute("host").unwrap_or("127.0.0.1").to_owned();
        let port = server.attribute("port").unwrap_or("80").to_owned();
        let kind = server.attribute("type").unwrap_or("tcp");
        if number > 0 {
            import.leave(server, format!("server {host}: only the first is taken; name others as targets"));
            continue;
        }
        if !matches!(kind, "tcp" | "tcp6" | "ssl" | "ssl6" | "websocket" | "websocket_ssl") {
            import.leave(server, format!("server of type {kind}: taken as tcp"));
        }
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        import.server = Some((host, port, kind.contains("ssl")));
    }
}

fn elements_of<'x>(node: Node<'x, 'x>, name: &str) -> Vec<Node<'x, 'x>> {
    node.children().filter(|child| child.has_tag_name(name)).collect()
}

fn options(part: Node<'_, '_>, import: &mut Import<'_>) {
    for option in part.descendants().filter(|node| node.has_tag_name("option")) {
        let name = option.attribute("name").unwrap_or("");
        if name == "file_server" {
            let id = option.attribute("id").unwrap_or("default").to_owned();
            import.files.insert(id, option.attribute("value").unwrap_or("").to_owned());
        } else {
            import.leave(option, format!("option {name}"));
        }
    }
}

/// Milliseconds of a number with Tsung's unit.
pub(super) fn milliseconds(value: &str, unit: &str) -> Option<u64> {
    let number: f64 = value.trim().parse().ok()?;
    let factor = match unit {
        "millisecond" => 1.0,
        "second" => 1e3,
        "minute" => 6e4,
        "hour" => 3.6e6,
        _ => return None,
    };
    let ms = number * factor;
    (0.0..=3e10).contains(&ms).then_some(ms.round() as u64)
}

fn load(part: Node<'_, '_>, import: &mut Import<'_>, phases: &mut String) {
    if part.attribute("duration").is_some() {
        import.leave(part, "the load's own duration: phases say how long the run is");
    }
    for phase in elements(part) {
        if !phase.has_tag_name("arrivalphase") {
            import.leave(phase, format!("<{}>", phase.tag_name().name()));
            continue;
        }
        let duration = phase.attribute("duration").unwrap_or("1");
        let duration = milliseconds(duration, phase.attribute("unit").unwrap_or("second"));
        let users = elements(phase).find(|node| node.has_tag_name("users"));
        for other in elements(phase).filter(|node| !node.has_tag_name("users")) {
            import.leave(other, format!("<{}> in a phase", other.tag_name().name()));
        }
        let rate = users.and_then(|users| {
            let unit = users.attribute("unit").unwrap_or("second");
            if users.attribute("maxnumber").is_some() {
                import.leave(users, "maxnumber: how many users come follows from rate and duration");
            }
            if let Some(interarrival) = users.attribute("interarrival") {
                return milliseconds(interarrival, unit).filter(|ms| *ms > 0).map(|ms| 1e3 / ms as f64);
            }
            let count: f64 = users.attribute("arrivalrate")?.trim().parse().ok()?;
            Some(count * 1e3 / milliseconds("1", unit)? as f64)
        });
        let (Some(duration), Some(rate)) =
            (duration.filter(|ms| *ms > 0), rate.filter(|rate| (0.0..=1e9).contains(rate)))
        else {
            import.leave(phase, "a phase without a duration and users that could be read");
            continue;
        };
        // Users of Tsung come as a Poisson process. Writing into a string does not fail.
        let name =
            phase.attribute("phase").map(|number| format!("name = {}\n", quoted(&format!("phase {number}"))));
        let _ = writeln!(
            phases,
            "[[phases]]\n{}duration = {}\nrate = {rate}\nspacing = \"poisson\"\n",
            name.unwrap_or_default(),
            time(duration)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Action, Arrivals, Op, Pause, Spacing};

    const SAMPLE: &str = include_str!("../../tests/scenarios/tsung.xml");

    fn files(path: &str) -> Result<Vec<u8>, String> {
        match path {
            "/home/tsung/users.csv" => Ok(b"ada;secret1\nbob;secret2\n".to_vec()),
            _ => Err("no such file".to_owned()),
        }
    }

    #[test]
    fn a_tsung_file_becomes_a_scenario() {
        let imported = tsung(SAMPLE).unwrap();
        let program = crate::parse(&imported.text, &mut files).unwrap_or_else(|problems| {
            let rendered: Vec<String> =
                problems.iter().map(|problem| problem.render("imported", &imported.text)).collect();
            panic!("{}\n{}", rendered.join("\n"), imported.text)
        });
        assert_eq!(
            program.phases[0].arrivals,
            Arrivals::Open { from: 0.5, to: 0.5, spacing: Spacing::Poisson }
        );
        assert_eq!(program.phases[1].duration_ns, 600_000_000_000);
        assert_eq!(
            program.phases[1].arrivals,
            Arrivals::Open { from: 10.0, to: 10.0, spacing: Spacing::Poisson }
        );
        assert_eq!(program.phases[0].mix, [70.0, 20.0, 10.0]);
        let names: Vec<&str> = program.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "GET /",
                "login: POST /login",
                "GET /item/${item}",
                "GET /more",
                "websocket /chat",
                "websocket send",
                "websocket close",
                "mqtt connect",
                "mqtt publish test/${uid}",
                "mqtt disconnect",
            ],
            "{}",
            imported.text
        );
        let login = &program.steps[1];
        assert_eq!(login.extract[0].text(), "token from $.token");
        assert!(login.checks.iter().any(|check| check.text == "body matches /welcome/"));
        let Action::Http(http) = &login.action else { panic!("a login is sent over HTTP") };
        assert!(http.body.as_ref().unwrap().literal().is_none(), "the body has the user's name");
        let pauses: Vec<Pause> = program.sessions[0]
            .ops
            .iter()
            .filter_map(|op| match op {
                Op::Think(pause) => Some(*pause),
                _ => None,
            })
            .collect();
        assert_eq!(
            pauses,
            [
                Pause::Exponential(20_000_000_000),
                Pause::Uniform(2_000_000_000, 10_000_000_000),
                Pause::Constant(1_500_000_000)
            ]
        );
    }

    #[test]
    fn what_has_no_counterpart_is_listed_with_its_line() {
        let imported = tsung(SAMPLE).unwrap();
        let listed: Vec<String> =
            imported.left_out.iter().map(|left| format!("{}: {}", left.line, left.what)).collect();
        for (at, says) in [
            ("<clients>", "clients"),
            ("<monitoring>", "monitoring"),
            ("user_agent", "option user_agent"),
            ("<foreach", "<foreach>"),
            ("ts_user_server", "ts_user_server"),
            ("xpath=", "XPath"),
            ("type=\"ts_jabber\"", "ts_jabber"),
        ] {
            let line = SAMPLE.lines().position(|line| line.contains(at)).unwrap() + 1;
            let found =
                listed.iter().any(|text| text.starts_with(&format!("{line}: ")) && text.contains(says));
            assert!(found, "line {line}, {says}: {listed:#?}");
        }
    }

    #[test]
    fn a_file_that_is_not_tsung_is_reported() {
        assert!(tsung("<a").unwrap_err().message.contains("not XML"));
        assert!(tsung("<html/>").unwrap_err().message.contains("<html>"));
        assert!(tsung("<tsung/>").unwrap_err().message.contains("no sessions"));
    }
}
