//! Requests that move amounts, read from their bytes: `Transfer` and `Together`.
//!
//! A transfer's names go from the wire into names of the wallet's own, which are short enough to need no memory of their
//! own. One transfer that cannot be read refuses the whole request, since nothing of it happened yet.

use bytes::Bytes;
use prost::Message;
use stadium_http::PushBounds;
use stadium_queue::{NewJob, QueueName};
use stadium_rpc::Refusal;
use stadium_shard::Together;
use stadium_wallet::{
    AssetCode, Bounds, Command, Kind, NewTransfer, PrincipalId, Time, TransferId, WalletName, refusal,
};

use super::fields::{self, Fields};
use crate::proto::{PushRequest, QueuedJob};
use crate::queue::new_job;
use crate::request::{named, unreadable, wrong};
use crate::{push, pushes};

/// The command of a `TransferRequest` of that principal.
pub(crate) fn transfer(request: &[u8], principal: Option<PrincipalId>) -> Result<Command, Refusal> {
    let mut transfers = Vec::with_capacity(occurrences(request, 1)?);
    let mut linked = false;
    let mut fields = Fields(request);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => transfers.push(nth(
                "transfers",
                transfers.len(),
                new_transfer(fields::bytes("transfers", value)?),
            )?),
            2 => linked = fields::number("linked", value)? != 0,
            _ => {}
        }
    }
    Ok(Command::Transfer { transfers, linked, principal })
}

/// The units of a `TogetherRequest` of that principal.
pub(crate) fn together(
    request: &[u8],
    bounds: PushBounds,
    principal: Option<&PrincipalId>,
) -> Result<Vec<Together>, Refusal> {
    let mut units = Vec::with_capacity(occurrences(request, 1)?);
    let mut transfers = 0;
    let mut fields = Fields(request);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            let unit = nth("units", units.len(), unit(fields::bytes("units", value)?, bounds))?;
            let unit = Together { principal: principal.cloned(), ..unit };
            transfers += unit.transfers.len();
            units.push(unit);
        }
    }
    if units.is_empty() || transfers > Bounds::ITEMS_MAX {
        let reason =
            format!("{} units with {transfers} transfers are not 1 to {}", units.len(), Bounds::ITEMS_MAX);
        return Err(Refusal::rejected(refusal::COUNT, reason));
    }
    Ok(units)
}

fn unit(message: &[u8], bounds: PushBounds) -> Result<Together, Refusal> {
    let mut transfers = Vec::with_capacity(occurrences(message, 1)?);
    let mut jobs = Vec::new();
    let mut pushes = Vec::new();
    let mut fields = Fields(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => transfers.push(nth(
                "transfers",
                transfers.len(),
                new_transfer(fields::bytes("transfers", value)?),
            )?),
            2 => jobs.push(nth("jobs", jobs.len(), queued_job(fields::bytes("jobs", value)?))?),
            3 => pushes.push(nth("pushes", pushes.len(), pushed(fields::bytes("pushes", value)?, bounds))?),
            _ => {}
        }
    }
    jobs.append(&mut pushes);
    Ok(Together { transfers, jobs, principal: None })
}

fn queued_job(message: &[u8]) -> Result<(QueueName, NewJob), Refusal> {
    let QueuedJob { queue, job } = QueuedJob::decode(message).map_err(|error| unreadable(&error))?;
    Ok((named(QueueName::new(&queue))?, new_job(job.unwrap_or_default())?))
}

fn pushed(message: &[u8], bounds: PushBounds) -> Result<(QueueName, NewJob), Refusal> {
    let push = PushRequest::decode(message).map_err(|error| unreadable(&error))?;
    Ok((pushes::queue(), push::job(&push, bounds)?))
}

/// How often a field occurs in a message: room for what is read from it, within the bound of a command.
fn occurrences(message: &[u8], wanted: u64) -> Result<usize, Refusal> {
    let mut fields = Fields(message);
    let mut found = 0;
    while let Some((field, _)) = fields.next()? {
        found += usize::from(field == wanted);
    }
    if found > Bounds::ITEMS_MAX {
        let reason = format!("{found} in one request: {} are allowed", Bounds::ITEMS_MAX);
        return Err(Refusal::rejected(refusal::COUNT, reason));
    }
    Ok(found)
}

fn nth<T>(list: &str, place: usize, read: Result<T, Refusal>) -> Result<T, Refusal> {
    read.map_err(|refusal| match refusal {
        Refusal::Rejected { code, reason } => Refusal::rejected(code, format!("{list}[{place}]: {reason}")),
        other => other,
    })
}

