//! This product: the built binary, spoken to by RSocket and Protocol Buffers (proto/stadium/v1/wallet.proto).
//!
//! Accounts are wallets `u:NUMBER`; their credit comes from `@bank`, and debits go to `@shop`. Every call shows an API key, as it
//! would in service. An answer leaves after the journal was synced.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::harness::Lane;
use crate::process::Cores;
use crate::services::stadium::Stadium as Server;
use crate::services::{Service, Start};
use crate::wallet::dialogue::{Debit, Endpoint, Event, Outcome, Request, Verdict, Wallets, caller};
use crate::wire::calls::{Calls, Reply};
use crate::wire::protobuf::{self, Value, fields, head, number, varint_bytes};
use crate::wire::rsocket;

/// What is counted.
pub(crate) const ASSET: &str = "VOTE";
const SHOP: &[u8] = b"@shop";
const BANK: &[u8] = b"@bank";
/// There is not enough credit.
const INSUFFICIENT: &[u8] = b"WAL-023";
/// Ids of first credits: those of debits begin with the time, which is never so small.
const CREDIT_IDS: u128 = 1 << 64;
/// Time for the asset to be declared on a server that has just started.
const DECLARE_MAX: Duration = Duration::from_secs(30);

/// A running server with the asset.
pub(crate) struct Stadium {
    server: Server,
}

impl Stadium {
    /// Starts it anew, empty, as it is by default, and declares the asset.
    pub(crate) fn start(start: &Start<'_>) -> Result<Self> {
        Self::with(start, Cores::Both, vec!["rpc.loops=1".to_owned()])
    }

    /// The same on these cores, with so many shards and as many loops.
    pub(crate) fn start_on(start: &Start<'_>, cores: Cores, shards: u32) -> Result<Self> {
        Self::with(start, cores, vec![format!("rpc.loops={shards}"), format!("shards.count={shards}")])
    }

    fn with(start: &Start<'_>, cores: Cores, settings: Vec<String>) -> Result<Self> {
        let stadium = Self { server: Server::start(start, cores, settings)? };
        // The first request of all makes the asset known.
        caller(&stadium)?.ask(Request::Loaded, DECLARE_MAX)?;
        Ok(stadium)
    }

    /// The server.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// The server, to kill it and to start it again.
    pub(crate) fn server_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Endpoint for Stadium {
    fn service(&self) -> &Service {
        self.server.service()
    }

    fn lane(&self) -> Box<dyn Lane<Wallets>> {
        let metadata = |method: &str| rsocket::metadata(&format!("wallet/{method}"), self.server.key());
        Box::new(Connection {
            declare: metadata("Declare"),
            open: metadata("Open"),
            transfer: metadata("Transfer"),
            wallet: metadata("Wallet"),
            assets: metadata("Assets"),
            calls: Calls::new(),
            is_open: false,
        })
    }
}

struct Connection {
    // Metadata by method.
    declare: Vec<u8>,
    open: Vec<u8>,
    transfer: Vec<u8>,
    wallet: Vec<u8>,
    assets: Vec<u8>,
    calls: Calls<Call>,
    is_open: bool,
}

#[derive(Clone, Copy)]
struct Call {
    worker: usize,
    asked: Asked,
}

#[derive(Clone, Copy)]
enum Asked {
    Declare,
    /// With the credit that each account is to get when it is open.
    Open {
        first: u32,
        count: u32,
        credit: u64,
    },
    Credit {
        count: u32,
    },
    Debit(usize),
    Look(u32),
    Entries,
    Totals,
}

impl Connection {
    fn credit(&mut self, worker: usize, first: u32, count: u32, credit: u64, out: &mut Vec<u8>) {
        let call = Call { worker, asked: Asked::Credit { count } };
        self.calls.ask(call, &self.transfer, out, |out| {
            for account in first..first + count {
                let id = CREDIT_IDS | u128::from(account);
                transfer(id, BANK, name(account).as_bytes(), credit, out);
            }
        });
    }
}

impl Lane<Wallets> for Connection {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        rsocket::setup(&mut outs[0]);
    }

