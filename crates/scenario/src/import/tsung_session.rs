//! Sessions of a Tsung file: requests, think times, loops and dynamic variables.
//!
//! `%%_name%%` becomes `${name}`. A variable that nothing translated sets is declared empty and listed, so that the
//! scenario is one that can be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use roxmltree::Node;

use super::tsung::{Import, elements};
use super::{bare_key, literal, quoted, split_url, time};
use crate::document::shape::METHODS;

/// Elements in each other; more is no scenario.
const DEPTH_MAX: usize = 32;

/// A table of data.
pub(super) struct Data {
    pub(super) file: String,
    pub(super) delimiter: String,
    pub(super) columns: usize,
    pub(super) is_random: bool,
}

/// Sessions in the making.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) text: String,
    pub(super) data: BTreeMap<String, Data>,
    /// Variables that no step sets.
    pub(super) undefined: BTreeSet<String>,
    names: BTreeSet<String>,
    /// Of this session: what steps set, and what they name.
    defined: BTreeSet<String>,
    used: BTreeSet<String>,
    kind: String,
}

impl Sessions {
    pub(super) fn session(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) {
        if !node.has_tag_name("session") {
            return import.leave(node, format!("<{}>", node.tag_name().name()));
        }
        self.kind = node.attribute("type").unwrap_or("ts_http").trim_start_matches("ts_").to_owned();
        if !matches!(self.kind.as_str(), "http" | "websocket" | "mqtt" | "raw") {
            return import.leave(node, format!("a session of type ts_{}", self.kind));
        }
        self.defined.clear();
        self.used.clear();
        let steps = self.steps(node, "", 0, import);
        if steps.is_empty() {
            return import.leave(node, "a session without steps");
        }
        let base = node.attribute("name").unwrap_or("session");
        let name = super::untaken(base.to_owned(), |name| self.names.contains(name));
        self.names.insert(name.clone());
        let weight = node.attribute("probability").or(node.attribute("weight")).unwrap_or("1");
        let weight: f64 =
            weight.trim().parse().ok().filter(|weight| (0.0..=1e9).contains(weight)).unwrap_or(1.0);
        // Writing into a string does not fail.
        let _ = writeln!(self.text, "[[sessions]]\nname = {}\nweight = {weight}\nsteps = [", quoted(&name));
        for step in steps {
            let _ = writeln!(self.text, "    {step},");
        }
        self.text.push_str("]\n\n");
        for name in self.used.difference(&self.defined) {
            if self.undefined.insert(name.clone()) {
                import.leave(
                    node,
                    format!("the variable {name} is set by nothing that was translated: it is empty"),
                );
            }
        }
    }