fn new_transfer(message: &[u8]) -> Result<NewTransfer, Refusal> {
    let mut id = None;
    let mut kind = None;
    let mut reference = "";
    let mut metadata: &[u8] = &[];
    let mut effective = None;
    let mut fields = Fields(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => id = Some(transfer_id("id", fields::bytes("id", value)?)?),
            2 => kind = Some(Move::read(fields::bytes("post", value)?)?.post()?),
            3 => kind = Some(Move::read(fields::bytes("hold", value)?)?.hold()?),
            4 => kind = Some(capture(fields::bytes("capture", value)?)?),
            5 => kind = Some(Kind::Void { hold: only_id("hold", fields::bytes("void", value)?)? }),
            6 => {
                let transfer = only_id("transfer", fields::bytes("reverse", value)?)?;
                kind = Some(Kind::Reverse { transfer });
            }
            7 => reference = fields::text("reference", value)?,
            8 => metadata = fields::bytes("metadata", value)?,
            9 => effective = Some(Time(fields::number("effective_ms", value)?)),
            _ => {}
        }
    }
    let missing = || wrong("it has no kind: set post, hold, capture, void or reverse".to_owned());
    Ok(NewTransfer {
        id: id.ok_or_else(|| wrong("it has no id: 16 bytes that its client makes".to_owned()))?,
        kind: kind.ok_or_else(missing)?,
        reference: reference.to_owned(),
        metadata: if metadata.is_empty() { Bytes::new() } else { Bytes::copy_from_slice(metadata) },
        effective,
    })
}

/// The fields of a post and a hold.
#[derive(Default)]
struct Move<'a> {
    debit: &'a str,
    credit: &'a str,
    asset: &'a str,
    amount: u64,
    expires_after: u64,
}

impl<'a> Move<'a> {
    fn read(message: &'a [u8]) -> Result<Self, Refusal> {
        let mut read = Self::default();
        let mut fields = Fields(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => read.debit = fields::text("debit", value)?,
                2 => read.credit = fields::text("credit", value)?,
                3 => read.asset = fields::text("asset", value)?,
                4 => read.amount = fields::number("amount", value)?,
                5 => read.expires_after = fields::number("expires_after_ms", value)?,
                _ => {}
            }
        }
        Ok(read)
    }

    fn post(self) -> Result<Kind, Refusal> {
        let Self { debit, credit, asset, amount, .. } = self;
        let (debit, credit, asset) = (wallet("debit", debit)?, wallet("credit", credit)?, asset_code(asset)?);
        Ok(Kind::Post { debit, credit, asset, amount })
    }

    fn hold(self) -> Result<Kind, Refusal> {
        let Self { debit, credit, asset, amount, expires_after } = self;
        let (debit, credit, asset) = (wallet("debit", debit)?, wallet("credit", credit)?, asset_code(asset)?);
        Ok(Kind::Hold { debit, credit, asset, amount, expires_after })
    }
}

fn capture(message: &[u8]) -> Result<Kind, Refusal> {
    let mut hold = None;
    let mut amount = None;
    let mut fields = Fields(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => hold = Some(transfer_id("hold", fields::bytes("hold", value)?)?),
            2 => amount = Some(fields::number("amount", value)?),
            _ => {}
        }
    }
    Ok(Kind::Capture { hold: hold.ok_or_else(|| wrong("capture names no hold".to_owned()))?, amount })
}

/// The id, the only field of a void or a reversal.
fn only_id(name: &str, message: &[u8]) -> Result<TransferId, Refusal> {
    let mut id = None;
    let mut fields = Fields(message);
    while let Some((field, value)) = fields.next()? {
        if field == 1 {
            id = Some(transfer_id(name, fields::bytes(name, value)?)?);
        }
    }
    id.ok_or_else(|| wrong(format!("it names no {name}")))
}

/// An id of 16 bytes.
pub(crate) fn transfer_id(field: &str, bytes: &[u8]) -> Result<TransferId, Refusal> {
    match <[u8; 16]>::try_from(bytes) {
        Ok(id) => Ok(TransferId(u128::from_be_bytes(id))),
        Err(_) => Err(wrong(format!("{field} has {} bytes; a transfer's id has 16", bytes.len()))),
    }
}

fn wallet(field: &str, name: &str) -> Result<WalletName, Refusal> {
    WalletName::new(name).map_err(|error| wrong(format!("{field} {name:?}: {error}")))
}

