// Receipts of transfers, checked offline: docs/audit.md specifies them,
// docs/formats/wallet-events.md the events that they prove.
//
// An event names its accounts and its asset by number, so a receipt proves the events that made
// these too. The labels `transfer` and `shard` of a receipt prove nothing and are not returned.

import { StadiumError } from '../errors.js'

/** A receipt, as `stadium wallet receipt` writes it. */
export interface Receipt {
  readonly version: number
  readonly transfer: string
  readonly shard: number
  readonly seal: number
  readonly root: string
  readonly proofs: readonly ReceiptProof[]
  readonly trees: readonly string[]
}

/** That an event is under the root of a seal. Hashes are hexadecimal. */
export interface ReceiptProof {
  readonly event: string
  readonly event_index: number
  readonly events: number
  readonly event_path: readonly string[]
  readonly time: number
  readonly chain_before: string
  readonly record_index: number
  readonly records: number
  readonly record_path: readonly string[]
  readonly root_before: string
  readonly seal: number
}

/** What a receipt proves. */
export interface ProvedTransfer {
  /** The transfer's id, as a UUID. */
  readonly transfer: string
  readonly kind: 'post' | 'capture' | 'reverse' | 'hold' | 'void'
  /** The wallet that gave. */
  readonly debit: string
  /** The wallet that got. */
  readonly credit: string
  readonly asset: string
  /** Digits behind the asset's point. */
  readonly scale: number
  /** In minor units. */
  readonly amount: bigint
  /** When it was booked. */
  readonly bookedAt: Date
}

/** A receipt that proves nothing under the root that was given. */
export class InvalidReceipt extends StadiumError {
  override readonly name = 'InvalidReceipt'
}

/** Periods that a receipt spans at most. */
const TREES_MAX = 10_000
/** Events that a receipt proves: the transfer, two accounts with their asset, and some to spare. */
const PROOFS_MAX = 16
/** Levels of a tree of 2^53 leaves. */
const PATH_MAX = 53

/**
 * Checks a receipt against a published root (hexadecimal) and returns the transfer that it proves.
 * Take the root from another source than the receipt. Needs no network.
 *
 * @throws {@link InvalidReceipt}
 */
export async function verifyReceipt (receipt: Receipt, root: string): Promise<ProvedTransfer> {
  if (receipt.version !== 1) invalid(`a receipt of version ${receipt.version} is not known here`)
  const { proofs, trees, seal } = receipt
  if (!Array.isArray(proofs) || proofs.length < 1 || proofs.length > PROOFS_MAX) {
    invalid(`a receipt has 1 to ${PROOFS_MAX} proofs`)
  }
  if (!Array.isArray(trees) || trees.length > TREES_MAX) {
    invalid(`a receipt has at most ${TREES_MAX} trees`)
  }
  const published = hash(root)
  for (const proof of proofs) {
    if (!same(await rootOf(proof, seal, trees), published)) {
      invalid('an event of the receipt is not under this root')
    }
  }
  return transferOf(proofs)
}

async function rootOf (
  proof: ReceiptProof, seal: number, trees: readonly string[]
): Promise<Uint8Array> {
  const from = whole(proof.seal)
  if (from > whole(seal) || seal - from > trees.length) invalid('a proof is outside the trees')
  const event = await sha(byte(0), hex(proof.event))
  const digest = await climb(event, proof.event_index, proof.events, proof.event_path)
  const chain = await sha(byte(2), hash(proof.chain_before), digest, little(proof.time))
  const leaf = await sha(byte(0), chain)
  const tree = await climb(leaf, proof.record_index, proof.records, proof.record_path)
  let root = await sha(byte(4), hash(proof.root_before), little(from), tree)
  for (let next = from + 1; next <= seal; next += 1) {
    const at = trees.length + next - seal - 1
    root = await sha(byte(4), root, little(next), hash(trees[at] ?? ''))
  }
  return root
}

/** From a leaf to the hash of its tree: RFC 9162, 2.1.3. */
async function climb (
  leaf: Uint8Array, index: number, leaves: number, path: readonly string[]
): Promise<Uint8Array> {
  let at = whole(index)
  let last = whole(leaves) - 1
  if (at > last || !Array.isArray(path) || path.length > PATH_MAX) {
    invalid('a path of the wrong length')
  }
  let node = leaf
  for (const each of path) {
    if (last === 0) invalid('a path of the wrong length')
    const sister = hash(each)
    if (at % 2 === 1 || at === last) {
      node = await sha(byte(1), sister, node)
      while (at % 2 === 0 && at > 0) {
        at = Math.floor(at / 2)
        last = Math.floor(last / 2)
      }
    } else {
      node = await sha(byte(1), node, sister)
    }
    at = Math.floor(at / 2)
    last = Math.floor(last / 2)
  }
  if (last !== 0) invalid('a path of the wrong length')
  return node
}

interface Moved {
  readonly kind: ProvedTransfer['kind']
  readonly id: string
  readonly amount: bigint
  readonly debit: bigint
  readonly credit: bigint | undefined
  readonly other: string | undefined
}

