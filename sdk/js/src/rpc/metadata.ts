// Composite metadata, and the entries that Stadium's RPC writes and reads: docs/rpc.md,
// docs/rpc-guards.md.
//
// A malformed entry ends the reading; the entries before it count.

import { joined, u16, u24, u32 } from './frame.js'

/** An entry: its MIME type as a well-known id or as a name, and its content. */
export interface Entry {
  readonly mime: number | string
  readonly content: Uint8Array
}

export const COMPOSITE = 'message/x.rsocket.composite-metadata.v0'
export const PROTOBUF = 'application/vnd.google.protobuf'

const AUTHENTICATION = 0x7c
const ROUTING = 0x7e
const DEADLINE = 'message/x.stadium.deadline.v1'
const KEY = 'message/x.stadium.key.v1'
const LOAD = 'message/x.stadium.load.v1'
const PEER = 'message/x.stadium.peer.v1'

/** Names of the well-known ids that are read here: an entry may be written either way. */
const IDS = new Map<string, number>([
  ['message/x.rsocket.authentication.v0', AUTHENTICATION],
  ['message/x.rsocket.routing.v0', ROUTING]
])

const SIMPLE = 0x00
const BEARER = 0x01
const WELL_KNOWN = 0x80
const LEFT_MAX_MS = 0xffff_ffff
const TAG_BYTES_MAX = 255

const utf8 = new TextEncoder()

