//! PostgreSQL: a table of accounts, a table of transfers, and a stored procedure that checks and books.
//!
//! A transfer's row is its history: unique by id, found by account and time. Each call commits by itself, durably
//! (`synchronous_commit=on`, `fsync=on`). The shop's balance is summed over the transfers when somebody asks, as this product sums
//! its system accounts, so that no row is hot but the debited account's. Two variants of the procedure: one locks the account's row and
//! looks, the other tries one UPDATE that carries its condition. Calls are pipelined, each with its own `Sync`.
//!
//! A batch is one call: the locking variant books it as a set, the other one by one in the order of accounts, so that two batches
//! never wait for each other in a circle.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::harness::{Caller, Lane};
use crate::services::{Service, Start, postgresql};
use crate::wallet::dialogue::{Debit, Endpoint, Event, Outcome, Request, Verdict, Wallets};
use crate::wire::postgres::{self, array, execute};

/// A call that lost against another is made again after this.
const CONFLICT_PAUSE: Duration = Duration::from_millis(1);
/// Errors that mean it: deadlock, serialization failure, an id that a twin booked in the meantime.
const CONFLICTS: [&[u8]; 3] = [b"40P01", b"40001", b"23505"];
const PREPARE_MAX: Duration = Duration::from_secs(30);

const TABLES: &str = "CREATE TABLE accounts (id integer PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0)) \
    WITH (fillfactor = 70); \
    CREATE TABLE transfers (id uuid PRIMARY KEY, account integer NOT NULL, amount bigint NOT NULL CHECK (amount > 0), \
    balance bigint NOT NULL, at timestamptz NOT NULL DEFAULT now()); \
    CREATE INDEX history ON transfers (account, at);";

/// The answer is a digit for each debit: see [`Verdict::from_digit`].
const LOCKING: &str = "CREATE FUNCTION debit(t uuid, a integer, n bigint) RETURNS text LANGUAGE plpgsql AS $$ \
    DECLARE had bigint; BEGIN \
    SELECT balance INTO had FROM accounts WHERE id = a FOR UPDATE; \
    IF NOT FOUND THEN RETURN '4'; END IF; \
    PERFORM 1 FROM transfers WHERE id = t AND account = a AND amount = n; \
    IF FOUND THEN RETURN '1'; END IF; \
    IF EXISTS (SELECT FROM transfers WHERE id = t) THEN RETURN '3'; END IF; \
    IF had < n THEN RETURN '2'; END IF; \
    UPDATE accounts SET balance = balance - n WHERE id = a; \
    INSERT INTO transfers (id, account, amount, balance) VALUES (t, a, n, had - n); \
    RETURN '0'; END $$; \
    CREATE FUNCTION debits(ids uuid[], those integer[], amounts bigint[]) RETURNS text LANGUAGE plpgsql AS $$ \
    DECLARE verdicts text; BEGIN \
    PERFORM 1 FROM accounts WHERE id = ANY (those) ORDER BY id FOR UPDATE; \
    WITH wanted AS (SELECT w.id, w.account, w.amount, w.n, t.id IS NOT NULL AS done, \
    t.account = w.account AND t.amount = w.amount AS same \
    FROM unnest(ids, those, amounts) WITH ORDINALITY AS w (id, account, amount, n) LEFT JOIN transfers t ON t.id = w.id), \
    planned AS (SELECT wanted.*, a.balance - coalesce(sum(amount) FILTER (WHERE NOT done) \
    OVER (PARTITION BY account ORDER BY n), 0) AS remains FROM wanted JOIN accounts a ON a.id = account), \
    booked AS (INSERT INTO transfers (id, account, amount, balance) \
    SELECT id, account, amount, remains FROM planned WHERE NOT done AND remains >= 0 RETURNING account, amount), \
    moved AS (UPDATE accounts SET balance = accounts.balance - s.total \
    FROM (SELECT account, sum(amount) AS total FROM booked GROUP BY account) s WHERE accounts.id = s.account) \
    SELECT string_agg(CASE WHEN NOT done THEN CASE WHEN remains >= 0 THEN '0' ELSE '2' END \
    WHEN same THEN '1' ELSE '3' END, '' ORDER BY n) INTO verdicts FROM planned; \
    RETURN verdicts; END $$;";