const TRANSIT = '@transit'

function transferOf (proofs: readonly ReceiptProof[]): ProvedTransfer {
  const [first, ...others] = proofs
  const moved = movedBy(new Reader(hex(first!.event)))
  const accounts = new Map<bigint, { asset: bigint, wallet: string }>()
  const assets = new Map<bigint, { code: string, scale: number }>()
  for (const proof of others) {
    const reader = new Reader(hex(proof.event))
    const kind = reader.byte()
    if (kind === 1) {
      const asset = reader.number()
      const scale = reader.byte()
      assets.set(asset, { scale, code: reader.text() })
    } else if (kind === 2) {
      const account = reader.number()
      const asset = reader.number()
      if ((reader.byte() & 2) !== 0) reader.number()
      accounts.set(account, { asset, wallet: reader.text() })
    } else {
      invalid('an event is neither of an asset nor of an account')
    }
    reader.end()
  }
  const debit = accounts.get(moved.debit) ?? invalid('the debited account is not proved')
  const asset = assets.get(debit.asset) ?? invalid('the asset is not proved')
  const credit = moved.credit === undefined ? undefined
    : accounts.get(moved.credit) ?? invalid('the credited account is not proved')
  if (credit !== undefined && credit.asset !== debit.asset) invalid('the accounts differ in asset')
  const named = (wallet: string | undefined): string =>
    (wallet === undefined || wallet === TRANSIT ? moved.other : wallet) ?? TRANSIT
  return {
    transfer: moved.id,
    kind: moved.kind,
    debit: named(debit.wallet),
    credit: named(credit?.wallet),
    asset: asset.code,
    scale: asset.scale,
    amount: moved.amount,
    bookedAt: new Date(first!.time)
  }
}

function movedBy (reader: Reader): Moved {
  const event = reader.byte()
  const flags = reader.byte()
  let kind: ProvedTransfer['kind']
  if (event === 4) {
    kind = (['post', 'capture', 'reverse'] as const)[reader.byte()] ?? invalid('an unknown kind')
  } else if (event === 5 || event === 6) {
    kind = event === 5 ? 'hold' : 'void'
  } else {
    invalid('the first event is no transfer')
  }
  const id = reader.id()
  if ((flags & 32) === 0) reader.take(8)
  const amount = reader.number()
  const debit = reader.number()
  if (event === 4) reader.entry()
  const credit = event !== 4 && (flags & 16) !== 0 ? undefined : reader.number()
  if (event === 4) reader.entry()
  if ((flags & 1) !== 0) reader.take(16)
  const other = (flags & 16) !== 0 ? reader.text() : undefined
  if ((flags & 2) !== 0) reader.text()
  if ((flags & 4) !== 0) reader.take(Number(reader.number()))
  if ((flags & 8) !== 0) reader.number()
  if (event === 5) reader.number()
  reader.end()
  return { kind, id, amount, debit, credit, other }
}

/** Reads an event: numbers are LEB128. */
class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor (bytes: Uint8Array) {
    this.#bytes = bytes
  }

  take (count: number): Uint8Array {
    if (this.#bytes.length - this.#at < count) invalid('an event ends too early')
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  byte (): number {
    return this.take(1)[0]!
  }

  number (): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const each = this.byte()
      value |= BigInt(each & 0x7f) << shift
      if (each < 0x80) return value < 1n << 64n ? value : invalid('a number of more than 64 bits')
    }
    return invalid('a number that does not end')
  }

  text (): string {
    const bytes = this.take(Number(this.number()))
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch {
      return invalid('a text is not UTF-8')
    }
  }

  id (): string {
    const digits = Array.from(this.take(16), (each) => each.toString(16).padStart(2, '0')).join('')
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }

  /** One line of an account's history: its number, balance, and the way back to earlier ones. */
  entry (): void {
    const number = this.number()
    this.number()
    this.number()
    for (const jump of [64n, 4096n, 262144n, 16777216n]) {
      if (number % jump === 0n) this.number()
    }
  }

  end (): void {
    if (this.#at !== this.#bytes.length) invalid('an event is longer than its parts')
  }
}

function invalid (reason: string): never {
  throw new InvalidReceipt(reason)
}

async function sha (...parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all))
}

function byte (value: number): Uint8Array {
  return Uint8Array.of(value)
}

function little (value: number): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(whole(value)), true)
  return bytes
}

function whole (value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value
    : invalid(`${String(value)} is no whole number`)
}

function hex (text: unknown): Uint8Array {
  if (typeof text !== 'string' || text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) {
    invalid('bytes are not hexadecimal')
  }
  return Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(2 * at, 2 * at + 2), 16))
}

function hash (text: unknown): Uint8Array {
  const bytes = hex(text)
  return bytes.length === 32 ? bytes : invalid('a hash has 32 bytes')
}

function same (one: Uint8Array, other: Uint8Array): boolean {
  return one.every((each, at) => each === other[at])
}
