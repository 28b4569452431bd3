//! The pages of the console, and where each is served.
//!
//! The parts that all of them have are in page/frame.html; a page has a file of its name for the
//! rest.

use std::sync::OnceLock;

/// Only our own files, no inline script, no frames, no forms to elsewhere.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page of the console.
#[derive(Debug)]
pub struct Page {
    /// Its script's name.
    name: &'static str,
    /// Its title in the browser.
    title: &'static str,
    /// The link in the header that it belongs to.
    section: &'static str,
    /// Where it is served. Its script reads the address: a list and each of its items are the same
    /// document.
    pub paths: &'static [&'static str],
    /// Its style sheets, each over the one before; that of all pages comes last.
    styles: &'static [&'static str],
    /// The part that the link for keyboards skips to.
    skip: &'static str,
    /// The roles that allow the actions of the page.
    roles: &'static str,
    /// Where its figures are without JavaScript, besides the metrics.
    api: &'static str,
    /// The part of the header, then `<!-- main -->`, then the part below it.
    text: &'static str,
    /// Made when it is first asked for.
    document: OnceLock<String>,
}

impl Page {
    /// The whole document.
    #[must_use]
    pub fn document(&'static self) -> &'static str {
        self.document.get_or_init(|| self.make())
    }

    fn make(&self) -> String {
        let (tools, main) = self.text.split_once("<!-- main -->\n").expect("our own text has the mark");
        let tools = tools.trim_start_matches("<!-- tools -->\n").trim_end();
        let style = |name: &&str| format!("<link rel=\"stylesheet\" href=\"/assets/{name}.css\">");
        let styles: Vec<_> = self.styles.iter().chain(&["shell"]).map(style).collect();
        let link = |(path, title): &(&str, &str)| {
            let current = if *path == self.section { " aria-current=\"page\"" } else { "" };
            format!("    <a href=\"/{path}\"{current}>{title}</a>")
        };
        let links: Vec<_> = LINKS.iter().map(link).collect();
        let mut document = include_str!("page/frame.html").to_owned();
        for (mark, text) in [
            ("{{name}}", self.name),
            ("{{title}}", self.title),
            ("{{styles}}", &styles.join("\n")),
            ("{{skip}}", self.skip),
            ("{{tools}}", tools),
            ("{{links}}", &links.join("\n")),
            ("{{roles}}", self.roles),
            ("{{api}}", self.api),
            ("{{main}}", main.trim_end()),
            ("<!-- platform -->", include_str!("page/platform.html").trim_end()),
            ("<!-- server -->", include_str!("page/server.html").trim_end()),
        ] {
            document = document.replace(mark, text);
        }
        document
    }
}

/// Where one can go from each page.
const LINKS: [(&str, &str); 6] = [
    ("live", "Live"),
    ("pushes", "Push"),
    ("queues", "Queues"),
    ("wallets", "Wallets"),
    ("nodes", "Server"),
    ("docs", "API"),
];

/// The pages of the push platform ask for the same roles.
const PLATFORM_ROLES: &str = "The role <code>viewer</code> looks, <code>sender</code> pushes and saves, <code>operator</code> revokes. Contents of pushes take the right <code>push.payload</code>.";

/// As do the pages about the server.
const SERVER_ROLES: &str = "The role <code>viewer</code> looks, <code>operator</code> changes, and <code>admin</code> sees keys and the audit log.";

/// All pages that have an address of their own.
pub static PAGES: [Page; 18] = [
    Page {
        name: "live",
        title: "Live",
        section: "live",
        paths: &["/live"],
        styles: &["live"],
        skip: "the figures",
        roles: "The role <code>viewer</code> will do.",
        api: "",
        text: include_str!("page/live.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "history",
        title: "History",
        section: "live",
        paths: &["/history"],
        styles: &["live", "queues", "platform"],
        skip: "the charts",
        roles: "The role <code>viewer</code> will do.",
        api: " and <code>/api/history</code>",
        text: include_str!("page/history.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "queues",
        title: "Queues",
        section: "queues",
        paths: &["/queues", "/queues/{queue}"],
        styles: &["live", "queues"],
        skip: "the queues",
        roles: "The role <code>viewer</code> looks, and <code>operator</code> changes and purges. Payloads take the right <code>queue.payload</code>.",
        api: " and <code>/api/queues</code>",
        text: include_str!("page/queues.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "wallets",
        title: "Wallets",
        section: "wallets",
        paths: &["/wallets", "/wallets/{wallet}"],
        styles: &["live", "queues", "wallets"],
        skip: "the wallets",
        roles: "The role <code>viewer</code> will do.",
        api: " and <code>/api/wallets</code>",
        text: include_str!("page/wallets.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "pushes",
        title: "Pushes",
        section: "pushes",
        paths: &["/pushes", "/pushes/{push}"],
        styles: &["live", "queues", "platform"],
        skip: "the pushes",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/pushes.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "devices",
        title: "Devices",
        section: "pushes",
        paths: &["/devices", "/devices/{device}"],
        styles: &["live", "queues", "platform"],
        skip: "the devices",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/devices.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "audiences",
        title: "Audiences",
        section: "pushes",
        paths: &["/audiences"],
        styles: &["live", "queues", "platform"],
        skip: "the audiences",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/audiences.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "compose",
        title: "Compose a push",
        section: "pushes",
        paths: &["/compose"],
        styles: &["live", "queues", "platform"],
        skip: "the push",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/compose.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "schedules",
        title: "Schedules",
        section: "pushes",
        paths: &["/schedules"],
        styles: &["live", "queues", "platform"],
        skip: "the schedules",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/schedules.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "settings",
        title: "App settings",
        section: "pushes",
        paths: &["/settings"],
        styles: &["live", "queues", "platform"],
        skip: "the settings",
        roles: PLATFORM_ROLES,
        api: " and <code>/api/apps</code>",
        text: include_str!("page/settings.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "nodes",
        title: "Nodes",
        section: "nodes",
        paths: &["/nodes"],
        styles: &["live", "queues", "platform"],
        skip: "the nodes",
        roles: SERVER_ROLES,
        api: " and <code>/api/node</code>",
        text: include_str!("page/nodes.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "cluster",
        title: "Cluster",
        section: "nodes",
        paths: &["/cluster"],
        styles: &["live", "queues", "wallets", "cluster"],
        skip: "the cluster",
        roles: SERVER_ROLES,
        api: " and <code>/api/cluster</code>",
        text: include_str!("page/cluster.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "sessions",
        title: "Sessions",
        section: "nodes",
        paths: &["/sessions"],
        styles: &["live", "queues", "platform"],
        skip: "the sessions",
        roles: SERVER_ROLES,
        api: " and <code>/api/devices</code>",
        text: include_str!("page/sessions.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "retained",
        title: "Retained messages",
        section: "nodes",
        paths: &["/retained"],
        styles: &["live", "queues", "platform"],
        skip: "the messages",
        roles: SERVER_ROLES,
        api: " and <code>/api/retained</code>",
        text: include_str!("page/retained.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "services",
        title: "Services",
        section: "nodes",
        paths: &["/services"],
        styles: &["live", "queues", "platform"],
        skip: "the services",
        roles: SERVER_ROLES,
        api: " and <code>/api/services</code>",
        text: include_str!("page/services.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "configuration",
        title: "Configuration",
        section: "nodes",
        paths: &["/configuration"],
        styles: &["live", "queues", "platform"],
        skip: "the settings",
        roles: SERVER_ROLES,
        api: " and <code>/api/configuration</code>",
        text: include_str!("page/configuration.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "keys",
        title: "API keys",
        section: "nodes",
        paths: &["/keys"],
        styles: &["live", "queues", "platform"],
        skip: "the keys",
        roles: SERVER_ROLES,
        api: " and <code>/api/keys</code>",
        text: include_str!("page/keys.html"),
        document: OnceLock::new(),
    },
    Page {
        name: "audit",
        title: "Audit log",
        section: "nodes",
        paths: &["/audit"],
        styles: &["live", "queues", "platform"],
        skip: "the entries",
        roles: SERVER_ROLES,
        api: " and <code>/api/audit</code>",
        text: include_str!("page/audit.html"),
        document: OnceLock::new(),
    },
];

/// The page where there is none.
pub static UNKNOWN: Page = Page {
    name: "unknown",
    title: "Not found",
    section: "",
    paths: &[],
    styles: &["live", "queues", "platform"],
    skip: "the page",
    roles: "",
    api: "",
    text: include_str!("page/unknown.html"),
    document: OnceLock::new(),
};

static DOCS: Page = Page {
    name: "docs",
    title: "API",
    section: "docs",
    paths: &[],
    styles: &["live", "queues", "reference"],
    skip: "the operations",
    roles: "Any key will do: each operation says which right it asks for.",
    api: " and <code>/openapi.json</code>",
    text: include_str!("page/docs.html"),
    document: OnceLock::new(),
};

/// The page of the API's description, of which `operations` is the HTML.
#[must_use]
pub fn docs(operations: &str) -> String {
    DOCS.document().replace("<!-- operations -->", operations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_of_the_frame_is_filled_and_each_page_names_itself() {
        for page in PAGES.iter().chain([&DOCS]) {
            let (name, section, document) = (page.name, page.section, page.document());
            // Templates of a push, as in {{name|fan}}, are no marks of ours.
            for mark in ["name", "title", "styles", "skip", "tools", "links", "roles", "api", "main"] {
                assert!(!document.contains(&format!("{{{{{mark}}}}}")), "{name}: {mark}");
            }
            assert!(document.contains(&format!("<a href=\"/{section}\" aria-current=\"page\">")), "{name}");
            assert_eq!(document.matches("aria-current").count(), 1, "{name}");
            assert_eq!(document.matches("<main ").count(), 1, "{name}");
        }
    }

    #[test]
    fn every_file_that_a_page_loads_is_an_asset() {
        for page in PAGES.iter().chain([&DOCS, &UNKNOWN]) {
            for part in page.document().split("\"/assets/").skip(1) {
                let file = part.split('"').next().unwrap_or_default();
                assert!(crate::asset(file).is_some(), "{}: {file}", page.name);
            }
        }
    }
}