/// As [`LOCKING`]. A twin that books the same id at the same time fails at the unique id, and nothing of it happened.
const TRYING: &str = "CREATE FUNCTION debit(t uuid, a integer, n bigint) RETURNS text LANGUAGE plpgsql AS $$ \
    DECLARE remains bigint; BEGIN \
    PERFORM 1 FROM transfers WHERE id = t AND account = a AND amount = n; \
    IF FOUND THEN RETURN '1'; END IF; \
    UPDATE accounts SET balance = balance - n WHERE id = a AND balance >= n RETURNING balance INTO remains; \
    IF NOT FOUND THEN \
    IF EXISTS (SELECT FROM transfers WHERE id = t) THEN RETURN '3'; END IF; \
    RETURN CASE WHEN EXISTS (SELECT FROM accounts WHERE id = a) THEN '2' ELSE '4' END; END IF; \
    INSERT INTO transfers (id, account, amount, balance) VALUES (t, a, n, remains); \
    RETURN '0'; END $$; \
    CREATE FUNCTION debits(ids uuid[], those integer[], amounts bigint[]) RETURNS text LANGUAGE plpgsql AS $$ \
    DECLARE verdicts text[] := array_fill(''::text, ARRAY[cardinality(ids)]); i integer; BEGIN \
    FOR i IN SELECT n FROM unnest(those) WITH ORDINALITY AS w (account, n) ORDER BY account, n LOOP \
    verdicts[i] := debit(ids[i], those[i], amounts[i]); END LOOP; \
    RETURN array_to_string(verdicts, ''); END $$;";

/// The statements, by the name that they are prepared under.
const STATEMENTS: [(&str, &str); 5] = [
    ("open", "INSERT INTO accounts SELECT generate_series($1::integer, $2::integer), $3::bigint"),
    ("debit", "SELECT debit($1::uuid, $2::integer, $3::bigint)"),
    ("debits", "SELECT debits($1::uuid[], $2::integer[], $3::bigint[])"),
    (
        "look",
        "SELECT string_agg(balance::text, ',' ORDER BY id) FROM accounts WHERE id BETWEEN $1::integer AND $2::integer",
    ),
    ("entries", "SELECT count(*)::text FROM transfers WHERE account = $1::integer"),
];

/// How the procedure makes sure that nothing is overdrawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// SELECT FOR UPDATE, look, UPDATE.
    Locking,
    /// UPDATE ... WHERE balance >= amount.
    Trying,
}

/// PostgreSQL with accounts.
pub(crate) struct Postgresql {
    service: Service,
}

impl Postgresql {
    /// Starts it anew, empty, and makes tables and procedures.
    pub(crate) fn start(start: &Start<'_>, variant: Variant) -> Result<Self> {
        let service = postgresql::start(start)?;
        let procedures = match variant {
            Variant::Locking => LOCKING,
            Variant::Trying => TRYING,
        };
        let schema = Pipeline::new(Some(format!("{TABLES} {procedures}")));
        Caller::connect(&[service.address()], Box::new(schema))?.ask(Request::Loaded, PREPARE_MAX)?;
        Ok(Self { service })
    }
}

impl Endpoint for Postgresql {
    fn service(&self) -> &Service {
        &self.service
    }

    fn lane(&self) -> Box<dyn Lane<Wallets>> {
        Box::new(Pipeline::new(None))
    }
}

struct Pipeline {
    /// Made before the statements are prepared.
    schema: Option<String>,
    /// Workers and what they wait for, in the order of the answers.
    asked: VecDeque<(usize, Asked)>,
    /// What the request's answer has brought so far.
    came: Came,
}

/// What came of a request before its end.
#[derive(Default)]
enum Came {
    #[default]
    Nothing,
    Row(Vec<u8>),
    /// It lost against another one.
    Conflict,
}

#[derive(Clone, Copy)]
enum Asked {
    LogIn,
    Schema,
    Statements,
    /// An open, a vacuum: no row.
    Change,
    Debit(usize),
    Look(u32),
    Entries,
}

impl Pipeline {
    fn new(schema: Option<String>) -> Self {
        Self { schema, asked: VecDeque::from([(0, Asked::LogIn)]), came: Came::Nothing }
    }

