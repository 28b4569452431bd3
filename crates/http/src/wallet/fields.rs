//! Requests about wallets, read strictly: a misspelt field is refused with its path.
//!
//! Bounds of values are the wallet's own to check, so that every interface has the same ones; here is checked what is
//! JSON's alone, and that a transfer names what its kind needs and nothing else.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use stadium_wallet::{
    AssetCode, Bounds, Change, Kind, NewAccount, NewTransfer, Overdraft, TransferId, WalletName,
};
use stadium_wallet::{Refusal, refusal};
use utoipa::ToSchema;

use crate::request::problem::Problem;
use crate::spelling::{bytes_of, field, named, parse_timestamp};
use crate::wallet::amount::AmountField;
use crate::wallet::views::OverdraftWord;

/// An asset to be made known.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssetFields {
    /// Digits behind the point when an amount is shown, 0 to 18: 2 for EUR, 0 for votes.
    #[schema(minimum = 0, maximum = 18, example = 2)]
    pub(crate) scale: u8,
}

/// An account to be opened.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccountFields {
    /// Letters, digits and `-_.:@{}`, at most 64 bytes. Wallets with the same part in braces live together. One that begins
    /// with `@` is a system wallet, whose accounts open by themselves.
    #[schema(max_length = 64, example = "alice")]
    wallet: String,
    /// Which asset; it must be known.
    #[schema(max_length = 16, example = "EUR")]
    asset: String,
    /// Whether it may be overdrawn: `never` by default.
    #[serde(default)]
    overdraft: Option<OverdraftWord>,
    /// The most that it may hold; no bound by default.
    #[serde(default)]
    ceiling: Option<AmountField>,
}

impl AccountFields {
    /// The account. `at` is where the fields are in the body: empty, or as in `accounts[3].`.
    pub(crate) fn check(self, at: &str) -> Result<NewAccount, Problem> {
        // Of several accounts each has an outcome of its own, and a request with a value that no
        // account can have has none.
        if let Some(AmountField(ceiling)) = self.ceiling
            && ceiling > Bounds::AMOUNT_MAX
        {
            let reason = format!("a ceiling is at most {}", Bounds::AMOUNT_MAX);
            let refused = Refusal::Rejected { code: refusal::AMOUNT, reason };
            return Err(Problem::from(refused).at(format!("{at}ceiling")));
        }
        Ok(NewAccount {
            wallet: named(&format!("{at}wallet"), WalletName::new(&self.wallet))?,
            asset: named(&format!("{at}asset"), AssetCode::new(&self.asset))?,
            overdraft: self.overdraft.map_or_else(Overdraft::default, Into::into),
            ceiling: self.ceiling.map(|AmountField(ceiling)| ceiling),
        })
    }
}

/// Several accounts, each with an outcome of its own.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeveralAccounts {
    /// 1 to 1,000.
    pub(crate) accounts: Vec<AccountFields>,
}

/// What is opened: one account, or several under `accounts`.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body; its two cases are read as themselves, for better errors")]
pub(crate) enum OpenFields {
    /// One account.
    One(AccountFields),
    /// Several accounts.
    Several(SeveralAccounts),
}

/// Distinguishes the two cases of [`OpenFields`].
#[derive(Deserialize)]
pub(crate) struct OpenProbe {
    pub(crate) accounts: Option<serde::de::IgnoredAny>,
}

/// The fields of an account that change; fields that are left out stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeFields {
    /// Whether it may be overdrawn. `never` is refused while it is.
    #[serde(default)]
    overdraft: Option<OverdraftWord>,
    /// The most that it may hold; `null` takes the bound away. The amount that it holds already may
    /// be above.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<AmountField>)]
    ceiling: Option<Option<AmountField>>,
    /// `true`: no transfer and no hold from now on. `false` opens it again.
    #[serde(default)]
    closed: Option<bool>,
}

/// Distinguishes a field that is `null` from one that is left out.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<AmountField>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl ChangeFields {
    pub(crate) fn check(self) -> Result<Change, Problem> {
        let Self { overdraft, ceiling, closed } = self;
        if overdraft.is_none() && ceiling.is_none() && closed.is_none() {
            return Err(field("", "say what becomes different: `overdraft`, `ceiling` or `closed`"));
        }
        Ok(Change {
            overdraft: overdraft.map(Into::into),
            ceiling: ceiling.map(|bound| bound.map(|AmountField(amount)| amount)),
            closed,
        })
    }
}

