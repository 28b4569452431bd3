//! A real Prometheus that scrapes one server each second, with a key that may read metrics and
//! nothing else.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::mortal::{self, Mortal};
use stadium_testing::ports;
use stadium_testing::server::Server;
use tempfile::TempDir;

/// It ends with its owner; so does its data.
pub(super) struct Prometheus {
    _process: Mortal,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts it on the example configuration, with this server as its target, and waits for a scrape.
    pub(super) fn start(server: &Server, configuration: &str, rules: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let key = folder.path().join("stadium.key");
        std::fs::write(&key, reader_key(&server.api())?)?;
        let configuration = configuration
            .replace("/etc/prometheus/stadium.key", key.to_str().context("a path in UTF-8")?)
            .replace("127.0.0.1:8080", &server.http.to_string())
            .replace("interval: 15s", "interval: 1s");
        std::fs::write(folder.path().join("prometheus.yml"), configuration)?;
        std::fs::write(folder.path().join("alerts.yml"), rules)?;
        let checked = Command::new("promtool")
            .current_dir(folder.path())
            .args(["check", "config", "prometheus.yml"])
            .output()
            .context("cannot start promtool; install the Debian package prometheus")?;
        ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));

        let address = ports::free()?;
        let process = Mortal::start(
            mortal::command("prometheus")
                .current_dir(folder.path())
                .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
                .arg(format!("--web.listen-address={address}")),
        );
        let prometheus = Self { _process: process, address, _folder: folder };
        until_true(PATIENCE, "Prometheus to have scraped the server", || {
            // Until it listens, there is no answer at all.
            Ok(prometheus.query("up{job=\"stadium\"} == 1").is_ok_and(|series| series == 1))
        })?;
        Ok(prometheus)
    }

    /// The number of series that an expression has now.
    pub(super) fn query(&self, expression: &str) -> Result<usize> {
        let answer = self.get("/api/v1/query", &[("query", expression)])?;
        let result = answer["data"]["result"].as_array();
        Ok(result.with_context(|| format!("{expression}: {answer}"))?.len())
    }

    /// All alert rules, with their state.
    pub(super) fn rules(&self) -> Result<Vec<Value>> {
        let answer = self.get("/api/v1/rules", &[])?;
        let groups = answer["data"]["groups"].as_array().context("no groups")?;
        Ok(groups.iter().filter_map(|group| group["rules"].as_array()).flatten().cloned().collect())
    }

    fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value> {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request = agent.get(format!("http://{}{path}", self.address)).query_pairs(query.iter().copied());
        let text = request.call()?.body_mut().read_to_string()?;
        let answer: Value = serde_json::from_str(&text).with_context(|| text.clone())?;
        ensure!(answer["status"] == "success", "{query:?}: {answer}");
        Ok(answer)
    }
}

/// A key with the one right that a scrape asks for.
fn reader_key(api: &Api) -> Result<String> {
    let body = json!({ "name": "prometheus", "grants": ["node.read"] });
    let (status, answer) = api.post("/api/keys", &body)?;
    ensure!(status == 201, "{status}: {answer}");
    Ok(answer["secret"].as_str().context("no secret")?.to_owned())
}
