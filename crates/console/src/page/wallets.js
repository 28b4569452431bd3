// The wallets' page: totals and accounts, and one wallet with its history. Both ask the public API every two seconds.
//
// The address says what is shown: /wallets?search=&asset=, and /wallets/NAME?asset=&direction=&other=&reference= with #transfer-ID
// for a transfer. Amounts are whole minor units, and may be more than a number of JavaScript keeps: so they are BigInt here.

import { Chart } from "./chart.js";
import {
  ago, ask, at, cell, count, element, looking, moment, onKey, onTheme, onTyped, rate, refused, request, rows, say, served, short, show, spanShort,
  spark, words, refill,
} from "./console.js";

const ACCOUNTS_ON_PAGE = 25;
const ENTRIES_ON_PAGE = 50;

let view = readAddress();
const scales = new Map(); // Digits behind the point, by asset.
let shown = null; // The asset whose account is shown.
let chartScale = 0;
const balances = new Chart(at("chart-balance"), {
  series: [{ colour: "--grass", fill: true }], format: (n) => short.format(n), floor: 1, pointsMax: ENTRIES_ON_PAGE,
});
onTheme(() => balances.draw());

// ---- Amounts for people

/** Knows the digits of these assets. The live figures are a moment old: what they do not have yet is asked for. */
async function know(assets, live = []) {
  for (const { asset, scale } of live) scales.set(asset, scale);
  if (assets.every((asset) => scales.has(asset))) return;
  for (const { asset, scale } of (await ask("/api/assets")).assets) scales.set(asset, scale);
}

