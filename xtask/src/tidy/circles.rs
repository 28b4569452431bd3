//! Files of a crate that import each other in a circle.
//!
//! An arrow goes from a file to the file that has what it names, through re-exports. A re-export
//! alone is no arrow, and neither is test code. Crates in which files still stand in circles are
//! listed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Finding;
use super::source::Source;

/// Crates that are not free of circles.
const WITH_CIRCLES: &[&str] = &[
    "crates/audit",
    "crates/cli",
    "crates/edge",
    "crates/journal",
    "crates/mqtt",
    "crates/node",
    "crates/push",
    "crates/queue",
    "crates/reactor",
    "crates/registry",
    "crates/report",
    "crates/rpc",
    "crates/rsocket",
    "crates/scenario",
    "crates/session",
    "crates/wallet",
];

/// Names that a re-export may be followed through, so that a circle of re-exports ends.
const STEPS_MAX: usize = 8;

/// A module by its path within the crate.
type Module = Vec<String>;

/// The files of all crates, as they are read.
#[derive(Default)]
pub(crate) struct Circles {
    crates: BTreeMap<String, Crate>,
}

#[derive(Default)]
struct Crate {
    files: BTreeMap<Module, File>,
}

/// The imports and the code of a file.
struct File {
    path: String,
    /// Names that `use` brings in, and the paths that they stand for, from the crate's root.
    names: HashMap<String, Vec<String>>,
    /// Everything but its `use` items.
    body: String,
}

impl Circles {
    /// Takes in a file.
    pub(crate) fn add(&mut self, path: &str, source: &Source) {
        let Some((name, inside)) = path.split_once("/src/").filter(|(name, _)| name.starts_with("crates/"))
        else {
            return;
        };
        let module = module_of(inside);
        let code: String = source.lines().flat_map(|(_, line)| [line, "\n"]).collect();
        self.crates.entry(name.to_owned()).or_default().files.insert(module, read(path, &code));
    }

    /// The circles of crates that have none, and crates that are listed and have none any more.
    pub(crate) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (name, one) in &self.crates {
            let circles = one.circles();
            match (WITH_CIRCLES.contains(&name.as_str()), circles.first()) {
                (false, Some(circle)) => {
                    let files: Vec<&str> = circle.iter().map(|module| one.files[*module].path.as_str()).collect();
                    let first = files[0];
                    let all = files.join(", ");
                    findings.push(Finding::new(
                        first,
                        0,
                        format!("stands in a circle of imports ({all}): move what both sides need below them"),
                    ));
                }
                (true, None) => findings.push(Finding::new(
                    name,
                    0,
                    "has no circle of files any more: take it out of WITH_CIRCLES in xtask/src/tidy/circles.rs",
                )),
                _ => {}
            }
        }
        findings
    }
}

fn module_of(inside: &str) -> Module {
    let mut module: Module = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Splits code into its `use` items and the rest.
fn read(path: &str, code: &str) -> File {
    let module = module_of(path.split_once("/src/").map_or(path, |(_, inside)| inside));
    let (mut names, mut body) = (HashMap::new(), String::new());
    let mut rest = code;
    while let Some(at) = next_use(rest) {
        body.push_str(&rest[..at]);
        let item = &rest[at + "use ".len()..];
        let end = item.find(';').unwrap_or(item.len());
        for path in expand(item[..end].trim()) {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            let mut path = path.trim().to_owned();
            if let Some(group) = path.strip_suffix("::self") {
                path = group.to_owned();
            }
            let segments: Vec<String> = path.split("::").map(|segment| segment.trim().to_owned()).collect();
            let last = segments.last().cloned().unwrap_or_default();
            let name = if alias.is_empty() { last } else { alias.trim().to_owned() };
            names.insert(name, absolute(&segments, &module));
        }
        rest = &item[end..];
    }
    body.push_str(rest);
    // `pub(in path)` names a module for its privacy alone.
    while let Some(at) = body.find("pub(in ") {
        let end = body[at..].find(')').map_or(body.len(), |end| at + end);
        body.replace_range(at + 3..end.min(body.len()), "");
    }
    File { path: path.to_owned(), names, body }
}

/// Where the next `use` item begins.
fn next_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|&at| {
        let before = code[..at].trim_end_matches([' ', '\t']);
        before.is_empty()
            || before.ends_with(['\n', ';', '{', '}', ']'])
            || before.ends_with("pub")
            || before.ends_with(')')
    })
}

/// The paths of a `use` tree.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, group)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let (mut depth, mut from, mut members) = (0_usize, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                members.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    members.push(&group[from..]);
    let members = members.into_iter().map(str::trim).filter(|member| !member.is_empty());
    members.flat_map(|member| expand(&format!("{}{member}", prefix.trim()))).collect()
}

/// A path from the crate's root. One that begins with a name is taken as the module's own, or
/// stands for nothing.
fn absolute(segments: &[String], module: &[String]) -> Vec<String> {
    let ups = segments.iter().take_while(|segment| *segment == "super").count();
    let (base, rest) = match segments.first().map(String::as_str) {
        Some("crate") => (&[][..], &segments[1..]),
        Some("self") => (module, &segments[1..]),
        Some("super") => (&module[..module.len().saturating_sub(ups)], &segments[ups..]),
        _ => (module, segments),
    };
    base.iter().chain(rest).cloned().collect()
}