/// What a transfer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KindWord {
    /// Moves an amount now.
    #[default]
    Post,
    /// The amount stays with its owner and is no longer available, until it is captured, voided, or has expired.
    Hold,
    /// Moves what was held, or a part of it; the rest is available again.
    Capture,
    /// The held amount is available again.
    Void,
    /// Moves all of a posted or captured transfer back.
    Reverse,
}

impl KindWord {
    /// As the API spells it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Hold => "hold",
            Self::Capture => "capture",
            Self::Void => "void",
            Self::Reverse => "reverse",
        }
    }
}

/// A transfer, at most once for its id. A `post` and a `hold` name `debit`, `credit`, `asset` and `amount`, a hold
/// also `expires_after_ms`; a `capture`, a `void` and a `reverse` name in `of` what they concern.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransferFields {
    /// Any 128 bits, written as a UUID. The same id with the same content gives the first answer, with other content
    /// `WAL-026`. Made of the header `Idempotency-Key` where it is left out.
    #[serde(default)]
    #[schema(format = "uuid", example = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b")]
    pub(crate) id: Option<String>,
    /// The kind of transfer; `post` by default.
    #[serde(default)]
    kind: KindWord,
    /// The wallet that the amount leaves.
    #[serde(default)]
    #[schema(max_length = 64, example = "alice")]
    debit: Option<String>,
    /// The wallet that gets it; another one.
    #[serde(default)]
    #[schema(max_length = 64, example = "@shop")]
    credit: Option<String>,
    /// Of what.
    #[serde(default)]
    #[schema(max_length = 16, example = "EUR")]
    asset: Option<String>,
    /// How much. Of a capture at most what is held; all of it where it is left out.
    #[serde(default)]
    amount: Option<AmountField>,
    /// A hold ends by itself so many milliseconds from now: 1,000 to 31,622,400,000.
    #[serde(default)]
    expires_after_ms: Option<u64>,
    /// The hold that is captured or voided, or the transfer that is reversed.
    #[serde(default)]
    #[schema(format = "uuid")]
    of: Option<String>,
    /// What an outside system calls it, to find and reconcile it by; at most 128 bytes.
    #[serde(default)]
    #[schema(max_length = 128, example = "order-17")]
    reference: Option<String>,
    /// Anything, at most 1 KiB. A string is kept as its UTF-8 text; anything else as the JSON text given.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>, example = json!({"candidate": 7}))]
    metadata: Option<Box<RawValue>>,
    /// The metadata as base64, for bytes that are not text.
    #[serde(default)]
    metadata_base64: Option<String>,
    /// When it counts for the books (RFC 3339), where that is not when it is booked. Only shown and exported.
    #[serde(default)]
    #[schema(format = "date-time")]
    effective_at: Option<String>,
}

impl TransferFields {
    /// The transfer under its id. `at` is where the fields are in the body: empty, or as in `transfers[3].`.
    pub(crate) fn check(self, at: &str, id: TransferId) -> Result<NewTransfer, Problem> {
        let kind = match self.kind {
            KindWord::Post => {
                self.needs_no(at, &["expires_after_ms", "of"])?;
                let (debit, credit) = self.wallets(at)?;
                Kind::Post { debit, credit, asset: self.asset(at)?, amount: self.amount(at)? }
            }
            KindWord::Hold => {
                self.needs_no(at, &["of"])?;
                let (debit, credit) = self.wallets(at)?;
                let expires_after = need(at, "expires_after_ms", self.kind, self.expires_after_ms)?;
                Kind::Hold { debit, credit, asset: self.asset(at)?, amount: self.amount(at)?, expires_after }
            }
            KindWord::Capture => {
                self.needs_no(at, &["debit", "credit", "asset", "expires_after_ms"])?;
                Kind::Capture { hold: self.concerns(at)?, amount: self.amount.map(|AmountField(most)| most) }
            }
            KindWord::Void => {
                self.needs_no(at, &["debit", "credit", "asset", "amount", "expires_after_ms"])?;
                Kind::Void { hold: self.concerns(at)? }
            }
            KindWord::Reverse => {
                self.needs_no(at, &["debit", "credit", "asset", "amount", "expires_after_ms"])?;
                Kind::Reverse { transfer: self.concerns(at)? }
            }
        };
        let metadata = bytes_of(at, "metadata", self.metadata.as_deref(), self.metadata_base64.as_deref())?;
        let effective = self.effective_at.as_deref().map(parse_timestamp).transpose();
        Ok(NewTransfer {
            id,
            kind,
            reference: self.reference.unwrap_or_default(),
            metadata: metadata.unwrap_or_default(),
            effective: effective.map_err(|detail| field(&format!("{at}effective_at"), &detail))?,
        })
    }

