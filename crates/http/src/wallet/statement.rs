//! Statements: all entries of an account, newest first, as CSV or JSON, however long.
//!
//! Pages are read from the journal as the client takes them. A failure after the first page ends
//! the connection early, so that nobody takes half of a statement for all of it; a JSON statement
//! has the number of its entries at its end.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use stadium_wallet::{AssetCode, Command, Direction, Entry, EntryPage, Range, WalletName};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use crate::csv_text;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::shards::ask_for;
use crate::spelling::{spelled, timestamp};
use crate::wallet::amount::decimal;
use crate::wallet::views::{BookWord, EntryReport, other};

/// Entries read at once: a page of about 200 KB.
const PAGE: u32 = 500;

/// How a statement looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// RFC 4180, amounts as decimals.
    Csv,
    /// One object, amounts as everywhere in the API.
    Json,
}

/// The first line of a CSV statement.
const COLUMNS: &str =
    "number,booked_at,effective_at,id,kind,other,amount,balance,asset,reference,of,metadata,principal\r\n";

/// Which account, and how much of its history.
pub(crate) struct Statement {
    pub(crate) app: Arc<App>,
    pub(crate) wallet: WalletName,
    pub(crate) asset: AssetCode,
    /// Digits behind the point.
    pub(crate) scale: u8,
    pub(crate) range: Range,
    pub(crate) format: Format,
    /// Entries so far.
    pub(crate) entries: u64,
}

impl Statement {
    /// The body. The first page is read before this returns, so that a refusal is a problem and no
    /// broken file.
    pub(crate) async fn begin(mut self) -> Result<Body, Problem> {
        self.range.entries_max = PAGE;
        let first = self.page().await?;
        let mut text = String::with_capacity(64 * 1024);
        match self.format {
            Format::Csv => text.push_str(COLUMNS),
            Format::Json => text.push_str(&self.head()),
        }
        let more = self.write(&first, &mut text);
        let first = tokio_stream::once(Ok(Bytes::from(text)));
        Ok(Body::from_stream(first.chain(later_pages(self, more))))
    }

    async fn page(&self) -> Result<EntryPage, Problem> {
        let Self { wallet, asset, range, .. } = self;
        let (wallet, asset, range) = (wallet.clone(), asset.clone(), range.clone());
        ask_for(&self.app, Command::History { wallet, asset, range }).await
    }

    /// Writes a page, and the end where it is the last one. Whether there is another.
    fn write(&mut self, page: &EntryPage, text: &mut String) -> bool {
        for entry in &page.entries {
            match self.format {
                Format::Csv => self.line(entry, text),
                Format::Json => {
                    text.push_str(if self.entries == 0 { "\n" } else { ",\n" });
                    let entry = serde_json::to_string(&EntryReport::of(entry));
                    text.push_str(&entry.expect("strings and numbers always serialise"));
                }
            }
            self.entries += 1;
        }
        self.range.before = page.before;
        if page.before.is_none() && self.format == Format::Json {
            text.push_str(&format!("\n],\"entry_count\":{}}}\n", self.entries));
        }
        page.before.is_some()
    }

    fn head(&self) -> String {
        let head = serde_json::json!({
            "wallet": self.wallet.as_str(),
            "asset": self.asset.as_str(),
            "scale": self.scale,
            "from": self.range.from.map(timestamp),
            "to": self.range.to.map(timestamp),
        });
        let head = head.to_string();
        format!("{},\"entries\":[", head.strip_suffix('}').expect("an object ends so"))
    }

    /// One line of CSV. An amount that went out is negative.
    fn line(&self, entry: &Entry, text: &mut String) {
        let transfer = &entry.transfer;
        let amount = i128::from(transfer.amount);
        let amount = if entry.direction == Direction::Debit { -amount } else { amount };
        let (metadata, base64) = spelled(&transfer.metadata);
        let fields = [
            entry.number.to_string(),
            timestamp(transfer.at),
            transfer.effective.map(timestamp).unwrap_or_default(),
            transfer.transfer.to_string(),
            BookWord::from(transfer.state).word().to_owned(),
            other(entry).to_owned(),
            decimal(amount, self.scale),
            decimal(entry.balance.into(), self.scale),
            transfer.asset.to_string(),
            transfer.reference.clone(),
            transfer.of.map(|of| of.to_string()).unwrap_or_default(),
            metadata.or(base64).unwrap_or_default(),
            transfer.principal.as_ref().map(ToString::to_string).unwrap_or_default(),
        ];
        csv_text::line(fields.iter().map(String::as_str), text);
    }
}

/// The pages after the first, as chunks of the body.
fn later_pages(mut statement: Statement, mut more: bool) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let (send, receive) = mpsc::channel(1);
    tokio::spawn(async move {
        while more {
            let chunk = match statement.page().await {
                Ok(page) => {
                    let mut text = String::with_capacity(64 * 1024);
                    more = statement.write(&page, &mut text);
                    Ok(Bytes::from(text))
                }
                Err(problem) => {
                    more = false;
                    tracing::warn!(
                        error = problem.in_words(),
                        wallet = statement.wallet.as_str(),
                        "Statement broke off"
                    );
                    Err(io::Error::other(problem.in_words()))
                }
            };
            // A client that went away wants no more.
            if send.send(chunk).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receive)
}
