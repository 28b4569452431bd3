//! Holds docs/mqtt.md and the behaviours together, see testing/statements.rs.
//!
//! Statements are `MQTT-…` of 5.0 and `3.1.1 MQTT-…`.

#[path = "../../../../../testing/statements.rs"]
mod statements;

use statements::Page;

const PAGE: Page =
    Page { path: "docs/mqtt.md", is_statement: |tag| tag.contains("MQTT-"), statements_min: 300 };

#[test]
fn document_and_stories_say_the_same() {
    PAGE.agrees_with_behaviours();
}

#[test]
fn stories_of_other_crates_exist() {
    PAGE.behaviours_elsewhere_exist();
}