/** An amount with its asset's digits behind the point: 123456 of scale 2 is 1,234.56. */
function money(amount, asset) {
  const value = BigInt(amount), scale = scales.get(asset) ?? 0;
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${value < 0n ? "−" : ""}${whole}${scale ? `.${digits.slice(-scale)}` : ""}`;
}

/** A cell with an amount; nothing stands out where it is zero. */
function moneyCell(amount, asset, label, className = "") {
  const value = BigInt(amount);
  return cell(money(amount, asset), label, value === 0n ? "nothing" : className);
}

// ---- The address

function readAddress() {
  const query = new URLSearchParams(location.search);
  const [, name] = location.pathname.match(/^\/wallets\/(.+)$/) ?? [];
  const given = (parameter) => query.get(parameter) ?? "";
  return {
    wallet: name ? decodeURIComponent(name) : null,
    search: given("search"), asset: given("asset"), direction: given("direction"), other: given("other"), reference: given("reference"),
    after: null, before: null,
  };
}

function address() {
  const path = view.wallet === null ? "/wallets" : `/wallets/${encodeURIComponent(view.wallet)}`;
  const query = new URLSearchParams();
  const names = view.wallet === null ? ["search", "asset"] : ["asset", "direction", "other", "reference"];
  for (const name of names) if (view[name]) query.set(name, view[name]);
  return query.size ? `${path}?${query}` : path;
}

/** Shows something else; a change of the filter replaces the address, a way to another wallet is one to come back from. */
function go(change, kind = "replace") {
  view = { ...view, after: null, before: null, ...change };
  history[kind === "push" ? "pushState" : "replaceState"](null, "", address());
  lay();
  refresh();
}

const toWallet = (wallet, asset = "") => go({ wallet, asset, direction: "", other: "", reference: "" }, "push");

addEventListener("popstate", () => {
  view = readAddress();
  lay();
  refresh();
  transferOfAddress();
});

function lay() {
  const one = view.wallet !== null;
  at("list").hidden = one;
  at("one").hidden = !one;
  document.title = one ? `${view.wallet} · Stadium` : "Wallets · Stadium";
  const fill = (id, value) => { if (document.activeElement !== at(id)) at(id).value = value; };
  if (!one) return fill("search", view.search);
  if (at("h-wallet").textContent !== view.wallet) {
    show("h-wallet", view.wallet);
    for (const id of ["accounts", "entry-rows", "hold-rows", "rules"]) at(id).replaceChildren();
    balances.set([]);
    show("then-balance", "–");
  }
  at("kind").hidden = !view.wallet.startsWith("@");
  fill("other", view.other);
  fill("reference", view.reference);
  for (const button of at("direction").children) button.setAttribute("aria-pressed", button.dataset.direction === view.direction);
}

const refresh = looking((mine) => (view.wallet === null ? refreshList(mine) : refreshOne(mine)));
onKey(() => { refresh(); transferOfAddress(); });

// ---- The list

async function refreshList(mine) {
  const query = new URLSearchParams({ limit: ACCOUNTS_ON_PAGE });
  if (view.search) query.set("prefix", view.search);
  if (view.asset) query.set("asset", view.asset);
  if (view.after) query.set("after", view.after);
  const choice = new URLSearchParams({ sort: at("movers-sort").value });
  if (view.asset) choice.set("asset", view.asset);
  const [live, page] = await Promise.all([ask(`/api/live/wallets?${choice}`), ask(`/api/wallets?${query}`)]);
  await know([...page.accounts, ...live.movers].map(({ asset }) => asset), live.assets);
  if (!mine()) return;
  served(live.shards);
  showBooks(live);
  showAccounts(page);
  showMovers(live);
  showRoots(live);
}

function showBooks(live) {
  const sum = (of) => live.shards.reduce((all, shard) => all + shard[of], 0);
  show("verdict", live.balanced ? "The books balance" : "The books do not balance");
  at("verdict").dataset.balanced = live.balanced;
  show("sum-accounts", count(sum("accounts")));
  show("sum-holds", count(sum("holds")));
  show("sum-pending", count(sum("pending")));
  show("sum-booked", rate(live.booked_per_s));
  at("sum-booked-line").replaceChildren(spark(live.booked_line, "settled"));
  at("asset-none").hidden = live.assets.length > 0;
  refill("asset-rows", live.assets.map((asset) => {
    const row = element("tr"), head = element("th", "", asset.asset);
    head.scope = "row";
    const verdict = element("span", "mark", asset.balanced ? "balance" : "do not balance");
    verdict.dataset.balanced = asset.balanced;
    const books = cell("", "Books");
    books.append(verdict);
    row.append(
      head, cell(count(asset.accounts), "Accounts"), moneyCell(asset.credit, asset.asset, "In credit"),
      moneyCell(-BigInt(asset.debit), asset.asset, "In debit"), moneyCell(asset.held, asset.asset, "Held"), books,
    );
    return row;
  }));
  const options = ["", ...live.assets.map((asset) => asset.asset)];
  if (at("asset").options.length !== options.length) {
    at("asset").replaceChildren(...options.map((asset) => {
      const option = element("option", "", asset || "All");
      option.value = asset;
      return option;
    }));
  }
  at("asset").value = view.asset;
}

function walletLink(wallet, asset) {
  const link = element("a", "", wallet);
  link.href = `/wallets/${encodeURIComponent(wallet)}?asset=${asset}`;
  link.title = wallet;
  link.addEventListener("click", (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    toWallet(wallet, asset);
  });
  return link;
}

function headOf(wallet, asset) {
  const head = element("th");
  head.scope = "row";
  head.append(walletLink(wallet, asset));
  return head;
}

function showAccounts(page) {
  refill("account-rows", page.accounts.map((account) => {
    const row = element("tr"), head = headOf(account.wallet, account.asset);
    const system = account.wallet.startsWith("@");
    const tags = [account.closed && "Closed", system ? "System" : account.overdraft === "allowed" && "Overdraft"].filter(Boolean);
    head.append(...tags.map((text) => element("span", "tag", text)));
    const opened = cell(ago(account.opened_at), "Opened");
    opened.title = account.opened_at;
    row.append(
      head, cell(account.asset, "", "unit-cell"), moneyCell(account.posted, account.asset, "Posted"), moneyCell(account.held, account.asset, "Held"),
      moneyCell(account.available, account.asset, "Available", "strong"),
      account.ceiling === null ? cell("–", "Ceiling", "nothing") : moneyCell(account.ceiling, account.asset, "Ceiling"),
      cell(count(account.entries), "Entries", account.entries ? "" : "nothing"), opened,
    );
    return row;
  }));
  at("account-none").hidden = page.accounts.length > 0;
  show("account-none", view.search || view.asset ? "No wallet is like that." : "No wallet yet. An admin opens one: POST /api/wallets");
  const accounts = page.accounts.length === 1 ? "1 account" : `${count(page.accounts.length)} accounts`;
  show("accounts-say", page.accounts.length ? `${view.after ? "From further on: " : ""}${accounts}, by name` : "");
  at("accounts-first").hidden = view.after === null;
  at("accounts-on").disabled = page.next === null;
  at("accounts-on").onclick = () => go({ after: page.next });
}

function showMovers(live) {
  show("movers-window", `last ${spanShort(live.movers_window_ms)}, over HTTP`);
  at("mover-none").hidden = live.movers.length > 0;
  refill("mover-rows", live.movers.map((mover) => {
    const row = element("tr");
    row.append(
      headOf(mover.wallet, mover.asset), cell(mover.asset, "", "unit-cell"), cell(count(mover.transfers), "Transfers"),
      moneyCell(mover.credit, mover.asset, "In"), moneyCell(mover.debit, mover.asset, "Out"),
    );
    return row;
  }));
}

function showRoots(live) {
  refill("root-rows", live.shards.map((shard) => {
    const row = element("tr"), head = element("th", "", `Shard ${shard.shard}`), { seal } = shard;
    head.scope = "row";
    const root = cell("", "Root");
    if (seal) {
      const text = element("code", "", `${seal.root.slice(0, 10)}…`), copy = element("button", "small", "Copy");
      text.title = seal.root;
      copy.type = "button";
      copy.setAttribute("aria-label", `Copy the root of shard ${shard.shard}`);
      copy.addEventListener("click", async () => {
        await navigator.clipboard.writeText(seal.root);
        say(`Root of seal ${seal.number} of shard ${shard.shard} copied`);
      });
      root.append(text, " ", copy);
    } else {
      root.textContent = "–";
    }
    row.append(
      head, cell(seal ? count(seal.number) : "none yet", "Seal"), cell(seal ? ago(seal.sealed_at) : "–", "Sealed"),
      cell(`${count(shard.unsealed)} records`, "Not sealed", shard.unsealed ? "" : "nothing"), root,
    );
    return row;
  }));
}

const searchDone = onTyped("search", () => choose({}));

/** Another choice of accounts, with what was typed so far. */
function choose(change) {
  searchDone();
  go({ search: at("search").value.trim(), ...change });
}
at("asset").addEventListener("change", () => choose({ asset: at("asset").value }));
at("movers-sort").addEventListener("change", () => refresh());
at("accounts-first").addEventListener("click", () => go({ after: null }));
at("to-list").addEventListener("click", (event) => {
  event.preventDefault();
  go({ wallet: null, asset: "", search: "" }, "push");
});

// ---- One wallet

async function refreshOne(mine) {
  const name = encodeURIComponent(view.wallet);
  const [live, found, holds] = await Promise.all([
    ask("/api/live/wallets?limit=1"),
    ask(`/api/wallets/${name === "roots" ? "%72oots" : name}`).catch((error) => {
      if (error.problem?.status === 404 || error.problem?.status === 422) return error.problem;
      throw error;
    }),
    ask(`/api/wallets/${name}/holds`).catch((error) => (error.problem ? { holds: [] } : Promise.reject(error))),
  ]);
  if (!mine()) return;
  served(live.shards);
  at("one-wrong").hidden = !found.code;
  at("figures").hidden = Boolean(found.code);
  show("one-wrong", found.code ? found.detail : "");
  if (found.code) return;
  const account = found.accounts.find(({ asset }) => asset === view.asset) ?? found.accounts[0];
  await know(found.accounts.map(({ asset }) => asset), live.assets);
  const page = await ask(`/api/wallets/${name}/${account.asset}/history?${choiceOfEntries({ limit: ENTRIES_ON_PAGE, ...(view.before && { before: view.before }) })}`);
  if (!mine()) return;
  shown = account.asset;
  showChoice(found.accounts, account);
  showAccount(account);
  showHolds(holds.holds);
  showEntries(page, account);
}

function choiceOfEntries(more) {
  const query = new URLSearchParams(more);
  for (const name of ["direction", "other", "reference"]) if (view[name]) query.set(name, view[name]);
  return query;
}

function showChoice(accounts, account) {
  at("accounts").replaceChildren(...accounts.map(({ asset, available }) => {
    const button = element("button", "", `${asset} ${money(available, asset)}`);
    button.type = "button";
    button.setAttribute("aria-pressed", asset === account.asset);
    button.addEventListener("click", () => go({ asset }));
    return button;
  }));
}

function showAccount(account) {
  const { asset } = account;
  at("closed").hidden = !account.closed;
  show("balance-unit", asset);
  show("one-available", money(account.available, asset));
  show("one-posted", money(account.posted, asset));
  show("one-held", money(account.held, asset));
  rows("rules", [
    ["Overdraft", words(account.overdraft)],
    ["Ceiling", account.ceiling === null ? "none" : money(account.ceiling, asset)],
    ["Open", account.closed ? "no, closed" : "yes"],
    ["Entries", count(account.entries)],
    ["Opened", `${moment(account.opened_at)} (${ago(account.opened_at)})`],
  ]);
}

function transferLink(id, className = "open") {
  const link = element("button", className, `${id.slice(0, 8)}…`);
  link.type = "button";
  link.title = id;
  link.addEventListener("click", () => openTransfer(id));
  return link;
}

function showHolds(holds) {
  at("holds-card").hidden = holds.length === 0;
  show("holds-say", holds.length === 100 ? "the 100 oldest" : "oldest first");
  refill("hold-rows", holds.map((hold) => {
    const row = element("tr"), head = element("th");
    head.scope = "row";
    head.append(transferLink(hold.id));
    const to = cell("", "To", "text");
    to.append(walletLink(hold.credit, hold.asset));
    row.append(head, to, cell(`${money(hold.amount, hold.asset)} ${hold.asset}`, "Amount"), cell(ago(hold.held_at), "Made"), cell(ago(hold.expires_at), "Ends"));
    return row;
  }));
}

function showEntries(page, account) {
  const { asset } = account;
  refill("entry-rows", page.entries.map((entry) => {
    const row = element("tr"), head = element("th", "", `#${count(entry.number)}`);
    head.scope = "row";
    const booked = cell(moment(entry.transfer.booked_at), "Booked");
    booked.title = `${entry.transfer.booked_at} (${ago(entry.transfer.booked_at)})`;
    const out = entry.direction === "debit";
    const amount = cell(`${out ? "−" : "+"}${money(entry.amount, asset)}`, "", out ? "out" : "in");
    const other = cell("", "With", "text"), transfer = cell("", "Transfer", "text");
    other.append(walletLink(entry.other, asset));
    transfer.append(transferLink(entry.transfer.id));
    const kind = { posted: "", captured: "captured", reversed: "reversal" }[entry.transfer.state] ?? entry.transfer.state;
    if (kind) transfer.append(" ", element("small", "", kind));
    const reference = cell(entry.transfer.reference ?? "–", "Reference", entry.transfer.reference ? "text" : "text nothing");
    row.append(head, booked, amount, moneyCell(entry.balance, asset, "Balance"), other, reference, transfer);
    return row;
  }));
  const filtered = view.direction || view.other || view.reference;
  at("entry-none").hidden = page.entries.length > 0;
  show("entry-none", filtered ? "No entry is like that." : "Nothing was booked yet.");
  const entries = page.entries.length === 1 ? "1 entry" : `${count(page.entries.length)} entries`;
  show("entries-say", page.entries.length ? `${view.before ? "From further back: " : ""}${entries}, newest first` : "");
  at("entries-first").hidden = view.before === null;
  at("entries-on").disabled = page.next === null;
  at("entries-on").onclick = () => go({ before: page.next });
  chartScale = 10 ** (scales.get(asset) ?? 0);
  balances.set(page.entries.map((entry) => [Number(entry.balance) / chartScale]).reverse());
}

