//! Wallets over HTTP as an application uses them, and `stadium wallet verify` as an auditor does.
//!
//! Transfers are named by their client: the same number is the same transfer.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::api::Api;
use crate::deadline::until;
use crate::server::binary;

/// The asset of the suites.
pub const ASSET: &str = "VOTE";

/// The wallets of one server.
#[derive(Clone, Debug)]
pub struct Wallets {
    api: Api,
}

/// A transfer's id, from a number of the suite's own.
pub fn id(number: u64) -> String {
    let hex = format!("{:032x}", u128::from(number) << 64 | 0x5ad1_0000_0000_0000);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The body of a transfer.
pub fn transfer(number: u64, debit: &str, credit: &str, amount: u64) -> Value {
    json!({"id": id(number), "debit": debit, "credit": credit, "asset": ASSET, "amount": amount})
}

impl Wallets {
    /// Of this server, with the asset declared.
    pub fn of(api: Api) -> Result<Self> {
        let (status, answer) = api.put(&format!("/api/assets/{ASSET}"), &json!({"scale": 0}))?;
        ensure!(status == 200 || status == 201, "{status}: {answer}");
        Ok(Self { api })
    }

    /// The API below.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Opens accounts that may not be overdrawn.
    pub fn open(&self, wallets: &[String]) -> Result<()> {
        for portion in wallets.chunks(1_000) {
            let accounts: Vec<Value> =
                portion.iter().map(|wallet| json!({"wallet": wallet, "asset": ASSET})).collect();
            let (status, answer) = self.api.post("/api/wallets", &json!({ "accounts": accounts }))?;
            ensure!(status == 200, "{status}: {answer}");
            let results = answer["results"].as_array().context("no results")?;
            let refused = results.iter().find(|result| !result["error"].is_null());
            ensure!(refused.is_none() && results.len() == portion.len(), "{refused:?}");
        }
        Ok(())
    }

    /// Books a transfer that must be booked.
    pub fn book(&self, number: u64, debit: &str, credit: &str, amount: u64) -> Result<Value> {
        let (status, answer) = self.api.post("/api/transfers", &transfer(number, debit, credit, amount))?;
        ensure!(status == 201, "{status}: {answer}");
        Ok(answer)
    }

    /// Asks until the server gives an answer that stays: booked or refused. `None`: `gives_up` was
    /// true before.
    pub fn settle(
        &self,
        path: &str,
        body: &Value,
        gives_up: impl Fn() -> bool,
    ) -> Result<Option<(u16, Value)>> {
        loop {
            match self.api.post(path, body) {
                Ok((429 | 503 | 504, _)) | Err(_) if gives_up() => return Ok(None),
                Ok((429 | 503 | 504, _)) => std::thread::sleep(Duration::from_millis(2)),
                Ok((status, answer)) if (200..500).contains(&status) => return Ok(Some((status, answer))),
                Ok((status, answer)) => bail!("{status}: {answer}"),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// One account as it stands.
    pub fn account(&self, wallet: &str) -> Result<Value> {
        let (status, answer) = self.api.read(&format!("/api/wallets/{}/{ASSET}", escaped(wallet)))?;
        ensure!(status == 200, "{wallet}: {status}: {answer}");
        Ok(answer)
    }

    /// An account's posted balance.
    pub fn posted(&self, wallet: &str) -> Result<i64> {
        number(&self.account(wallet)?["posted"])
    }

    /// Waits until nothing is between shards, and requires that the books balance.
    pub fn balanced(&self, within: Duration) -> Result<Value> {
        until(within, "the books to balance", || {
            let (status, answer) = self.api.read("/api/assets")?;
            ensure!(status == 200, "{status}: {answer}");
            let assets = answer["assets"].as_array().context("no assets")?;
            let asset = assets.iter().find(|asset| asset["asset"] == ASSET).context("no such asset")?;
            ensure!(asset["balanced"] == true, "{asset}");
            ensure!(number(&asset["credit"])? == number(&asset["debit"])?, "{asset}");
            Ok(Some(asset.clone()))
        })
    }
}

/// An amount: a number, or a text where it is large.
pub fn number(value: &Value) -> Result<i64> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_i64().or(text).with_context(|| format!("{value} is no amount"))
}

/// `stadium wallet verify` of a data directory whose server does not run.
pub fn verify(data: &Path) -> Result<Output> {
    Command::new(binary()?)
        .args(["wallet", "verify"])
        .arg(data)
        .stdin(Stdio::null())
        .output()
        .context("cannot run the binary")
}

/// The same, which must find everything in order.
pub fn verified(data: &Path) -> Result<String> {
    let shown = verify(data)?;
    let printed =
        format!("{}{}", String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    ensure!(shown.status.success(), "verify ended with {}: {printed}", shown.status);
    Ok(printed)
}

/// A wallet's name in a path: `@`, `:`, `{` and `}` are escaped.
fn escaped(wallet: &str) -> String {
    wallet.replace('@', "%40").replace(':', "%3A").replace('{', "%7B").replace('}', "%7D")
}