    /// Refuses fields that have no meaning for a transfer of this kind.
    fn needs_no(&self, at: &str, names: &[&str]) -> Result<(), Problem> {
        let given = |name: &str| match name {
            "debit" => self.debit.is_some(),
            "credit" => self.credit.is_some(),
            "asset" => self.asset.is_some(),
            "amount" => self.amount.is_some(),
            "expires_after_ms" => self.expires_after_ms.is_some(),
            _ => self.of.is_some(),
        };
        match names.iter().find(|name| given(name)) {
            None => Ok(()),
            Some(name) => {
                let detail = format!("it says nothing about a transfer of the kind `{}`", self.kind.word());
                Err(field(&format!("{at}{name}"), &detail))
            }
        }
    }

    fn wallets(&self, at: &str) -> Result<(WalletName, WalletName), Problem> {
        let wallet = |name, given: &Option<String>| {
            let text = need(at, name, self.kind, given.as_deref())?;
            named(&format!("{at}{name}"), WalletName::new(text))
        };
        Ok((wallet("debit", &self.debit)?, wallet("credit", &self.credit)?))
    }

    fn asset(&self, at: &str) -> Result<AssetCode, Problem> {
        let text = need(at, "asset", self.kind, self.asset.as_deref())?;
        named(&format!("{at}asset"), AssetCode::new(text))
    }

    fn amount(&self, at: &str) -> Result<u64, Problem> {
        need(at, "amount", self.kind, self.amount).map(|AmountField(amount)| amount)
    }

    fn concerns(&self, at: &str) -> Result<TransferId, Problem> {
        let text = need(at, "of", self.kind, self.of.as_deref())?;
        named(&format!("{at}of"), text.parse())
    }
}

fn need<T>(at: &str, name: &str, kind: KindWord, given: Option<T>) -> Result<T, Problem> {
    given.ok_or_else(|| {
        let detail = format!("a transfer of the kind `{}` needs `{name}`", kind.word());
        field(&format!("{at}{name}"), &detail)
    })
}

/// A capture, a void or a reversal of the transfer in the path.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepFields {
    /// An id of its own. Without it and without an `Idempotency-Key` one is made of the id in the path, so that a repeated
    /// request is a duplicate.
    #[serde(default)]
    #[schema(format = "uuid")]
    pub(crate) id: Option<String>,
    /// Of a capture: how much, at most what is held; all of it where it is left out.
    #[serde(default)]
    amount: Option<AmountField>,
    /// What an outside system calls it; at most 128 bytes.
    #[serde(default)]
    #[schema(max_length = 128)]
    reference: Option<String>,
    /// Anything, at most 1 KiB, as in a transfer.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    metadata: Option<Box<RawValue>>,
    /// The metadata as base64.
    #[serde(default)]
    metadata_base64: Option<String>,
    /// When it counts for the books (RFC 3339).
    #[serde(default)]
    #[schema(format = "date-time")]
    effective_at: Option<String>,
}

impl StepFields {
    /// The transfer of a kind that does this to another one.
    pub(crate) fn check(
        self,
        kind: KindWord,
        of: TransferId,
        id: TransferId,
    ) -> Result<NewTransfer, Problem> {
        let Self { amount, reference, metadata, metadata_base64, effective_at, .. } = self;
        TransferFields {
            id: None,
            kind,
            debit: None,
            credit: None,
            asset: None,
            amount,
            expires_after_ms: None,
            of: Some(of.to_string()),
            reference,
            metadata,
            metadata_base64,
            effective_at,
        }
        .check("", id)
    }
}

/// Several transfers.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchFields {
    /// All of them or none; else each by itself.
    #[serde(default)]
    pub(crate) linked: bool,
    /// 1 to 1,000.
    pub(crate) transfers: Vec<TransferFields>,
}

/// Transfers, jobs and pushes in one record: all of it or none.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TogetherFields {
    /// 1 to 1,000, linked: their accounts, but for system wallets, live on one shard.
    pub(crate) transfers: Vec<TransferFields>,
    /// Jobs that are put with them.
    #[serde(default)]
    pub(crate) jobs: Vec<QueuedFields>,
    /// Pushes that are made with them: each becomes a job of the queue `stadium.pushes`, which is worked on at once.
    #[serde(default)]
    #[schema(value_type = Vec<crate::push::direct::fields::PushRequest>)]
    pub(crate) pushes: Vec<Box<RawValue>>,
}

