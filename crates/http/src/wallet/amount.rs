//! Amounts as the API spells them: whole minor units.
//!
//! A number of JSON keeps 53 bits in many languages. So an amount is read as a number or as a string of digits, and
//! written as a number up to 2^53 - 1, beyond that as a string. Only statements show a decimal point.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stadium_wallet::Bounds;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The largest whole number that every reader of JSON keeps: 2^53 - 1.
const SAFE_MAX: i128 = (1 << 53) - 1;

/// An amount, a balance or a sum of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount(i128);

impl From<u64> for Amount {
    fn from(amount: u64) -> Self {
        Self(amount.into())
    }
}

impl From<i64> for Amount {
    fn from(balance: i64) -> Self {
        Self(balance.into())
    }
}

impl From<u128> for Amount {
    /// A sum. One that a signed number does not hold is more than all accounts together can.
    fn from(sum: u128) -> Self {
        Self(i128::try_from(sum).unwrap_or(i128::MAX))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(number) if self.0.abs() <= SAFE_MAX => to.serialize_i64(number),
            _ => to.collect_str(&self.0),
        }
    }
}

impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        let of = |kind| ObjectBuilder::new().schema_type(SchemaType::Type(kind));
        let text = of(Type::String).pattern(Some("^-?[0-9]+$"));
        OneOfBuilder::new()
            .item(of(Type::Integer))
            .item(text)
            .description(Some(
                "Whole minor units (cents, votes): a number up to 2^53 - 1, beyond that a string of digits.",
            ))
            .examples([250])
            .into()
    }
}

impl ToSchema for Amount {
    fn name() -> Cow<'static, str> {
        "Amount".into()
    }
}

/// An amount of a request. Whether it is within the wallet's bounds is checked by the wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AmountField(pub(crate) u64);

impl<'de> Deserialize<'de> for AmountField {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading)
    }
}

struct Reading;

impl Visitor<'_> for Reading {
    type Value = AmountField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whole minor units, 1 to 9223372036854775807, as a number or as a string of digits")
    }

    fn visit_u64<E: Error>(self, amount: u64) -> Result<AmountField, E> {
        Ok(AmountField(amount))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AmountField, E> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let amount = if digits { text.parse().ok() } else { None };
        amount.map(AmountField).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

impl PartialSchema for AmountField {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(SchemaType::Type(Type::Integer)).minimum(Some(0_u8));
        let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
        OneOfBuilder::new()
            .item(number.maximum(Some(Bounds::AMOUNT_MAX)))
            .item(text.pattern(Some("^[0-9]{1,18}$")))
            .description(Some("Whole minor units (cents, votes), as a number or as a string of digits."))
            .examples([250])
            .into()
    }
}

impl ToSchema for AmountField {
    fn name() -> Cow<'static, str> {
        "AmountField".into()
    }
}

/// Minor units as a decimal with so many digits behind the point: 250 of scale 2 is `2.50`.
pub(crate) fn decimal(amount: i128, scale: u8) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", amount.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, part) = digits.split_at(digits.len() - usize::from(scale));
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_numbers_as_long_as_every_reader_keeps_them() {
        for (amount, json) in [
            (Amount::from(0_u64), "0"),
            (Amount::from(-250_i64), "-250"),
            (Amount::from((1_u64 << 53) - 1), "9007199254740991"),
            (Amount::from(1_u64 << 53), "\"9007199254740992\""),
            (Amount::from(i64::MIN), "\"-9223372036854775808\""),
            (Amount::from(u128::from(u64::MAX) * 2), "\"36893488147419103230\""),
        ] {
            assert_eq!(serde_json::to_string(&amount).expect("a number or a text"), json);
        }
    }

    #[test]
    fn amounts_are_read_as_numbers_or_digits_and_never_rounded() {
        for (json, amount) in [
            ("0", Some(0)),
            ("250", Some(250)),
            ("\"250\"", Some(250)),
            ("18446744073709551615", Some(u64::MAX)),
            ("\"18446744073709551615\"", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("\"18446744073709551616\"", None),
            ("-1", None),
            ("\"-1\"", None),
            ("2.0", None),
            ("2.5", None),
            ("1e3", None),
            ("\"2.50\"", None),
            ("\"+5\"", None),
            ("\" 5\"", None),
            ("\"\"", None),
            ("true", None),
            ("null", None),
        ] {
            assert_eq!(serde_json::from_str(json).ok(), amount.map(AmountField), "{json}");
        }
    }

    #[test]
    fn decimals_have_the_asset_s_digits() {
        for (amount, scale, text) in [
            (250, 2, "2.50"),
            (-5, 2, "-0.05"),
            (0, 2, "0.00"),
            (7, 0, "7"),
            (1, 18, "0.000000000000000001"),
            (i128::from(i64::MIN), 2, "-92233720368547758.08"),
        ] {
            assert_eq!(decimal(amount, scale), text);
        }
    }
}
