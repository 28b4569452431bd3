//! Pictures of a live page at phone and desktop width, dark and light:
//! `cargo run -p stadium-http --example pictures URL FOLDER [CONNECTED]`.
//!
//! It waits until the page shows some devices and a push under way, so that there is something to see.

#[path = "../tests/integration/support/browser.rs"]
mod browser;

use std::path::PathBuf;

use browser::{Browser, Look};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("give the page's URL and a folder for the pictures");
        std::process::exit(2);
    };
    let folder = PathBuf::from(folder);
    let mut browser = Browser::start();
    for (name, width, height, scheme) in [
        ("desktop-dark", 1440, 1180, "dark"),
        ("desktop-light", 1440, 1180, "light"),
        ("phone-dark", 390, 2900, "dark"),
        ("phone-light", 390, 2900, "light"),
    ] {
        browser.open(&url, Look { width, height, scheme, motion: "no-preference" });
        browser.wait_until("document.querySelectorAll('.loop').length > 0");
        browser.wait_until("document.getElementById('push-status').dataset.status === 'sending'");
        browser
            .wait_until("parseInt(document.getElementById('bar-sent').getAttribute('aria-valuenow')) > 40");
        browser.picture(&folder.join(format!("{name}.png")));
    }
    for complaint in &browser.complaints {
        eprintln!("{complaint}");
    }
}