at("direction").addEventListener("click", (event) => {
  if (event.target.dataset.direction !== undefined) chooseEntries({ direction: event.target.dataset.direction });
});
const otherDone = onTyped("other", () => chooseEntries({}));
const referenceDone = onTyped("reference", () => chooseEntries({}));

/** Another choice of entries, with what was typed so far. */
function chooseEntries(change) {
  otherDone();
  referenceDone();
  go({ other: at("other").value.trim(), reference: at("reference").value.trim(), ...change });
}
at("entries-first").addEventListener("click", () => go({ before: null }));

at("then").addEventListener("submit", async (event) => {
  event.preventDefault();
  const when = new Date(at("then-at").value);
  if (Number.isNaN(when.getTime()) || shown === null) return;
  try {
    const { posted } = await ask(`/api/wallets/${encodeURIComponent(view.wallet)}/${shown}/balance?at=${when.toISOString()}`);
    show("then-balance", money(posted, shown));
  } catch (error) {
    say(error.message, "error");
  }
});

for (const button of document.querySelectorAll("[data-format]")) {
  button.addEventListener("click", () => download(button.dataset.format).catch((error) => say(error.message, "error")));
}

/** Saves a statement of what is chosen. A link could not carry the key. */
async function download(format) {
  if (shown === null) return;
  const path = `/api/wallets/${encodeURIComponent(view.wallet)}/${shown}/statement?${choiceOfEntries({ format })}`;
  const answer = await request(path);
  if (await refused(answer)) throw new Error("A key is needed for that");
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const [, name] = answer.headers.get("content-disposition")?.match(/filename="(.+)"/) ?? [];
  const link = element("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name ?? `statement.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  say(`Saved as ${link.download}`);
}

// ---- One transfer

async function openTransfer(id) {
  history.replaceState(null, "", `${address()}#transfer-${id}`);
  show("transfer-title", "Transfer");
  show("transfer-what", id);
  show("transfer-flow", "");
  at("transfer-facts").replaceChildren();
  at("transfer-notes").hidden = true;
  if (!at("transfer").open) at("transfer").showModal();
  try {
    const transfer = await ask(`/api/transfers/${id}`);
    await know([transfer.asset]);
    if (at("transfer").open) showTransfer(transfer);
  } catch (error) {
    show("transfer-flow", error.problem?.status === 404 ? "It is not remembered, or never was. Older ones stand in the histories of their wallets." : error.message);
  }
}

function showTransfer(transfer) {
  const { asset } = transfer;
  const word = element("span", "word", words(transfer.state));
  word.dataset.state = { posted: "due", held: "reserved", captured: "due", pending: "delayed" }[transfer.state] ?? "buried";
  at("transfer-what").replaceChildren(word, document.createTextNode(` ${transfer.id}`));
  at("transfer-flow").replaceChildren(
    walletLink(transfer.debit, asset), element("b", "", ` ${money(transfer.amount, asset)} ${asset} → `), walletLink(transfer.credit, asset),
  );
  for (const link of at("transfer-flow").querySelectorAll("a")) link.addEventListener("click", () => at("transfer").close());
  const when = (text) => `${moment(text)} (${ago(text)})`;
  rows("transfer-facts", [
    ["Booked", when(transfer.booked_at)],
    transfer.effective_at && ["Counts from", when(transfer.effective_at)],
    transfer.reference && ["Reference", transfer.reference, "wide"],
    transfer.of && ["Of", transfer.of, "wide"],
    transfer.principal && ["Principal", transfer.principal, "wide"],
  ]);
  const notes = transfer.metadata ?? transfer.metadata_base64;
  at("transfer-notes").hidden = notes === undefined;
  show("transfer-metadata", notes ?? "");
}
at("transfer-close").addEventListener("click", () => at("transfer").close());
at("transfer").addEventListener("click", (event) => { if (event.target === at("transfer")) at("transfer").close(); });
at("transfer").addEventListener("close", () => history.replaceState(null, "", address()));

function transferOfAddress() {
  const [, id] = location.hash.match(/^#transfer-([0-9a-fA-F-]+)$/) ?? [];
  if (id) openTransfer(id);
}

at("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = at("find-transfer").value.trim();
  if (!/^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$/.test(id)) return say("A transfer's id is a UUID", "error");
  at("find-transfer").value = "";
  openTransfer(id);
});

lay();
refresh();
transferOfAddress();