    /// One message of the server's; what it means when a request has ended.
    fn message(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>> {
        match kind {
            b'E' if CONFLICTS.contains(&postgres::error_code(body)) => self.came = Came::Conflict,
            b'E' => bail!("postgresql: {}", postgres::error(body)),
            b'R' if body != [0, 0, 0, 0] => bail!("postgresql wants a password"),
            b'D' => {
                let [column] = postgres::columns(body)?;
                self.came = Came::Row(column.to_vec());
            }
            b'Z' => return self.ended(out),
            _ => {}
        }
        Ok(None)
    }

    fn ended(&mut self, out: &mut Vec<u8>) -> Result<Option<Event>> {
        let (worker, asked) = self.asked.pop_front().context("an answer to no request")?;
        let outcome = match (asked, std::mem::take(&mut self.came)) {
            (Asked::LogIn, _) if self.schema.is_some() => {
                postgres::query(&self.schema.take().unwrap_or_default(), out);
                self.asked.push_back((0, Asked::Schema));
                return Ok(None);
            }
            (Asked::LogIn | Asked::Schema, _) => {
                STATEMENTS.iter().for_each(|(name, sql)| postgres::prepare(name, sql, out));
                postgres::sync(out);
                self.asked.push_back((0, Asked::Statements));
                return Ok(None);
            }
            (Asked::Statements, _) => return Ok(Some(Event::Open)),
            (_, Came::Conflict) => Outcome::Again(CONFLICT_PAUSE),
            (Asked::Change, _) => Outcome::Done,
            (Asked::Debit(debits), Came::Row(digits)) => {
                if digits.len() != debits {
                    bail!("{} verdicts for {debits} debits", digits.len());
                }
                let verdicts = digits.iter().map(|digit| Verdict::from_digit(*digit));
                Outcome::Debited(verdicts.collect::<Result<_>>()?)
            }
            (Asked::Look(count), Came::Row(list)) => {
                let balances: Vec<i64> =
                    std::str::from_utf8(&list)?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                if balances.len() != count as usize {
                    bail!("{} balances of {count} accounts", balances.len());
                }
                Outcome::Balances(balances)
            }
            (Asked::Entries, Came::Row(count)) => Outcome::Entries(std::str::from_utf8(&count)?.parse()?),
            (Asked::Debit(_) | Asked::Look(_) | Asked::Entries, Came::Nothing) => {
                bail!("postgresql answered without a row")
            }
        };
        Ok(Some(Event::Answer(worker, outcome)))
    }
}

impl Lane<Wallets> for Pipeline {
    fn open(&mut self, outs: &mut [Vec<u8>]) {
        postgres::start(&mut outs[0]);
    }

    fn start(&mut self, worker: usize, request: Request<'_>, outs: &mut [Vec<u8>]) {
        let out = &mut outs[0];
        let text = |number: u64| number.to_string().into_bytes();
        let asked = match request {
            Request::Open { first, count, credit } => {
                let last = u64::from(first) + u64::from(count) - 1;
                execute("open", &[text(first.into()), text(last), text(credit)], out);
                Asked::Change
            }
            Request::Loaded => {
                postgres::query("VACUUM (ANALYZE)", out);
                Asked::Change
            }
            Request::Debit([debit]) => {
                let id = format!("{:032x}", debit.id).into_bytes();
                execute("debit", &[id, text(debit.account.into()), text(debit.amount)], out);
                Asked::Debit(1)
            }
            Request::Debit(debits) => {
                let list = |write: fn(&Debit) -> String| {
                    array(debits, |debit, out| out.extend_from_slice(write(debit).as_bytes()))
                };
                let arguments = [
                    list(|debit| format!("{:032x}", debit.id)),
                    list(|debit| debit.account.to_string()),
                    list(|debit| debit.amount.to_string()),
                ];
                execute("debits", &arguments, out);
                Asked::Debit(debits.len())
            }
            Request::Look { first, count } => {
                let last = u64::from(first) + u64::from(count) - 1;
                execute("look", &[text(first.into()), text(last)], out);
                Asked::Look(count)
            }
            Request::Entries { account } => {
                execute("entries", &[text(account.into())], out);
                Asked::Entries
            }
            Request::Totals => unreachable!("only asked of the product"),
        };
        self.asked.push_back((worker, asked));
    }

    fn read(
        &mut self,
        _connection: usize,
        bytes: &[u8],
        outs: &mut [Vec<u8>],
        events: &mut Vec<Event>,
    ) -> Result<usize> {
        let mut at = 0;
        while let Some((kind, body, length)) = postgres::parse(&bytes[at..])? {
            events.extend(self.message(kind, body, &mut outs[0])?);
            at += length;
        }
        Ok(at)
    }
}
