//! The product's own load generator: `stadium load run` with one loop on the client's core.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::peers::{Reached, output};
use super::sizes::Sizes;
use crate::process::Cores;
use crate::server::Places;

/// One GET after the other on kept connections.
pub(super) fn get(url: &str, sizes: &Sizes) -> String {
    let phases = closed(sizes);
    let tls = if url.starts_with("https") { "tls = { insecure = true }\n" } else { "" };
    format!(
        "name = \"get\"\n[targets.nginx]\nurl = \"{url}\"\n{tls}{phases}\
         [[sessions]]\nname = \"get\"\nsteps = [{{ repeat = \"forever\", steps = [{{ name = \"get\", get = \"/\" }}] }}]\n"
    )
}

/// Log in, list, balance, vote, over and over on kept connections.
pub(super) fn vote(url: &str, sizes: &Sizes) -> String {
    let phases = closed(sizes);
    format!(
        r#"name = "vote"
[targets.nginx]
url = "{url}"
headers = {{ content-type = "application/json" }}
{phases}
[[sessions]]
name = "vote"
[[sessions.steps]]
repeat = "forever"
[[sessions.steps.steps]]
name = "log in"
post = "/login"
json = {{ user = "user-${{user()}}" }}
extract = {{ token = "$.token" }}
check = {{ status = 200 }}
[[sessions.steps.steps]]
name = "list"
get = "/candidates"
headers = {{ authorization = "Bearer ${{token}}" }}
extract = {{ candidate = "$.candidates[1].id" }}
check = {{ status = 200 }}
[[sessions.steps.steps]]
name = "balance"
get = "/balance"
headers = {{ authorization = "Bearer ${{token}}" }}
extract = {{ balance = "$.balance" }}
check = [{{ status = 200 }}, {{ holds = "balance > 0" }}]
[[sessions.steps.steps]]
name = "vote"
post = "/vote"
headers = {{ authorization = "Bearer ${{token}}" }}
json = {{ candidate = "${{candidate}}" }}
check = {{ status = 200, json = {{ "$.ok" = true }} }}
"#
    )
}

/// Requests at a fixed rate, over as many shared connections.
pub(super) fn fixed(url: &str, sizes: &Sizes) -> String {
    let Sizes { connections, rate, seconds, .. } = sizes;
    format!(
        "name = \"fixed rate\"\n[targets.nginx]\nurl = \"{url}\"\nconnections = {{ shared = {connections} }}\n\
         [[phases]]\nname = \"warm up\"\nduration = \"2s\"\nrate = {rate}\nmeasured = false\n\
         [[phases]]\nname = \"measure\"\nduration = \"{seconds}s\"\nrate = {rate}\n\
         [[sessions]]\nname = \"get\"\nsteps = [{{ name = \"get\", get = \"/\" }}]\n"
    )
}

fn closed(sizes: &Sizes) -> String {
    let Sizes { connections, seconds, .. } = sizes;
    format!(
        "[[phases]]\nname = \"warm up\"\nduration = \"2s\"\nusers = {connections}\nmeasured = false\n\
         [[phases]]\nname = \"measure\"\nduration = \"{seconds}s\"\nusers = {connections}\n"
    )
}

/// Runs a scenario and returns its result.
pub(super) fn run(places: &Places, folder: &Path, scenario: &str) -> Result<Value> {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario)?;
    let out = folder.join("result");
    let mut stadium = Cores::Second.command(&places.stadium());
    stadium.args(["load", "run", "--quiet", "--loops", "1", "--out"]).arg(&out).arg(&file);
    output(&mut stadium)?;
    let text = fs::read_to_string(out.join("result.json")).context("no result")?;
    serde_json::from_str(&text).context("result.json")
}

/// Requests a second of a result, counted over the measured seconds.
pub(super) fn requests(result: &Value, sizes: &Sizes) -> Result<Reached> {
    let answered = result["total"]["answered"].as_f64().context("no count of answers")?;
    Ok(Reached { per_second: answered / f64::from(sizes.seconds), failed: failures(result) })
}

/// Sessions of four steps a second of a result.
pub(super) fn sessions(result: &Value, sizes: &Sizes) -> Result<Reached> {
    let steps = result["steps"].as_array().context("no steps")?;
    let votes = steps.iter().find(|step| step["name"] == "vote").context("no step vote")?;
    let answered = votes["requests"]["answered"].as_f64().context("no count of votes")?;
    Ok(Reached { per_second: answered / f64::from(sizes.seconds), failed: failures(result) })
}

fn failures(result: &Value) -> f64 {
    result["total"]["errors"]
        .as_object()
        .map_or(0.0, |errors| errors.values().filter_map(Value::as_f64).sum())
}

/// A quantile of a histogram of a result: buckets of nanoseconds and counts. In milliseconds.
pub(super) fn quantile_ms(histogram: &Value, quantile: f64) -> Result<f64> {
    let buckets: Vec<(f64, f64)> = serde_json::from_value(histogram.clone()).context("not a histogram")?;
    let total: f64 = buckets.iter().map(|(_, count)| count).sum();
    ensure!(total > 0.0, "an empty histogram");
    let mut seen = 0.0;
    for (ns, count) in &buckets {
        seen += count;
        if seen >= quantile * total {
            return Ok(ns / 1e6);
        }
    }
    bail!("a histogram that ends before its end")
}