    fn start(&mut self, worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        let call = |asked| Call { worker, asked };
        let calls = &mut self.calls;
        match request {
            Request::Loaded => calls.ask(call(Asked::Declare), &self.declare, out, |out| {
                protobuf::bytes(1, ASSET.as_bytes(), out);
            }),
            Request::Open { first, count, credit } => {
                calls.ask(call(Asked::Open { first, count, credit }), &self.open, out, |out| {
                    (first..first + count).for_each(|account| new_account(account, out));
                });
            }
            Request::Debit(debits) => {
                calls.ask(call(Asked::Debit(debits.len())), &self.transfer, out, |out| {
                    for Debit { id, account, amount } in debits {
                        transfer(*id, name(*account).as_bytes(), SHOP, *amount, out);
                    }
                });
            }
            Request::Look { first, count } => {
                calls.ask(call(Asked::Look(count)), &self.wallet, out, |out| {
                    (first..first + count)
                        .for_each(|account| protobuf::bytes(1, name(account).as_bytes(), out));
                });
            }
            Request::Entries { account } => {
                calls.ask(call(Asked::Entries), &self.wallet, out, |out| {
                    protobuf::bytes(1, name(account).as_bytes(), out);
                });
            }
            Request::Totals => calls.ask(call(Asked::Totals), &self.assets, out, |_| {}),
        }
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        if !self.is_open {
            // A SETUP is not answered, unless it is refused.
            self.is_open = true;
            events.push(Event::Open);
        }
        let mut opened = Vec::new();
        let taken = self.calls.read(bytes, &mut outs[0], |call, reply| {
            let outcome = match (reply, call.asked) {
                (Reply::Busy(after_ms), _) => Outcome::Again(Duration::from_millis(after_ms)),
                (Reply::Answer(data), Asked::Open { first, count, credit }) if credit > 0 => {
                    if let Some(again) = open(data, count)? {
                        again
                    } else {
                        opened.push((call.worker, first, count, credit));
                        return Ok(());
                    }
                }
                (Reply::Answer(data), asked) => answer(asked, data)?,
            };
            events.push(Event::Answer(call.worker, outcome));
            Ok(())
        })?;
        for (worker, first, count, credit) in opened {
            self.credit(worker, first, count, credit, &mut outs[0]);
        }
        Ok(taken)
    }
}

/// A wallet's name.
fn name(account: u32) -> Name {
    let mut name = Name { bytes: [0; 12], length: 2 };
    name.bytes[..2].copy_from_slice(b"u:");
    let mut digits = [0; 10];
    let (mut at, mut left) = (digits.len(), account);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    let digits = &digits[at..];
    name.bytes[2..2 + digits.len()].copy_from_slice(digits);
    name.length += digits.len();
    name
}

/// A wallet's name without an allocation.
struct Name {
    bytes: [u8; 12],
    length: usize,
}

impl Name {
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn new_account(account: u32, out: &mut Vec<u8>) {
    let name = name(account);
    head(1, 2 + name.as_bytes().len() + 2 + ASSET.len(), out);
    protobuf::bytes(1, name.as_bytes(), out);
    protobuf::bytes(2, ASSET.as_bytes(), out);
}

/// One transfer of a request.
fn transfer(id: u128, debit: &[u8], credit: &[u8], amount: u64, out: &mut Vec<u8>) {
    let post = 2 + debit.len() + 2 + credit.len() + 2 + ASSET.len() + 1 + varint_bytes(amount);
    head(1, 2 + 16 + 2 + post, out);
    protobuf::bytes(1, &id.to_be_bytes(), out);
    head(2, post, out);
    protobuf::bytes(1, debit, out);
    protobuf::bytes(2, credit, out);
    protobuf::bytes(3, ASSET.as_bytes(), out);
    number(4, amount, out);
}

/// What an answer means that ends its request.
fn answer(asked: Asked, data: &[u8]) -> Result<Outcome> {
    Ok(match asked {
        Asked::Declare => Outcome::Done,
        Asked::Open { count, .. } => open(data, count)?.unwrap_or(Outcome::Done),
        Asked::Credit { count } => match verdicts(data, count as usize)? {
            Outcome::Debited(verdicts) if verdicts.contains(&Verdict::Insufficient) => {
                bail!("the bank has no credit")
            }
            Outcome::Debited(_) => Outcome::Done,
            other => other,
        },
        Asked::Debit(debits) => verdicts(data, debits)?,
        Asked::Look(count) => Outcome::Balances(balances(data, count)?),
        Asked::Entries => {
            let accounts = accounts(data)?;
            let [account] = accounts.as_slice() else { bail!("{} accounts instead of one", accounts.len()) };
            Outcome::Entries(account.entries)
        }
        Asked::Totals => totals(data)?,
    })
}

/// Whether all accounts are open; else what to do.
fn open(data: &[u8], count: u32) -> Result<Option<Outcome>> {
    let (mut outcomes, mut again) = (0, None);
    fields(data, |_, value| {
        outcomes += 1;
        fields(value.bytes()?, |field, value| {
            if field == 2 {
                let refusal = Refusal::read(value.bytes()?)?;
                again = Some(refusal.again()?);
            }
            Ok(())
        })
    })?;
    if outcomes != count {
        bail!("{outcomes} outcomes for {count} accounts");
    }
    Ok(again)
}

/// `NotDone`.
struct Refusal<'a> {
    code: &'a [u8],
    reason: &'a [u8],
    retry_after_ms: u64,
}