    fn steps(
        &mut self,
        node: Node<'_, '_>,
        transaction: &str,
        depth: usize,
        import: &mut Import<'_>,
    ) -> Vec<String> {
        let mut steps = Vec::new();
        if depth > DEPTH_MAX {
            import.leave(node, format!("what is more than {DEPTH_MAX} deep"));
            return steps;
        }
        for child in elements(node) {
            let nested = |this: &mut Self, import: &mut Import<'_>| -> String {
                format!("[{}]", this.steps(child, transaction, depth + 1, import).join(", "))
            };
            match child.tag_name().name() {
                "thinktime" => match think(child) {
                    Some(step) => steps.push(step),
                    None => import.leave(child, "a think time that varies with a variable"),
                },
                "transaction" => {
                    let name = child.attribute("name").unwrap_or("transaction");
                    steps.extend(self.steps(child, name, depth + 1, import));
                }
                "request" => steps.extend(self.request(child, transaction, import)),
                "setdynvars" => steps.extend(self.setdynvars(child, import)),
                "for" => {
                    let attribute =
                        |name: &str| child.attribute(name).and_then(|value| value.trim().parse::<i64>().ok());
                    match (
                        attribute("from"),
                        attribute("to"),
                        attribute("incr").unwrap_or(1),
                        child.attribute("var"),
                    ) {
                        (Some(from), Some(to), increment, Some(var))
                            if increment > 0 && from.abs() < 1 << 50 && to.abs() < 1 << 50 =>
                        {
                            let var = self.define(var);
                            let mut body = self.steps(child, transaction, depth + 1, import);
                            body.push(format!("{{ set = {{ {var} = \"{var} + {increment}\" }} }}"));
                            steps.push(format!("{{ set = {{ {var} = {from} }} }}"));
                            steps.push(format!(
                                "{{ while = \"{var} <= {to}\", steps = [{}] }}",
                                body.join(", ")
                            ));
                        }
                        _ => import.leave(child, "a <for> whose bounds are not numbers"),
                    }
                }
                "if" => match self.condition(child) {
                    Some(condition) => {
                        let then = nested(self, import);
                        steps.push(format!("{{ if = {}, then = {then} }}", quoted(&condition)));
                    }
                    None => import.leave(child, "an <if> whose condition is not known"),
                },
                "while" => match self.condition(child) {
                    Some(condition) => {
                        let body = nested(self, import);
                        steps.push(format!("{{ while = {}, steps = {body} }}", quoted(&condition)));
                    }
                    None => import.leave(child, "a <while> whose condition is not known"),
                },
                "repeat" => {
                    let most = child.attribute("max_repeat").and_then(|most| most.trim().parse::<u32>().ok());
                    if let Some(until) =
                        elements(child).find(|node| matches!(node.tag_name().name(), "while" | "until"))
                    {
                        import.leave(until, "the condition of a <repeat>: it is repeated max_repeat times");
                    }
                    let inner: Vec<String> = self.steps_but_conditions(child, transaction, depth + 1, import);
                    steps.push(format!(
                        "{{ repeat = {}, steps = [{}] }}",
                        most.unwrap_or(20),
                        inner.join(", ")
                    ));
                }
                // Those of a <repeat>, which were reported there.
                "until" => {}
                "match" | "dyn_variable" => {
                    import.leave(child, format!("<{}> outside a request", child.tag_name().name()))
                }
                other => import.leave(child, format!("<{other}>")),
            }
        }
        steps
    }

    /// The steps of a `<repeat>`, whose condition is its last element.
    fn steps_but_conditions(
        &mut self,
        node: Node<'_, '_>,
        transaction: &str,
        depth: usize,
        import: &mut Import<'_>,
    ) -> Vec<String> {
        let is_condition = |child: &Node<'_, '_>| {
            child.has_tag_name("until") || (child.has_tag_name("while") && elements(*child).next().is_none())
        };
        let mut steps = Vec::new();
        for child in elements(node).filter(|child| !is_condition(child)) {
            // One at a time, through the same door.
            steps.extend(self.one(child, transaction, depth, import));
        }
        steps
    }

    fn one(
        &mut self,
        child: Node<'_, '_>,
        transaction: &str,
        depth: usize,
        import: &mut Import<'_>,
    ) -> Vec<String> {
        match child.tag_name().name() {
            "request" => self.request(child, transaction, import),
            "thinktime" => think(child).into_iter().collect(),
            "setdynvars" => self.setdynvars(child, import),
            "transaction" => {
                self.steps(child, child.attribute("name").unwrap_or("transaction"), depth, import)
            }
            other => {
                import.leave(child, format!("<{other}> in a <repeat>"));
                Vec::new()
            }
        }
    }

    fn define(&mut self, name: &str) -> String {
        let name = variable(name);
        self.defined.insert(name.clone());
        name
    }

    /// `var` compared with `eq`, `neq`, `lt`, `gt`, `lte` or `gte`.
    fn condition(&mut self, node: Node<'_, '_>) -> Option<String> {
        let name = variable(node.attribute("var")?);
        let signs = [("eq", "=="), ("neq", "!="), ("lt", "<"), ("gt", ">"), ("lte", "<="), ("gte", ">=")];
        let (value, sign) =
            signs.iter().find_map(|(key, sign)| node.attribute(*key).map(|value| (value, *sign)))?;
        self.used.insert(name.clone());
        Some(format!("{name} {sign} {}", expression_text(value)))
    }

    /// A text of Tsung as a template: `%%_name%%` become `${name}`.
    fn template(&mut self, text: &str, node: Node<'_, '_>, import: &mut Import<'_>) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%%") {
            let Some((inside, after)) = after.split_once("%%") else {
                break;
            };
            out.push_str(&literal(before));
            match inside.strip_prefix('_') {
                Some(name) => {
                    let name = variable(name);
                    let _ = write!(out, "${{{name}}}");
                    self.used.insert(name);
                }
                None => {
                    import.leave(node, format!("%%{inside}%%, a function in Erlang: left as it is"));
                    out.push_str(&literal(&format!("%%{inside}%%")));
                }
            }
            rest = after;
        }
        out.push_str(&literal(rest));
        out
    }

    fn setdynvars(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) -> Vec<String> {
        let vars: Vec<&str> = elements(node)
            .filter(|child| child.has_tag_name("var"))
            .filter_map(|var| var.attribute("name"))
            .collect();
        let attribute = |name: &str| node.attribute(name).unwrap_or("");
        let whole = |name: &str, default: i64| attribute(name).trim().parse::<i64>().unwrap_or(default);
        let value = match attribute("sourcetype") {
            "file" => {
                let id = node.attribute("fileid").unwrap_or("default");
                let Some(file) = import.files.get(id).cloned() else {
                    import.leave(node, format!("the file {id}, which no option names"));
                    return Vec::new();
                };
                let table = bare_key(id);
                let delimiter =
                    node.attribute("delimiter").filter(|text| text.len() == 1).unwrap_or(";").to_owned();
                let is_random = attribute("order") == "random";
                let data =
                    self.data.entry(table.clone()).or_insert(Data { file, delimiter, columns: 0, is_random });
                data.columns = data.columns.max(vars.len().max(1));
                let sets: Vec<String> = vars
                    .iter()
                    .enumerate()
                    .map(|(column, var)| format!("{} = \"{table}.c{}\"", self.define(var), column + 1))
                    .collect();
                return vec![
                    format!("{{ draw = \"{table}\" }}"),
                    format!("{{ set = {{ {} }} }}", sets.join(", ")),
                ];
            }
            "random_number" => format!("random({}, {})", whole("start", 1), whole("end", 10)),
            "unique_number" => "user()".to_owned(),
            "random_string" | "urandom_string" => {
                import.leave(node, "a random text: a UUID stands for it");
                "uuid()".to_owned()
            }
            "value" => expression_text(attribute("value")),
            other => {
                import.leave(node, format!("variables of sourcetype {other}"));
                return Vec::new();
            }
        };
        let sets: Vec<String> =
            vars.iter().map(|var| format!("{} = {}", self.define(var), quoted(&value))).collect();
        vec![format!("{{ set = {{ {} }} }}", sets.join(", "))]
    }

    fn request(&mut self, node: Node<'_, '_>, transaction: &str, import: &mut Import<'_>) -> Vec<String> {
        let mut after = String::new();
        let mut takes = Vec::new();
        let mut wants = Vec::new();
        let mut action = None;
        for child in elements(node) {
            match child.tag_name().name() {
                "dyn_variable" => takes.extend(self.dyn_variable(child, import)),
                "match" => match (
                    child.attribute("when").unwrap_or("nomatch"),
                    child.attribute("do").unwrap_or("continue"),
                ) {
                    ("nomatch", "abort" | "log" | "continue" | "dump" | "abort_test") => {
                        let pattern = child.text().unwrap_or("").trim();
                        match regex::bytes::Regex::new(pattern) {
                            Ok(_) if !pattern.is_empty() => wants.push(quoted(pattern)),
                            _ => import.leave(child, "a <match> whose pattern is not one of ours"),
                        }
                        if child.attribute("do").is_none_or(|what| !what.starts_with("abort")) {
                            after = ", on_failure = \"continue\"".to_owned();
                        }
                    }
                    (when, what) => {
                        import.leave(child, format!("a <match> that does `{what}` when `{when}`"))
                    }
                },
                _ if action.is_none() => action = Some(child),
                other => import.leave(child, format!("<{other}>")),
            }
        }
        let Some(action) = action else {
            import.leave(node, "a request that does nothing");
            return Vec::new();
        };
        let step = match action.tag_name().name() {
            "http" => self.http(action, transaction, import),
            "websocket" => self.websocket(action, import),
            "mqtt" => self.mqtt(action, import),
            "raw" => self.raw(action, import),
            other => {
                import.leave(action, format!("<{other}>"));
                None
            }
        };
        let Some(step) = step else {
            return Vec::new();
        };
        let takes =
            if takes.is_empty() { String::new() } else { format!(", extract = {{ {} }}", takes.join(", ")) };
        let wants: Vec<String> =
            wants.iter().map(|want| format!("{{ body = {{ matches = {want} }} }}")).collect();
        let wants =
            if wants.is_empty() { String::new() } else { format!(", check = [{}]", wants.join(", ")) };
        vec![format!("{{ {step}{takes}{wants}{after} }}")]
    }

    fn dyn_variable(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) -> Option<String> {
        let name = node.attribute("name")?;
        let source = if let Some(path) = node.attribute("jsonpath") {
            let path = if path.starts_with('$') { path.to_owned() } else { format!("$.{path}") };
            if crate::json_path::JsonPath::parse(&path).is_err() {
                import.leave(node, format!("the path {path} into JSON"));
                return None;
            }
            quoted(&path)
        } else if let Some(header) = node.attribute("header") {
            format!("{{ header = {} }}", quoted(header.split('/').next().unwrap_or(header)))
        } else if node.attribute("xpath").is_some() || node.attribute("pgsql_expr").is_some() {
            import.leave(node, "a variable by XPath or of PostgreSQL");
            return None;
        } else {
            let form = format!("name=\"{}\"[^>]*value=\"([^\"]*)\"", regex::escape(name));
            let pattern = node.attribute("re").or(node.attribute("regexp")).unwrap_or(&form);
            if regex::bytes::Regex::new(pattern).is_err() {
                import.leave(node, format!("the expression {pattern}"));
                return None;
            }
            format!("{{ regex = {} }}", quoted(pattern))
        };
        Some(format!("{} = {source}", self.define(name)))
    }

    fn http(&mut self, node: Node<'_, '_>, transaction: &str, import: &mut Import<'_>) -> Option<String> {
        let url = node.attribute("url").unwrap_or("/");
        let method = node.attribute("method").unwrap_or("GET").to_ascii_lowercase();
        if !METHODS.contains(&method.as_str()) {
            import.leave(node, format!("the method {method}"));
            return None;
        }
        let (target, path) = match split_url(url) {
            Some((origin, path)) if url.starts_with("http") => {
                let name = origin.split("://").nth(1).unwrap_or("target").to_owned();
                (Some(import.target(origin, &name)), path.to_owned())
            }
            _ => (import.server_target("http", "https"), url.to_owned()),
        };
        let Some(target) = target else {
            import.leave(node, "a request without a server");
            return None;
        };
        let path = if path.starts_with('/') || path.starts_with("%%_") { path } else { format!("/{path}") };
        let path = self.template(&path, node, import);
        let mut step = format!("{method} = {}, target = \"{target}\"", quoted(&path));
        if !transaction.is_empty() {
            let shown = path.split('?').next().unwrap_or("");
            let name = format!("{transaction}: {} {shown}", method.to_ascii_uppercase());
            let name = super::untaken(name, |name| self.names.contains(name));
            self.names.insert(name.clone());
            let _ = write!(step, ", name = {}", quoted(&name));
        }
        let mut headers: Vec<String> = Vec::new();
        if let Some(kind) = node.attribute("content_type") {
            headers.push(format!("content-type = {}", quoted(&literal(kind))));
        }
        for child in elements(node) {
            match child.tag_name().name() {
                "http_header" => {
                    let name = child.attribute("name").unwrap_or("").to_ascii_lowercase();
                    let value = self.template(child.attribute("value").unwrap_or(""), child, import);
                    if matches!(name.as_str(), "host" | "content-length" | "connection" | "") {
                        import.leave(child, format!("the header {name}"));
                    } else {
                        headers.push(format!("{} = {}", quoted(&name), quoted(&value)));
                    }
                }
                "soap" => headers.push(format!(
                    "soapaction = {}",
                    quoted(&literal(child.attribute("action").unwrap_or("")))
                )),
                "www_authenticate" => {
                    let user = self.expression(child.attribute("userid").unwrap_or(""), child, import);
                    let password = self.expression(child.attribute("passwd").unwrap_or(""), child, import);
                    let value = format!("Basic ${{base64(join({user}, ':', {password}))}}");
                    headers.push(format!("authorization = {}", quoted(&value)));
                }
                other => import.leave(child, format!("<{other}>")),
            }
        }
        if !headers.is_empty() {
            let _ = write!(step, ", headers = {{ {} }}", headers.join(", "));
        }
        if let Some(contents) = node.attribute("contents") {
            let body = self.template(contents, node, import);
            let _ = write!(step, ", body = {}", quoted(&body));
        } else if let Some(file) = node.attribute("contents_from_file") {
            let _ = write!(step, ", body = {{ file = {} }}", quoted(file));
        }
        Some(step)
    }

    /// A text with at most one variable, which it is, as an expression.
    fn expression(&mut self, text: &str, node: Node<'_, '_>, import: &mut Import<'_>) -> String {
        let template = self.template(text, node, import);
        match template.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => name.to_owned(),
            None => expression_text(text),
        }
    }

    fn websocket(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) -> Option<String> {
        let target = import.server_target("http", "https")?;
        let text = self.template(node.text().unwrap_or(""), node, import);
        let inside = match node.attribute("type").unwrap_or("message") {
            "connect" => {
                let path = self.template(node.attribute("path").unwrap_or("/"), node, import);
                format!("open = {}", quoted(&path))
            }
            "message" => {
                let receive = u8::from(node.attribute("ack").unwrap_or("parse") != "no_ack");
                let binary = node.attribute("frame").unwrap_or("text") == "binary";
                format!("send = {}, binary = {binary}, receive = {receive}", quoted(&text))
            }
            "close" => "close = true".to_owned(),
            other => {
                import.leave(node, format!("<websocket> of type {other}"));
                return None;
            }
        };
        Some(format!("websocket = {{ {inside} }}, target = \"{target}\""))
    }

    fn mqtt(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) -> Option<String> {
        let target = import.server_target("mqtt", "mqtts")?;
        let mut text =
            |this: &mut Self, name: &str| this.template(node.attribute(name).unwrap_or(""), node, import);
        let qos: u8 =
            node.attribute("qos").and_then(|qos| qos.parse().ok()).filter(|qos| *qos <= 2).unwrap_or(0);
        let inside = match node.attribute("type").unwrap_or("") {
            "connect" => {
                let clean = node.attribute("clean_start").unwrap_or("true") == "true";
                let keep_alive: u16 =
                    node.attribute("keepalive").and_then(|value| value.parse().ok()).unwrap_or(10);
                let mut connect = format!("clean_start = {clean}, keep_alive = \"{keep_alive}s\"");
                for (theirs, ours) in [("username", "user_name"), ("password", "password")] {
                    if node.attribute(theirs).is_some() {
                        let _ = write!(connect, ", {ours} = {}", quoted(&text(self, theirs)));
                    }
                }
                if node.attribute("will_topic").is_some() {
                    import.leave(node, "the will of a connect");
                }
                format!("connect = {{ {connect} }}")
            }
            "publish" => {
                let topic = text(self, "topic");
                let retain = node.attribute("retained") == Some("true");
                let payload = self.template(node.text().unwrap_or(""), node, import);
                format!(
                    "publish = {}, payload = {}, qos = {qos}, retain = {retain}",
                    quoted(&topic),
                    quoted(&payload)
                )
            }
            "subscribe" => format!("subscribe = {}, qos = {qos}", quoted(&text(self, "topic"))),
            "waitForMessages" => {
                import.leave(node, "waitForMessages: one message is awaited, not a time");
                "receive = 1".to_owned()
            }
            "disconnect" => "disconnect = true".to_owned(),
            other => {
                import.leave(node, format!("<mqtt> of type {other}"));
                return None;
            }
        };
        Some(format!("mqtt = {{ {inside} }}, target = \"{target}\""))
    }

    fn raw(&mut self, node: Node<'_, '_>, import: &mut Import<'_>) -> Option<String> {
        let target = import.server_target("tcp", "tls")?;
        let data = match (
            node.attribute("data"),
            node.attribute("datasize").and_then(|size| size.parse::<usize>().ok()),
        ) {
            (Some(data), _) => self.template(data, node, import),
            (None, Some(size)) if size <= 1 << 20 => "0".repeat(size),
            _ => {
                import.leave(node, "<raw> without data");
                return None;
            }
        };
        if node.attribute("ack").unwrap_or("parse") != "no_ack" {
            import.leave(node, "the answer of <raw>: say how it ends with `until`");
        }
        Some(format!("tcp = {{ send = {} }}, target = \"{target}\"", quoted(&data)))
    }
}

/// A name of ours: letters, digits and `_`, and no word of expressions.
fn variable(name: &str) -> String {
    let name = bare_key(name);
    if ["and", "or", "not", "true", "false", "null"].contains(&name.as_str()) {
        format!("{name}_")
    } else {
        name
    }
}

/// A literal of expressions.
fn expression_text(value: &str) -> String {
    match crate::value::read_number(value) {
        Some(_) if value.trim().bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')) => {
            value.trim().to_owned()
        }
        _ => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

fn think(node: Node<'_, '_>) -> Option<String> {
    let ms = |name: &str| super::tsung::milliseconds(node.attribute(name)?, "second");
    let is_random = node.attribute("random") == Some("true");
    let inside = match (ms("min"), ms("max"), ms("value")) {
        (Some(min), Some(max), _) if min <= max => format!("{{ from = {}, to = {} }}", time(min), time(max)),
        (_, _, Some(value)) if is_random => format!("{{ exponential = {} }}", time(value)),
        (_, _, Some(value)) => time(value),
        _ => return None,
    };
    Some(format!("{{ think = {inside} }}"))
}