/// A job and the queue that it goes to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueuedFields {
    /// The queue; made, with the usual settings, where there is none.
    #[schema(example = "mails")]
    pub(crate) queue: String,
    /// The job, as in a put.
    pub(crate) job: crate::queue::fields::JobFields,
}

/// The transfers under their ids.
pub(crate) fn transfers(
    fields: Vec<TransferFields>,
    request: &crate::wallet::ids::RequestId,
) -> Result<Vec<NewTransfer>, Problem> {
    let each = |(index, transfer): (usize, TransferFields)| {
        let at = format!("transfers[{index}].");
        let id = request.nth(index, transfer.id.as_deref(), &at)?;
        transfer.check(&at, id)
    };
    fields.into_iter().enumerate().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<NewTransfer, Problem> {
        let fields: TransferFields = serde_json::from_str(json).expect("it has the right fields");
        fields.check("", TransferId(1))
    }

    #[test]
    fn a_transfer_names_what_its_kind_needs_and_nothing_else() {
        const UUID: &str = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
        let two = r#""debit": "a", "credit": "b", "asset": "EUR""#;
        for (json, wrong) in [
            (format!(r#"{{{two}, "amount": 5}}"#), None),
            (format!(r#"{{"kind": "hold", {two}, "amount": "5", "expires_after_ms": 5000}}"#), None),
            (format!(r#"{{"kind": "capture", "of": "{UUID}"}}"#), None),
            (format!(r#"{{"kind": "capture", "of": "{UUID}", "amount": 5}}"#), None),
            (format!(r#"{{"kind": "void", "of": "{UUID}"}}"#), None),
            (format!(r#"{{"kind": "reverse", "of": "{UUID}", "reference": "r"}}"#), None),
            (format!("{{{two}}}"), Some("amount")),
            (r#"{"debit": "a", "credit": "b", "amount": 5}"#.to_owned(), Some("asset")),
            (r#"{"credit": "b", "asset": "EUR", "amount": 5}"#.to_owned(), Some("debit")),
            (r#"{"debit": "a b", "credit": "b", "asset": "EUR", "amount": 5}"#.to_owned(), Some("debit")),
            (r#"{"debit": "a", "credit": "b", "asset": "eur", "amount": 5}"#.to_owned(), Some("asset")),
            (format!(r#"{{{two}, "amount": 5, "expires_after_ms": 5}}"#), Some("expires_after_ms")),
            (format!(r#"{{{two}, "amount": 5, "of": "{UUID}"}}"#), Some("of")),
            (format!(r#"{{"kind": "hold", {two}, "amount": 5}}"#), Some("expires_after_ms")),
            (format!(r#"{{"kind": "void", "of": "{UUID}", "amount": 5}}"#), Some("amount")),
            (format!(r#"{{"kind": "void", "of": "{UUID}", "debit": "a"}}"#), Some("debit")),
            (r#"{"kind": "void", "of": "17"}"#.to_owned(), Some("of")),
            (r#"{"kind": "reverse"}"#.to_owned(), Some("of")),
            (format!(r#"{{{two}, "amount": 5, "effective_at": "today"}}"#), Some("effective_at")),
            (
                format!(r#"{{{two}, "amount": 5, "metadata": 1, "metadata_base64": ""}}"#),
                Some("metadata_base64"),
            ),
        ] {
            let path = read(&json).err().map(|problem| problem.in_words());
            match wrong {
                None => assert_eq!(path, None, "{json}"),
                Some(wrong) => {
                    let path = path.unwrap_or_else(|| panic!("{json} is taken"));
                    assert!(path.starts_with(&format!("{wrong}: ")), "{json}: {path}");
                }
            }
        }
    }

    #[test]
    fn a_ceiling_of_null_is_not_one_that_is_left_out() {
        let read = |json: &str| {
            serde_json::from_str::<ChangeFields>(json)
                .expect("good fields")
                .check()
                .map(|change| change.ceiling)
        };
        assert_eq!(read(r#"{"ceiling": null}"#).expect("a change"), Some(None));
        assert_eq!(read(r#"{"ceiling": 5}"#).expect("a change"), Some(Some(5)));
        assert_eq!(read(r#"{"closed": true}"#).expect("a change"), None);
        assert!(read("{}").is_err());
    }
}