impl<'a> Refusal<'a> {
    fn read(data: &'a [u8]) -> Result<Self> {
        let mut refusal = Self { code: &[], reason: &[], retry_after_ms: 0 };
        fields(data, |field, value| {
            match field {
                1 => refusal.code = value.bytes()?,
                2 => refusal.reason = value.bytes()?,
                3 => refusal.retry_after_ms = value.number()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(refusal)
    }

    /// That it is to be asked again; an error where it will never work.
    fn again(&self) -> Result<Outcome> {
        if self.retry_after_ms == 0 {
            bail!("{}: {}", String::from_utf8_lossy(self.code), String::from_utf8_lossy(self.reason));
        }
        Ok(Outcome::Again(Duration::from_millis(self.retry_after_ms)))
    }
}

/// What became of each transfer; where one is to be asked again, all are.
fn verdicts(data: &[u8], transfers: usize) -> Result<Outcome> {
    let mut verdicts = Vec::with_capacity(transfers);
    let mut again = None;
    fields(data, |_, value| {
        let (mut booked_at_ms, mut verdict) = (0, Verdict::Posted);
        fields(value.bytes()?, |field, value| {
            match (field, value) {
                (1, value) => booked_at_ms = value.number()?,
                (2, Value::Number(1)) => verdict = Verdict::Duplicate,
                (3, Value::Bytes(refusal)) => {
                    let refusal = Refusal::read(refusal)?;
                    verdict = Verdict::Insufficient;
                    if refusal.code != INSUFFICIENT {
                        again = Some(refusal.again()?);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        if booked_at_ms == 0 && verdict != Verdict::Insufficient {
            bail!("a transfer was neither booked nor refused");
        }
        verdicts.push(verdict);
        Ok(())
    })?;
    if verdicts.len() != transfers {
        bail!("{} outcomes for {transfers} transfers", verdicts.len());
    }
    Ok(again.unwrap_or(Outcome::Debited(verdicts)))
}

/// The fields of an account in an answer.
#[derive(Default)]
struct Account {
    posted: i64,
    entries: u64,
}

fn accounts(data: &[u8]) -> Result<Vec<Account>> {
    let mut accounts = Vec::new();
    fields(data, |_, value| {
        let mut account = Account::default();
        fields(value.bytes()?, |field, value| {
            match field {
                3 => fields(value.bytes()?, |field, value| {
                    if field == 1 {
                        account.posted = signed(value.number()?);
                    }
                    Ok(())
                })?,
                7 => account.entries = value.number()?,
                _ => {}
            }
            Ok(())
        })?;
        accounts.push(account);
        Ok(())
    })?;
    Ok(accounts)
}

fn balances(data: &[u8], count: u32) -> Result<Vec<i64>> {
    let accounts = accounts(data)?;
    if accounts.len() != count as usize {
        bail!("{} of {count} accounts were there", accounts.len());
    }
    Ok(accounts.iter().map(|account| account.posted).collect())
}

/// The totals of the one asset.
fn totals(data: &[u8]) -> Result<Outcome> {
    let (mut credit, mut debit) = (None, None);
    fields(data, |_, value| {
        fields(value.bytes()?, |field, value| {
            let sum =
                |value: Value<'_>| -> Result<u128> { Ok(std::str::from_utf8(value.bytes()?)?.parse()?) };
            match field {
                4 => credit = Some(sum(value)?),
                5 => debit = Some(sum(value)?),
                _ => {}
            }
            Ok(())
        })
    })?;
    let missing = "an asset without totals";
    Ok(Outcome::Totals { credit: credit.context(missing)?, debit: debit.context(missing)? })
}

/// A `sint64`: zigzag.
fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::{BANK, SHOP, Verdict, name, new_account, number, protobuf, signed, transfer, verdicts};
    use crate::wallet::dialogue::Outcome;

    #[test]
    fn messages_have_the_sizes_that_they_state() {
        for (account, amount) in [(0, 1), (999_999, 300), (u32::MAX, u64::MAX >> 1)] {
            let mut out = Vec::new();
            transfer(7, name(account).as_bytes(), SHOP, amount, &mut out);
            assert_eq!(usize::from(out[1]), out.len() - 2);
            out.clear();
            transfer(7, BANK, name(account).as_bytes(), amount, &mut out);
            assert_eq!(usize::from(out[1]), out.len() - 2);
            out.clear();
            new_account(account, &mut out);
            assert_eq!(usize::from(out[1]), out.len() - 2);
        }
    }

    #[test]
    fn wallets_are_numbered() {
        for account in [0, 9, 10, 1_234_567, u32::MAX] {
            assert_eq!(name(account).as_bytes(), format!("u:{account}").as_bytes());
        }
    }

    #[test]
    fn negative_numbers_are_read() {
        assert_eq!([0, 1, 2, u64::MAX].map(signed), [0, -1, 1, i64::MIN]);
    }

    #[test]
    fn an_outcome_is_booked_before_or_refused() {
        let mut data = Vec::new();
        let mut outcome = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut one = Vec::new();
            write(&mut one);
            protobuf::bytes(1, &one, &mut data);
        };
        outcome(&|out| number(1, 17, out));
        outcome(&|out| {
            number(1, 17, out);
            number(2, 1, out);
        });
        outcome(&|out| {
            let mut refusal = Vec::new();
            protobuf::bytes(1, b"WAL-023", &mut refusal);
            protobuf::bytes(3, &refusal, out);
        });
        let Ok(Outcome::Debited(read)) = verdicts(&data, 3) else { panic!("no verdicts") };
        assert_eq!(read, [Verdict::Posted, Verdict::Duplicate, Verdict::Insufficient]);
        assert!(verdicts(&data, 4).is_err());
        protobuf::bytes(1, b"", &mut data);
        assert!(verdicts(&data, 4).is_err(), "neither booked nor refused");
    }
}
