//! The pages of docs/reference/errors that the server shows: what each code means and what to do.
//!
//! A page has a section for each code, headed `## CODE Title`. The pages are compiled in, so that
//! `/docs/errors/CODE` of a problem's `type` always works; tests compare them with the codes of the
//! crates.

const PAGES: &[&str] = &[
    include_str!("../../../docs/reference/errors/http.md"),
    include_str!("../../../docs/reference/errors/topic.md"),
    include_str!("../../../docs/reference/errors/erasure.md"),
    include_str!("../../../docs/reference/errors/rules.md"),
    include_str!("../../../docs/reference/errors/queue.md"),
    include_str!("../../../docs/reference/errors/wallet.md"),
    include_str!("../../../docs/reference/errors/push.md"),
    include_str!("../../../docs/reference/errors/device.md"),
    include_str!("../../../docs/reference/errors/webpush.md"),
    include_str!("../../../docs/reference/errors/shard.md"),
    include_str!("../../../docs/reference/errors/cluster.md"),
    include_str!("../../../docs/reference/errors/journal.md"),
];

/// A code with its title and its section's text.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) text: &'static str,
}

/// Every section, in the order of the pages.
pub(crate) fn sections() -> impl Iterator<Item = Section> {
    PAGES.iter().flat_map(|page| page.split("\n## ").skip(1)).filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let (code, title) = heading.split_once(' ')?;
        Some(Section { code, title, text: text.trim() })
    })
}

/// The section of a code.
pub(crate) fn section(code: &str) -> Option<Section> {
    sections().find(|section| section.code == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::problem::CODES;
    use crate::shards::refusals;

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