function text (bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** An entry as bytes. */
export function encodeEntry (mime: number | string, content: Uint8Array): Uint8Array {
  const name = typeof mime === 'number' ? [Uint8Array.of(WELL_KNOWN | mime)]
    : [Uint8Array.of(mime.length - 1), utf8.encode(mime)]
  return joined([...name, u24(content.length), content])
}

/** The entries before the first malformed one, and whether there is one. */
export function decodeEntries (bytes: Uint8Array): { entries: Entry[], malformed: boolean } {
  const entries: Entry[] = []
  let rest = bytes
  while (rest.length > 0) {
    const first = rest[0]!
    const known = (first & WELL_KNOWN) !== 0
    const nameEnd = known ? 1 : first + 2
    const start = nameEnd + 3
    if (rest.length < start) return { entries, malformed: true }
    const length = rest[nameEnd]! * 0x1_0000 + rest[nameEnd + 1]! * 0x100 + rest[nameEnd + 2]!
    if (rest.length < start + length) return { entries, malformed: true }
    const name = known ? undefined : text(rest.subarray(1, nameEnd))
    if (!known && name === undefined) return { entries, malformed: true }
    const mime = name ?? (first & ~WELL_KNOWN)
    entries.push({ mime, content: rest.subarray(start, start + length) })
    rest = rest.subarray(start + length)
  }
  return { entries, malformed: false }
}

function isOf (entry: Entry, mime: number | string): boolean {
  return entry.mime === mime || (typeof entry.mime === 'string' && IDS.get(entry.mime) === mime)
}

/** The routing entry of a route. */
export function route (name: string): Uint8Array {
  const tag = utf8.encode(name)
  if (tag.length > TAG_BYTES_MAX) throw new RangeError('a route has at most 255 bytes')
  return encodeEntry(ROUTING, joined([Uint8Array.of(tag.length), tag]))
}

/** The deadline entry: what is left, rounded up to milliseconds. */
export function timeLeft (ms: number): Uint8Array {
  return encodeEntry(DEADLINE, u32(Math.min(Math.max(Math.ceil(ms), 0), LEFT_MAX_MS)))
}

/** The affinity key: calls with the same key go to one instance. */
export function affinityKey (key: Uint8Array): Uint8Array {
  return encodeEntry(KEY, key)
}

/** Authentication by a token. */
export function bearer (token: string): Uint8Array {
  const kind = Uint8Array.of(WELL_KNOWN | BEARER)
  return encodeEntry(AUTHENTICATION, joined([kind, utf8.encode(token)]))
}

/** Authentication by a user name and a password. */
export function simple (username: string, password: string): Uint8Array {
  const name = utf8.encode(username)
  const parts = [Uint8Array.of(WELL_KNOWN | SIMPLE), u16(name.length), name, utf8.encode(password)]
  return encodeEntry(AUTHENTICATION, joined(parts))
}

/** In SETUP: the server is to push its load. */
export function peer (): Uint8Array {
  return encodeEntry(PEER, new Uint8Array(0))
}

/** A push of load, as a server writes it. */
export function load (factor: number, quiescing: boolean): Uint8Array {
  const bytes = new Uint8Array(5)
  new DataView(bytes.buffer).setFloat32(0, factor)
  bytes[4] = quiescing ? 1 : 0
  return encodeEntry(LOAD, bytes)
}

/** The tags of a routing entry; undefined where it is malformed. */
export function decodeTags (content: Uint8Array): string[] | undefined {
  const tags: string[] = []
  for (let rest = content; rest.length > 0;) {
    const end = rest[0]! + 1
    const tag = rest.length < end ? undefined : text(rest.subarray(1, end))
    if (tag === undefined) return undefined
    tags.push(tag)
    rest = rest.subarray(end)
  }
  return tags
}

/** The first tag of a routing entry, if it is well-formed. */
export function firstTag (content: Uint8Array): string | undefined {
  const end = content.length === 0 ? 1 : content[0]! + 1
  return content.length < end ? undefined : text(content.subarray(1, end))
}

/** Who sends a request. */
export type Authentication =
  | { readonly bearer: string }
  | { readonly username: string, readonly password: string }

/** The content of an authentication entry; undefined where it is malformed or of another kind. */
export function decodeAuthentication (content: Uint8Array): Authentication | undefined {
  const kind = content[0]
  if (kind === (WELL_KNOWN | BEARER)) {
    const token = text(content.subarray(1))
    return token === undefined ? undefined : { bearer: token }
  }
  if (kind !== (WELL_KNOWN | SIMPLE) || content.length < 3) return undefined
  const end = 3 + content[1]! * 0x100 + content[2]!
  if (content.length < end) return undefined
  const [username, password] = [text(content.subarray(3, end)), text(content.subarray(end))]
  return username === undefined || password === undefined ? undefined : { username, password }
}

/** What the metadata of a request says, by the rules of docs/rpc-guards.md. */
export interface RequestMetadata {
  readonly route: string | undefined
  readonly leftMs: number | undefined
  readonly key: Uint8Array | undefined
  readonly authentication: Authentication | undefined
}

/** Reads the metadata of a request. */
export function decodeRequest (bytes: Uint8Array): RequestMetadata {
  const { entries } = decodeEntries(bytes)
  const named = (mime: number | string): Entry[] => entries.filter((each) => isOf(each, mime))
  const routes = named(ROUTING).map(({ content }) => firstTag(content))
  const left = named(DEADLINE).at(-1)?.content
  const authentication = named(AUTHENTICATION)[0]
  return {
    route: routes.find((each) => each !== undefined),
    leftMs: left?.length !== 4 ? undefined
      : new DataView(left.buffer, left.byteOffset).getUint32(0),
    key: named(KEY)[0]?.content,
    authentication: authentication && decodeAuthentication(authentication.content)
  }
}

/** The load of a METADATA_PUSH; undefined where there is none that counts. */
export function decodeLoad (
  bytes: Uint8Array
): { readonly factor: number, readonly quiescing: boolean } | undefined {
  const content = decodeEntries(bytes).entries.find((each) => isOf(each, LOAD))?.content
  if (content?.length !== 5) return undefined
  const factor = new DataView(content.buffer, content.byteOffset).getFloat32(0)
  if (!Number.isFinite(factor)) return undefined
  return { factor: Math.min(Math.max(factor, 0), 100), quiescing: content[4] === 1 }
}