impl Crate {
    /// The module that has what a path names, through re-exports.
    fn resolve(&self, path: &[String], steps: usize) -> Option<&Module> {
        let (module, file) = (0..=path.len()).rev().find_map(|end| self.files.get_key_value(&path[..end]))?;
        let rest = &path[module.len()..];
        let alias = rest.first().and_then(|name| file.names.get(name));
        match alias {
            Some(alias) if steps < STEPS_MAX && alias != path => {
                let path: Vec<String> = alias.iter().chain(&rest[1..]).cloned().collect();
                self.resolve(&path, steps + 1)
            }
            _ => Some(module),
        }
    }

    /// The modules that a file names.
    fn arrows(&self, module: &Module, file: &File) -> BTreeSet<&Module> {
        let mut arrows = BTreeSet::new();
        for (name, path) in &file.names {
            // A path whose first name is no module of ours is another crate's.
            let is_ours =
                path.len() > module.len() + 1 || !path.starts_with(module) || self.files.contains_key(path);
            let is_known = !path.starts_with(module)
                || path.get(..module.len() + 1).is_some_and(|child| self.files.contains_key(child));
            if is_ours && is_known && (name == "*" || names(&file.body, name)) {
                arrows.extend(self.resolve(path, 0));
            }
        }
        for path in paths(&file.body) {
            let own = matches!(path[0].as_str(), "crate" | "self" | "super");
            let path = absolute(&path, module);
            if own || path.get(..module.len() + 1).is_some_and(|child| self.files.contains_key(child)) {
                arrows.extend(self.resolve(&path, 0));
            }
        }
        arrows.remove(module);
        arrows
    }

    /// Modules that reach each other, each circle once.
    fn circles(&self) -> Vec<Vec<&Module>> {
        let arrows: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.iter().map(|(module, file)| (module, self.arrows(module, file))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|module| (module, reach(&arrows, module))).collect();
        let mut circles: Vec<Vec<&Module>> = Vec::new();
        for (module, there) in &reached {
            if !there.contains(module) || circles.iter().any(|circle| circle.contains(module)) {
                continue;
            }
            circles.push(there.iter().copied().filter(|other| reached[other].contains(module)).collect());
        }
        circles
    }
}

/// The modules that a module's arrows lead to, over any number of others.
fn reach<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        open.extend(arrows[module].iter().copied().filter(|next| seen.insert(*next)));
    }
    seen
}

/// Whether a name stands in code by itself.
fn names(body: &str, name: &str) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = body.as_bytes();
    body.match_indices(name).any(|(at, _)| {
        !is_word(at.checked_sub(1).and_then(|at| bytes.get(at))) && !is_word(bytes.get(at + name.len()))
    })
}

/// The paths of two names and more that stand in code.
fn paths(body: &str) -> Vec<Vec<String>> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    body.split(|character| !is_part(character))
        .map(|word| word.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>())
        .filter(|path| path.len() > 1 && path.iter().all(|name| !name.contains(':')))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Circles, expand};
    use crate::tidy::source::Source;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut circles = Circles::default();
        for (path, text) in files {
            circles.add(&format!("crates/new/src/{path}"), &Source::new(text));
        }
        circles.check().into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn trees_are_taken_apart() {
        assert_eq!(expand("a::{b, c::{self, d as e}, f}"), ["a::b", "a::c::self", "a::c::d as e", "a::f"]);
    }

    #[test]
    fn two_files_that_import_each_other_are_found() {
        let findings = found(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use crate::b::B;\npub struct A(B);\n"),
            ("b.rs", "pub struct B;\nfn f() -> super::a::A { todo!() }\n"),
        ]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("crates/new/src/a.rs, crates/new/src/b.rs"), "{findings:?}");
    }

    #[test]
    fn a_re_export_is_followed_and_is_no_arrow_itself() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\n");
        let a = ("a.rs", "pub struct A;\n");
        assert_eq!(found(&[lib, a, ("b.rs", "use crate::A;\npub struct B(A);\n")]), Vec::<String>::new());
        // Through the root it is a circle all the same.
        let back = ("a.rs", "use crate::B;\npub struct A(Option<Box<B>>);\n");
        assert_eq!(found(&[lib, back, ("b.rs", "use crate::A;\npub struct B(A);\n")]).len(), 1);
    }

    #[test]
    fn a_parent_whose_child_needs_it_is_a_circle() {
        let findings = found(&[
            ("lib.rs", "mod a;\n"),
            ("a/mod.rs", "mod child;\npub struct A;\nfn f() { child::f(); }\n"),
            ("a/child.rs", "use super::A;\npub fn f() -> A { A }\n"),
        ]);
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn test_code_and_other_crates_are_no_arrows() {
        let findings = found(&[
            ("lib.rs", "mod a;\nmod b;\n"),
            ("a.rs", "use std::fmt::Debug;\nuse crate::b::B;\npub struct A(B);\nfn f(_: &impl Debug) {}\n"),
            (
                "b.rs",
                "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n    fn f(_: A) {}\n}\n",
            ),
        ]);
        assert_eq!(findings, Vec::<String>::new());
    }
}