fn asset_code(name: &str) -> Result<AssetCode, Refusal> {
    AssetCode::new(name).map_err(|error| wrong(format!("asset {name:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto;

    fn encoded(kind: proto::new_transfer::Kind) -> Vec<u8> {
        let transfer = proto::NewTransfer {
            id: 7_u128.to_be_bytes().to_vec(),
            kind: Some(kind),
            reference: "order 7".to_owned(),
            metadata: vec![1, 2],
            effective_ms: Some(0),
        };
        proto::TransferRequest { transfers: vec![transfer], linked: true }.encode_to_vec()
    }

    fn read(kind: proto::new_transfer::Kind) -> Kind {
        let Ok(Command::Transfer { transfers, linked: true, .. }) = transfer(&encoded(kind), None) else {
            panic!("it is a linked transfer");
        };
        let [transfer] = transfers.as_slice() else { panic!("it is one") };
        assert_eq!(transfer.id, TransferId(7));
        assert_eq!((transfer.reference.as_str(), transfer.metadata.as_ref()), ("order 7", &[1, 2][..]));
        assert_eq!(transfer.effective, Some(Time(0)));
        transfer.kind.clone()
    }

    fn post(debit: &str) -> proto::Post {
        proto::Post {
            debit: debit.to_owned(),
            credit: "@shop".to_owned(),
            asset: "VOTE".to_owned(),
            amount: u64::MAX,
        }
    }

    #[test]
    fn messages_of_prost_are_read() {
        use proto::new_transfer::Kind as Wire;
        let names = |debit: &str| {
            let wallet = |name| WalletName::new(name).expect("a name");
            (wallet(debit), wallet("@shop"), AssetCode::new("VOTE").expect("a code"))
        };
        let (debit, credit, asset) = names("alice");
        let posted = Kind::Post { debit, credit, asset, amount: u64::MAX };
        assert_eq!(read(Wire::Post(post("alice"))), posted);
        let (debit, credit, asset) = names("{42}:votes");
        let held = Kind::Hold { debit, credit, asset, amount: 1, expires_after: 60_000 };
        let proto::Post { credit, asset, .. } = post("");
        let hold = proto::Hold {
            debit: "{42}:votes".to_owned(),
            credit,
            asset,
            amount: 1,
            expires_after_ms: 60_000,
        };
        assert_eq!(read(Wire::Hold(hold)), held);
        let id = 9_u128.to_be_bytes().to_vec();
        for amount in [None, Some(0), Some(3)] {
            let captured = Kind::Capture { hold: TransferId(9), amount };
            assert_eq!(read(Wire::Capture(proto::Capture { hold: id.clone(), amount })), captured);
        }
        assert_eq!(read(Wire::Void(proto::Void { hold: id.clone() })), Kind::Void { hold: TransferId(9) });
        assert_eq!(
            read(Wire::Reverse(proto::Reverse { transfer: id })),
            Kind::Reverse { transfer: TransferId(9) }
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let reason = |request: &[u8]| match transfer(request, None) {
            Err(Refusal::Rejected { code, reason }) => format!("{code} {reason}"),
            other => panic!("{other:?}"),
        };
        let bad = reason(&encoded(proto::new_transfer::Kind::Post(post("al ice"))));
        assert!(bad.contains("NODE-010 transfers[0]: debit \"al ice\""), "{bad}");
        let short = proto::NewTransfer { id: vec![1], ..Default::default() };
        let short = proto::TransferRequest { transfers: vec![short], linked: false }.encode_to_vec();
        assert!(reason(&short).contains("id has 1 bytes"));
        let empty = proto::TransferRequest { transfers: vec![proto::NewTransfer::default()], linked: false };
        assert!(reason(&empty.encode_to_vec()).contains("it has no id"));
        let many = vec![proto::NewTransfer::default(); 1_001];
        let many = proto::TransferRequest { transfers: many, linked: false }.encode_to_vec();
        assert!(reason(&many).starts_with("WAL-001"));
        let whole = encoded(proto::new_transfer::Kind::Post(post("alice")));
        for end in 1..whole.len() - 2 {
            assert!(transfer(&whole[..end], None).is_err(), "cut at {end}");
        }
        assert!(reason(&[0x0b]).contains("wire type 3"));
        assert!(reason(&[0x08, 1]).contains("transfers has another type"));
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let mut request = encoded(proto::new_transfer::Kind::Void(proto::Void { hold: vec![0; 16] }));
        request.extend([0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4, 0x7a, 1, 9, 0x78, 1]);
        assert!(matches!(transfer(&request, None), Ok(Command::Transfer { linked: true, .. })));
    }
}
