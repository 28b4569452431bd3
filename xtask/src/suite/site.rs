//! The documentation as a site: it is built, with its links checked, and examined in a browser.

use std::path::Path;
use std::process::Command;

use super::watchdog::Victim;
use super::{NODE_FOLDER, Shown, ready, suite, tally};
use crate::docs;
use tally::Tally;

/// The suite's name.
pub(super) const NAME: &str = "Documentation site";

/// Builds the site and runs its tests, which drive Chromium with the packages of the Node clients.
pub(super) fn run(root: &Path, shown: Shown) -> Tally {
    if ready("Documentation site: build", || docs::check(root)).is_err() {
        return Tally { failed: 1, ..Tally::default() };
    }
    let mut node = Command::new("node");
    node.current_dir(root.join(NODE_FOLDER)).args(["--test", "--test-reporter=tap", "site.js"]);
    suite(NAME, &mut node, Victim::Command, shown, tally::node_line, |_| {})
}
