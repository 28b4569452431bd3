//! Amounts as people write them: `12.50` EUR, where EUR has two digits behind the point, is 1,250 minor units.
//!
//! How many digits an asset has is asked of the server, once for a command.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{Api, Method};
use crate::failure::Failure;
use crate::on::ask;
use crate::shown::{items, number, text};

/// Digits behind the point, by asset.
#[derive(Debug, Default)]
pub(super) struct Scales(BTreeMap<String, u8>);

impl Scales {
    /// Of all assets that the server knows.
    pub(super) fn read(api: &Api) -> Result<Self, Failure> {
        let assets = ask(api, Method::Get, "/api/assets", None)?;
        let scale = |asset: &Value| u8::try_from(number(asset, "scale")).unwrap_or(0);
        Ok(Self(
            items(&assets, "assets").map(|asset| (text(asset, "asset").to_owned(), scale(asset))).collect(),
        ))
    }

    /// An amount in words, as minor units.
    ///
    /// # Errors
    /// An asset that nobody declared, and what is no amount of it.
    pub(super) fn minor(&self, amount: &str, asset: &str) -> Result<u64, Failure> {
        let Some(&scale) = self.0.get(asset) else {
            return Err(Failure::new(format!(
                "there is no asset {asset:?}; `stadium wallet asset {asset} --scale N` makes it known (WAL-020)"
            )));
        };
        let read = stadium_audit::parse_amount(amount, scale).map_err(Failure::Usage)?;
        match u64::try_from(read) {
            Ok(minor) if minor > 0 => Ok(minor),
            _ => Err(Failure::Usage(format!("{amount:?} is no amount to be moved: it is above zero"))),
        }
    }

    /// Minor units as people write them; `-` where there are none.
    pub(super) fn shown(&self, minor: Option<&Value>, asset: &str) -> String {
        let scale = self.0.get(asset).copied().unwrap_or(0);
        // The API answers numbers that JavaScript cannot hold as strings.
        let read = match minor {
            Some(Value::String(digits)) => digits.parse().ok(),
            Some(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
            None => None,
        };
        read.map_or_else(|| "-".to_owned(), |read| grouped(&stadium_audit::show_amount(read, scale)))
    }
}

/// With thousands set apart.
pub(super) fn grouped(amount: &str) -> String {
    let (sign, digits) = amount.strip_prefix('-').map_or(("", amount), |digits| ("-", digits));
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut text = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(part) = part {
        text.push('.');
        text.push_str(part);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scales() -> Scales {
        Scales([("EUR".to_owned(), 2), ("VOTE".to_owned(), 0)].into())
    }

    #[test]
    fn amounts_are_read_by_their_asset() {
        assert_eq!(scales().minor("12.5", "EUR").expect("an amount"), 1_250);
        assert_eq!(scales().minor("3", "VOTE").expect("an amount"), 3);
        for (amount, asset) in [("1.5", "VOTE"), ("0", "EUR"), ("-1", "EUR"), ("1,000", "EUR"), ("1", "USD")]
        {
            assert!(scales().minor(amount, asset).is_err(), "{amount} {asset}");
        }
    }

    #[test]
    fn amounts_are_shown_as_they_are_written() {
        let table = [
            (json!(123_456_789), "EUR", "1,234,567.89"),
            (json!(-5), "EUR", "-0.05"),
            (json!("9223372036854775807"), "VOTE", "9,223,372,036,854,775,807"),
            (json!(100), "VOTE", "100"),
        ];
        for (minor, asset, text) in table {
            assert_eq!(scales().shown(Some(&minor), asset), text);
        }
        assert_eq!(scales().shown(None, "EUR"), "-");
    }
}
