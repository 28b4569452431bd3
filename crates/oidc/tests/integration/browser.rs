//! A browser as far as a login needs one: redirects, cookies, and forms that a person fills in.
//!
//! The suite of `stadium-http` uses it too.

#![allow(dead_code, reason = "each suite uses its part")]

use std::collections::BTreeMap;
use std::time::Duration;

use stadium_token_keys::{Connections, agent};
use ureq::http::Uri;

/// More redirects than any login has.
const STEPS_MAX: usize = 20;

/// One person's browser.
pub struct Browser {
    agent: ureq::Agent,
    cookies: BTreeMap<String, String>,
}

/// Where a walk ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// At a page.
    Page(String),
    /// On the way to another server, at this URL.
    Left(String),
}

impl Browser {
    pub fn new(authorities: Option<&[u8]>) -> Self {
        let connections = Connections { timeout: Duration::from_secs(20), kept_max: 0 };
        let agent = agent(authorities, connections).expect("a client");
        Self { agent, cookies: BTreeMap::new() }
    }

    /// Follows a URL to a page, or to where it leaves the provider.
    pub fn open(&mut self, url: &str) -> Stop {
        self.walk(url, None)
    }

    /// Sends the form of a page, with its hidden fields and these.
    pub fn submit(&mut self, page: &str, fields: &[(&str, &str)]) -> Stop {
        let action = attribute(page, "<form", "action").expect("a form");
        let mut body: Vec<(String, String)> = Vec::new();
        for input in page.split("<input").skip(1) {
            let input = format!("<input{}", input.split('>').next().unwrap_or_default());
            if let (Some(name), Some(value)) =
                (attribute(&input, "<input", "name"), attribute(&input, "<input", "value"))
            {
                body.push((name, value));
            }
        }
        body.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.walk(&action, Some(&body))
    }

    /// Logs in at the provider's pages and consents. Returns the query of the callback.
    pub fn log_in(&mut self, authorization_url: &str, person: &str) -> String {
        query_of_callback(&self.walk_back(authorization_url, person))
    }

    /// The same. Returns the URL of the callback.
    pub fn walk_back(&mut self, authorization_url: &str, person: &str) -> String {
        let mut stop = self.open(authorization_url);
        for _ in 0..3 {
            stop = match stop {
                Stop::Page(page) if page.contains("name=\"password\"") => {
                    self.submit(&page, &[("login", person), ("password", "any")])
                }
                Stop::Page(page) => self.submit(&page, &[]),
                Stop::Left(url) => return url,
            };
        }
        panic!("the login does not end: {stop:?}");
    }

    fn walk(&mut self, url: &str, mut form: Option<&[(String, String)]>) -> Stop {
        let mut url = url.to_owned();
        for _ in 0..STEPS_MAX {
            let cookies: Vec<_> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let cookies = cookies.join("; ");
            let sent = match form.take() {
                Some(fields) => {
                    let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                    self.agent.post(&url).header("cookie", &cookies).send_form(fields)
                }
                None => self.agent.get(&url).header("cookie", &cookies).call(),
            };
            let mut response = sent.expect("the provider answers");
            for set in response.headers().get_all("set-cookie") {
                let set = set.to_str().expect("text");
                let (name, value) =
                    set.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
                match value.is_empty() {
                    true => self.cookies.remove(name),
                    false => self.cookies.insert(name.to_owned(), value.to_owned()),
                };
            }
            let Some(location) = response.headers().get("location") else {
                let page = response.body_mut().read_to_string().expect("text");
                assert!(response.status().is_success(), "{url}: {} {page}", response.status());
                return Stop::Page(page);
            };
            let location = location.to_str().expect("text");
            let next = match location.starts_with('/') {
                true => format!("{}{location}", origin(&url)),
                false => location.to_owned(),
            };
            if origin(&next) != origin(&url) {
                return Stop::Left(next);
            }
            url = next;
        }
        panic!("more than {STEPS_MAX} redirects, to {url}");
    }
}

/// The query of a URL that is the callback's.
pub fn query_of_callback(url: &str) -> String {
    let (path, query) = url.split_once('?').unwrap_or_else(|| panic!("not the callback: {url}"));
    assert!(path.ends_with("/callback"), "not the callback: {url}");
    query.to_owned()
}

/// The value of a parameter in a URL or a query.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?').map_or(url, |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

fn origin(url: &str) -> String {
    let uri: Uri = url.parse().expect("a URL");
    format!("{}://{}", uri.scheme_str().expect("a scheme"), uri.authority().expect("a host"))
}

/// An attribute of the first element with this start.
fn attribute(page: &str, start: &str, name: &str) -> Option<String> {
    let element = page.split_once(start)?.1.split('>').next()?;
    let value = element.split_once(&format!(" {name}=\""))?.1.split('"').next()?;
    Some(value.replace("&amp;", "&"))
}
