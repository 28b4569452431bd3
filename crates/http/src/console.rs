//! The console: its pages, each one document, its style and its scripts, all in the binary.
//!
//! The pages hold no data: they ask the API like any other client, with the API key in a header. So the pages
//! themselves need no key, and a policy forbids them to load or send anything elsewhere. What all of them have is in
//! console/frame.html.

use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};

use crate::request::problem::{PATH_UNKNOWN, Problem};
use crate::request::query::Name;

/// Only our own files, no inline script, no frames, no forms to elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What one page has of its own.
struct Page {
    /// Its path without the slash, and its script's name.
    name: &'static str,
    /// Which of the links in the header it belongs to.
    section: &'static str,
    /// Its style sheets, each over the one before.
    styles: &'static [&'static str],
    /// What one skips to.
    skip: &'static str,
    /// What which role may do here.
    roles: &'static str,
    /// Where its figures are without JavaScript, besides the metrics.
    api: &'static str,
    /// What stands in the header, then `<!-- main -->`, then what stands below it.
    text: &'static str,
}

impl Page {
    /// The whole document.
    fn document(&self) -> String {
        let (tools, main) = self.text.split_once("<!-- main -->\n").expect("our own text has the mark");
        let tools = tools.trim_start_matches("<!-- tools -->\n").trim_end();
        let style = |name: &&str| format!("<link rel=\"stylesheet\" href=\"/assets/{name}.css\">");
        let styles: Vec<_> = self.styles.iter().map(style).collect();
        let link = |(path, title): &(&str, &str)| {
            let current = if *path == self.section { " aria-current=\"page\"" } else { "" };
            format!("    <a href=\"/{path}\"{current}>{title}</a>")
        };
        let links: Vec<_> = LINKS.iter().map(link).collect();
        let mut document = include_str!("console/frame.html").to_owned();
        for (mark, text) in [
            ("{{name}}", self.name),
            ("{{styles}}", &styles.join("\n")),
            ("{{skip}}", self.skip),
            ("{{tools}}", tools),
            ("{{links}}", &links.join("\n")),
            ("{{roles}}", self.roles),
            ("{{api}}", self.api),
            ("{{main}}", main.trim_end()),
            ("<!-- platform -->", include_str!("console/platform.html").trim_end()),
        ] {
            document = document.replace(mark, text);
        }
        document
    }
}

/// Where one can go from each page.
const LINKS: [(&str, &str); 5] =
    [("live", "Live"), ("pushes", "Push"), ("queues", "Queues"), ("wallets", "Wallets"), ("docs", "API")];

static LIVE: LazyLock<String> = LazyLock::new(|| {
    let page = Page {
        name: "live",
        section: "live",
        styles: &["live"],
        skip: "the figures",
        roles: "Any role will do.",
        api: "",
        text: include_str!("console/live.html"),
    };
    page.document()
});

static QUEUES: LazyLock<String> = LazyLock::new(|| {
    let page = Page {
        name: "queues",
        section: "queues",
        styles: &["live", "queues"],
        skip: "the queues",
        roles: "Looking takes any role; changing something takes one that may <code>send</code>, and purging an <code>admin</code>'s.",
        api: " and <code>/api/queues</code>",
        text: include_str!("console/queues.html"),
    };
    page.document()
});

static WALLETS: LazyLock<String> = LazyLock::new(|| {
    let page = Page {
        name: "wallets",
        section: "wallets",
        styles: &["live", "queues", "wallets"],
        skip: "the wallets",
        roles: "Any role will do.",
        api: " and <code>/api/wallets</code>",
        text: include_str!("console/wallets.html"),
    };
    page.document()
});

/// The pages of the push platform, which have their links to each other in common.
macro_rules! platform_pages {
    ($($page:ident $handler:ident $name:literal $skip:literal;)*) => {
        $(
            static $page: LazyLock<String> = LazyLock::new(|| {
                let page = Page {
                    name: $name,
                    section: "pushes",
                    styles: &["live", "queues", "platform"],
                    skip: $skip,
                    roles: "Looking takes any role; pushing and saving take one that may <code>send</code>, revoking an <code>admin</code>'s.",
                    api: " and <code>/api/apps</code>",
                    text: include_str!(concat!("console/", $name, ".html")),
                };
                page.document()
            });

            /// The same document for the list and for each one, where there is a list: its script reads the address.
            pub(crate) async fn $handler() -> Response {
                with_policy(Html($page.as_str()).into_response())
            }
        )*
    };
}

