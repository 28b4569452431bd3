//! The pages of docs/reference/errors that the server shows: what each code means and what to do.
//!
//! A page has a section for each code, headed `## CODE Title`; the codes of settings and of the
//! start have theirs in the reference of the settings, headed `### CODE`. The pages are compiled
//! in, so that `/docs/errors/CODE` of a problem's `type`, of the audit log and of a log line always
//! works; tests compare them with the folder and with the codes of the crates.

/// The pages, in the order of docs/reference/errors/README.md.
const PAGES: &[&str] = &[
    include_str!("../../../docs/reference/errors/http.md"),
    include_str!("../../../docs/reference/errors/topic.md"),
    include_str!("../../../docs/reference/errors/rules.md"),
    include_str!("../../../docs/reference/errors/erasure.md"),
    include_str!("../../../docs/reference/errors/queue.md"),
    include_str!("../../../docs/reference/errors/wallet.md"),
    include_str!("../../../docs/reference/errors/push.md"),
    include_str!("../../../docs/reference/errors/device.md"),
    include_str!("../../../docs/reference/errors/webpush.md"),
    include_str!("../../../docs/reference/errors/rpc.md"),
    include_str!("../../../docs/reference/errors/shard.md"),
    include_str!("../../../docs/reference/errors/cluster.md"),
    include_str!("../../../docs/reference/errors/journal.md"),
    include_str!("../../../docs/reference/errors/archive.md"),
    include_str!("../../../docs/reference/errors/audit.md"),
    include_str!("../../../docs/reference/errors/kafka.md"),
    include_str!("../../../docs/reference/errors/discovery.md"),
    include_str!("../../../docs/reference/errors/auth.md"),
    include_str!("../../../docs/reference/errors/load.md"),
    include_str!("../../../docs/reference/configuration.md"),
];

/// A page: the codes of one part of Stadium.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    pub(crate) title: &'static str,
    text: &'static str,
}

impl Page {
    /// The sections of its codes, in their order. Other sections are left out.
    pub(crate) fn sections(self) -> impl Iterator<Item = Section> {
        self.text.split("\n## ").flat_map(|part| part.split("\n### ")).skip(1).filter_map(|section| {
            let (heading, text) = section.split_once('\n')?;
            let (code, title) = heading.split_once(' ').unwrap_or((heading, ""));
            is_code(code).then_some(Section { code, title, text: text.trim() })
        })
    }
}

/// A code with its title, where it has one, and its section's text.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// Every page.
pub(crate) fn pages() -> impl Iterator<Item = Page> {
    PAGES.iter().map(|text| {
        let heading = text.split('\n').find_map(|line| line.strip_prefix("# "));
        Page { title: heading.unwrap_or_default(), text }
    })
}

/// Every section, in the order of the pages.
pub(crate) fn sections() -> impl Iterator<Item = Section> {
    pages().flat_map(Page::sections)
}

/// A code is letters and, behind a dash, digits or words: `QUE-001`, `RPC-NO-SERVICE`.
fn is_code(word: &str) -> bool {
    let is_upper = |text: &str| text.chars().all(|letter| letter.is_ascii_uppercase());
    let is_rest = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '-';
    word.split_once('-')
        .is_some_and(|(letters, rest)| is_upper(letters) && !letters.is_empty() && rest.chars().all(is_rest))
}

/// The section of a code.
pub(crate) fn section(code: &str) -> Option<Section> {
    sections().find(|section| section.code == code)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::request::problem::CODES;
    use crate::shards::refusals;

    #[test]
    fn every_code_of_the_reference_is_shown_once() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let files = fs::read_dir(docs.join("errors")).expect("the folder of the pages");
        let files = files.map(|file| file.expect("a page").path());
        let mut known: Vec<String> = files
            .filter(|file| !file.ends_with("README.md"))
            .chain([docs.join("configuration.md")])
            .flat_map(|file| {
                let text = fs::read_to_string(&file).expect("a page");
                let headings = text.lines().filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
                let words = headings.filter_map(|heading| heading.split(' ').next());
                words.filter(|word| is_code(word)).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let mut shown: Vec<_> = sections().map(|section| section.code.to_owned()).collect();
        known.sort();
        shown.sort();
        assert_eq!(shown, known);
        for code in
            ["AUTH-001", "RPC-NO-SERVICE", "DSC-001", "ARC-001", "ADT-001", "KFK-001", "LOAD-001", "NODE-010"]
        {
            assert!(
                !section(code).unwrap_or_else(|| panic!("{code} has no section")).text.is_empty(),
                "{code}"
            );
        }
        assert!(pages().all(|page| !page.title.is_empty()));
    }

    #[test]
    fn every_code_of_this_crate_has_its_section_and_every_section_its_code() {
        for code in CODES {
            let section = section(code.code).unwrap_or_else(|| panic!("{} has no section", code.code));
            assert_eq!(section.title, code.title, "{}", code.code);
            assert!(section.text.starts_with(&format!("Status {}.", code.status)), "{}", code.code);
        }
        let is_ours =
            |code: &str| ["HTTP-", "TOPIC-", "ERA-", "RULES-"].iter().any(|ours| code.starts_with(ours));
        let ours = sections().filter(|section| is_ours(section.code));
        assert_eq!(ours.count(), CODES.len(), "a section whose code is gone");
    }

    #[test]
    fn every_code_of_the_shards_has_its_section_status_and_title() {
        let machines = stadium_queue::CODES.iter().chain(stadium_wallet::CODES);
        let platform = stadium_push::CODES.iter().chain(stadium_registry::CODES);
        let theirs: Vec<_> = machines.chain(platform).chain(stadium_shard::CODES).collect();
        for (code, _) in &theirs {
            let section = section(code).unwrap_or_else(|| panic!("{code} has no section"));
            assert_eq!(Some(section.title.to_owned()), refusals::title(code), "{code}");
            match refusals::STATUSES.iter().find(|(known, _)| known == code) {
                Some((_, status)) => {
                    assert!(section.text.starts_with(&format!("Status {status}")), "{code}")
                }
                None => assert!(section.text.starts_with("At the start."), "{code} has no status"),
            }
        }
        for section in
            sections().filter(|section| ["QUE", "WAL", "PSH", "DEV", "SHA"].contains(&&section.code[..3]))
        {
            assert!(theirs.iter().any(|(code, _)| *code == section.code), "{} is gone", section.code);
        }
    }
}
