//! Outcomes: a value or the refusal that stands for it.
//!
//! The code of a refusal is a text of this process: it is found in the lists of all crates.

use prost::encoding::WireType;
use stadium_shard::TOO_OLD;
use stadium_state_machine::Refusal;

use crate::Error;
use crate::reader::Reader;
#[cfg(test)]
use crate::tests::{Random, Schema};
use crate::value::{Field, Value, part_bytes, put_head, put_value, take_value, value_bytes};

/// Which kind of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Busy,
    Rejected,
    Unknown,
}

enumeration! {
    Kind = "RefusalKind" { 1 Busy, 2 Rejected, 3 Unknown }
}

/// The known code of a text; none of a newer version's.
fn code_of(text: &str) -> Option<&'static str> {
    let lists = [
        stadium_queue::CODES,
        stadium_wallet::CODES,
        stadium_push::CODES,
        stadium_registry::CODES,
        stadium_shard::CODES,
    ];
    lists.into_iter().flatten().map(|(code, _)| *code).find(|code| *code == text)
}

impl Value for Refusal {
    const WIRE: WireType = WireType::LengthDelimited;

    fn bytes(&self) -> usize {
        let (kind, code, retry_after, reason) = parts(self);
        value_bytes(1, &kind)
            + part_bytes(2, code.len())
            + Field::bytes(&retry_after, 3)
            + Field::bytes(reason, 4)
    }

    fn put(&self, out: &mut Vec<u8>) {
        let (kind, code, retry_after, reason) = parts(self);
        put_value(1, &kind, out);
        put_head(2, code.len(), out);
        out.extend_from_slice(code.as_bytes());
        Field::put(&retry_after, 3, out);
        Field::put(reason, 4, out);
    }

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        let (kind, code, retry_after, reason): (Kind, compact_str::CompactString, u64, String) = take_fields!(
            input,
            "Refusal",
            [1 kind, 2 code, 3 retry_after, 4 reason],
            (kind, code, retry_after, reason)
        );
        let (code, reason) = match code_of(&code) {
            Some(code) => (code, reason),
            // The words say what this version has no code for.
            None => (TOO_OLD, format!("{reason} ({code})")),
        };
        Ok(match kind {
            Kind::Busy => Refusal::Busy { code, retry_after, reason },
            Kind::Rejected => Refusal::Rejected { code, reason },
            Kind::Unknown => Refusal::Unknown { code, retry_after, reason },
        })
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        all.define::<Self>("Refusal", |all| {
            let kind = <Kind as Value>::schema(all);
            let fields = [("kind", kind.as_str()), ("code", "string"), ("retry_after", "uint64")];
            let fields = fields.into_iter().chain([("reason", "string")]);
            let fields: Vec<_> =
                (1..).zip(fields).map(|(tag, (name, of))| (tag, name, of.to_owned())).collect();
            all.message("Refusal", &fields);
        })
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        let all: Vec<_> = stadium_wallet::CODES.iter().chain(stadium_shard::CODES).collect();
        let (code, _) = all[usize::from(random.byte()) % all.len()];
        let (retry_after, reason) = (random.number(), random.text());
        match <Kind as Value>::sample(random) {
            Kind::Busy => Refusal::Busy { code, retry_after, reason },
            Kind::Rejected => Refusal::Rejected { code, reason },
            Kind::Unknown => Refusal::Unknown { code, retry_after, reason },
        }
    }
}

/// Kind, code, milliseconds to wait and reason.
fn parts(refusal: &Refusal) -> (Kind, &'static str, u64, &String) {
    match refusal {
        Refusal::Busy { code, retry_after, reason } => (Kind::Busy, code, *retry_after, reason),
        Refusal::Rejected { code, reason } => (Kind::Rejected, code, 0, reason),
        Refusal::Unknown { code, retry_after, reason } => (Kind::Unknown, code, *retry_after, reason),
    }
}

/// One of two cases: the value, or why there is none.
impl<V: Value> Value for Result<V, Refusal> {
    const WIRE: WireType = WireType::LengthDelimited;

    fn bytes(&self) -> usize {
        match self {
            Ok(value) => value_bytes(1, value),
            Err(refusal) => value_bytes(2, refusal),
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Ok(value) => put_value(1, value, out),
            Err(refusal) => put_value(2, refusal, out),
        }
    }

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        let mut found = None;
        while let Some((tag, wire)) = input.key()? {
            match tag {
                1 => found = Some(Ok(take_value(wire, input)?)),
                2 => found = Some(Err(take_value(wire, input)?)),
                _ => input.skip(tag, wire)?,
            }
        }
        found.ok_or_else(|| Error::malformed("an outcome is neither done nor refused"))
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        let done = V::schema(all);
        let refused = <Refusal as Value>::schema(all);
        let name = format!("OutcomeOf{}", Schema::in_names(&done));
        all.oneof(&name, &[(1, "Done", done), (2, "Refused", refused)])
    }

    #[cfg(test)]
    fn sample(random: &mut Random) -> Self {
        if random.byte() & 1 == 1 { Err(Value::sample(random)) } else { Ok(V::sample(random)) }
    }
}

/// That something is done, which says nothing more.
impl Value for () {
    const WIRE: WireType = WireType::LengthDelimited;

    fn bytes(&self) -> usize {
        0
    }

    fn put(&self, _: &mut Vec<u8>) {}

    fn take(input: &mut Reader<'_>) -> Result<Self, Error> {
        take_fields!(input, "Nothing", [], Ok(()))
    }

    #[cfg(test)]
    fn schema(all: &mut Schema) -> String {
        all.empty("Nothing")
    }

    #[cfg(test)]
    fn sample(_: &mut Random) -> Self {}
}