platform_pages! {
    PUSHES pushes "pushes" "the pushes";
    DEVICES devices "devices" "the devices";
    AUDIENCES audiences "audiences" "the audiences";
    COMPOSE compose "compose" "the push";
    SCHEDULES schedules "schedules" "the schedules";
}

pub(crate) async fn live() -> Response {
    with_policy(Html(LIVE.as_str()).into_response())
}

/// The same document for the list and for each queue: its script reads the address.
pub(crate) async fn queues() -> Response {
    with_policy(Html(QUEUES.as_str()).into_response())
}

/// The same document for the list and for each wallet.
pub(crate) async fn wallets() -> Response {
    with_policy(Html(WALLETS.as_str()).into_response())
}

pub(crate) async fn asset(Name(file): Name) -> Result<Response, Problem> {
    let (kind, text) = match file.as_str() {
        "live.css" => (CSS, include_str!("console/live.css")),
        "live.js" => (JAVASCRIPT, include_str!("console/live.js")),
        "queues.css" => (CSS, include_str!("console/queues.css")),
        "queues.js" => (JAVASCRIPT, include_str!("console/queues.js")),
        "job.js" => (JAVASCRIPT, include_str!("console/job.js")),
        "platform.css" => (CSS, include_str!("console/platform.css")),
        "platform.js" => (JAVASCRIPT, include_str!("console/platform.js")),
        "pushes.js" => (JAVASCRIPT, include_str!("console/pushes.js")),
        "devices.js" => (JAVASCRIPT, include_str!("console/devices.js")),
        "audiences.js" => (JAVASCRIPT, include_str!("console/audiences.js")),
        "compose.js" => (JAVASCRIPT, include_str!("console/compose.js")),
        "schedules.js" => (JAVASCRIPT, include_str!("console/schedules.js")),
        "wallets.css" => (CSS, include_str!("console/wallets.css")),
        "wallets.js" => (JAVASCRIPT, include_str!("console/wallets.js")),
        "console.js" => (JAVASCRIPT, include_str!("console/console.js")),
        "lights.js" => (JAVASCRIPT, include_str!("console/lights.js")),
        "chart.js" => (JAVASCRIPT, include_str!("console/chart.js")),
        "docs.css" => (CSS, include_str!("console/docs.css")),
        "icon.svg" => ("image/svg+xml", include_str!("console/icon.svg")),
        _ => return Err(Problem::new(PATH_UNKNOWN, format!("there is no asset {file:?}"))),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        // The files change with the binary; asking each time costs a loopback request.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, text).into_response())
}

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

pub(crate) fn with_policy(mut page: Response) -> Response {
    page.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_of_the_frame_is_filled_and_each_page_names_itself() {
        for (page, name, section) in [
            (&LIVE, "live", "live"),
            (&QUEUES, "queues", "queues"),
            (&WALLETS, "wallets", "wallets"),
            (&PUSHES, "pushes", "pushes"),
            (&DEVICES, "devices", "pushes"),
            (&AUDIENCES, "audiences", "pushes"),
            (&COMPOSE, "compose", "pushes"),
            (&SCHEDULES, "schedules", "pushes"),
        ] {
            // Templates of a push, as in {{name|fan}}, are no marks of ours.
            for mark in ["name", "styles", "skip", "tools", "links", "roles", "api", "main"] {
                assert!(!page.contains(&format!("{{{{{mark}}}}}")), "{name}: {mark}");
            }
            assert!(page.contains(&format!("<a href=\"/{section}\" aria-current=\"page\">")), "{name}");
            assert_eq!(page.matches("aria-current").count(), 1, "{name}");
            assert_eq!(page.matches("<main ").count(), 1, "{name}");
        }
    }
}
