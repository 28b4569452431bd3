// RSocket 1.0 frames, without the length that precedes each on TCP.
//
// Decoded bytes are views of the frame. A frame that cannot be read throws; one that is to be
// ignored (docs/rsocket.md, FRAME-7 and FRAME-9) decodes as undefined.

/** The protocol was broken by the peer: the connection ends. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** Metadata, which may be absent, and data. */
export interface Payload {
  readonly metadata: Uint8Array | null
  readonly data: Uint8Array
}

export interface Setup extends Payload {
  readonly type: 'SETUP'
  readonly stream: number
  readonly major: number
  readonly minor: number
  readonly keepaliveMs: number
  readonly lifetimeMs: number
  readonly lease: boolean
  readonly resumeToken: Uint8Array | null
  readonly metadataMime: string
  readonly dataMime: string
}

export interface Request extends Payload {
  readonly type: 'REQUEST_RESPONSE' | 'REQUEST_FNF' | 'REQUEST_STREAM' | 'REQUEST_CHANNEL'
  readonly stream: number
  readonly follows: boolean
  /** Of a channel: the requester sends no more. */
  readonly complete?: boolean
  /** Of a stream and a channel. */
  readonly initialN?: number
}

export interface PayloadFrame extends Payload {
  readonly type: 'PAYLOAD'
  readonly stream: number
  readonly follows: boolean
  readonly complete: boolean
  readonly next: boolean
}

export type Frame = Setup | Request | PayloadFrame
  | { readonly type: 'LEASE', readonly stream: number, readonly ttlMs: number,
      readonly requests: number, readonly metadata: Uint8Array | null }
  | { readonly type: 'KEEPALIVE', readonly stream: number, readonly respond: boolean,
      readonly position: bigint, readonly data: Uint8Array }
  | { readonly type: 'REQUEST_N', readonly stream: number, readonly n: number }
  | { readonly type: 'CANCEL', readonly stream: number }
  | { readonly type: 'ERROR', readonly stream: number, readonly code: number,
      readonly data: Uint8Array }
  | { readonly type: 'METADATA_PUSH', readonly stream: number, readonly metadata: Uint8Array }
  | { readonly type: 'RESUME', readonly stream: number, readonly major: number,
      readonly minor: number, readonly token: Uint8Array, readonly received: bigint,
      readonly available: bigint }
  | { readonly type: 'RESUME_OK', readonly stream: number, readonly received: bigint }
  | { readonly type: 'EXT', readonly stream: number, readonly flags: number,
      readonly extendedType: number, readonly body: Uint8Array }

const NUMBERS = {
  SETUP: 1, LEASE: 2, KEEPALIVE: 3, REQUEST_RESPONSE: 4, REQUEST_FNF: 5, REQUEST_STREAM: 6,
  REQUEST_CHANNEL: 7, REQUEST_N: 8, CANCEL: 9, PAYLOAD: 10, ERROR: 11, METADATA_PUSH: 12,
  RESUME: 13, RESUME_OK: 14, EXT: 63
} as const
const TYPES = new Map<number, Frame['type']>(
  Object.entries(NUMBERS).map(([type, number]) => [number, type as Frame['type']])
)

export const IGNORE = 0x200
const METADATA = 0x100
const FOLLOWS = 0x80
const COMPLETE = 0x40
const NEXT = 0x20
const RESPOND = 0x80
const RESUME = 0x80
const LEASE = 0x40

const HEADER_BYTES = 6
const NOTHING = new Uint8Array(0)
const utf8 = new TextEncoder()

/** Reads a frame. */
export function decode (bytes: Uint8Array): Frame | undefined {
  const reader = new Reader(bytes)
  const stream = reader.u32()
  if (stream >= 0x8000_0000) throw new FrameError('the reserved bit of a stream id is set')
  const word = reader.u16()
  const flags = word & 0x3ff
  const type = TYPES.get(word >> 10)
  switch (type) {
    case undefined:
      if ((flags & IGNORE) !== 0) return undefined
      throw new FrameError(`a frame of the unknown type ${word >> 10}`)
    case 'SETUP':
      return setup(reader, stream, flags)
    case 'LEASE':
      return {
        type, stream, ttlMs: reader.u31(), requests: reader.u31(),
        metadata: (flags & METADATA) === 0 ? null : reader.rest()
      }
    case 'KEEPALIVE':
      return {
        type, stream, respond: (flags & RESPOND) !== 0, position: reader.u63(), data: reader.rest()
      }
    case 'REQUEST_RESPONSE':
    case 'REQUEST_FNF':
      return withPayload(reader, flags, { type, stream, follows: (flags & FOLLOWS) !== 0 })
    case 'REQUEST_STREAM':
    case 'REQUEST_CHANNEL': {
      const complete = type === 'REQUEST_CHANNEL' ? { complete: (flags & COMPLETE) !== 0 } : {}
      const head = { type, stream, follows: (flags & FOLLOWS) !== 0, ...complete }
      return withPayload(reader, flags, { ...head, initialN: reader.u32() })
    }
    case 'REQUEST_N':
      return { type, stream, n: reader.u32() }
    case 'CANCEL':
      return { type, stream }
    case 'PAYLOAD':
      return withPayload(reader, flags, {
        type,
        stream,
        follows: (flags & FOLLOWS) !== 0,
        complete: (flags & COMPLETE) !== 0,
        next: (flags & NEXT) !== 0
      })
    case 'ERROR':
      return { type, stream, code: reader.u32(), data: reader.rest() }
    case 'METADATA_PUSH':
      return { type, stream, metadata: reader.rest() }
    case 'RESUME': {
      const [major, minor] = [reader.u16(), reader.u16()]
      const token = reader.take(reader.u16())
      return { type, stream, major, minor, token, received: reader.u63(), available: reader.u63() }
    }
    case 'RESUME_OK':
      return { type, stream, received: reader.u63() }
    case 'EXT':
      return { type, stream, flags, extendedType: reader.u31(), body: reader.rest() }
  }
}

function setup (reader: Reader, stream: number, flags: number): Frame | undefined {
  const [major, minor] = [reader.u16(), reader.u16()]
  const [keepaliveMs, lifetimeMs] = [reader.u31(), reader.u31()]
  const resumeToken = (flags & RESUME) === 0 ? null : reader.take(reader.u16())
  const ascii = new TextDecoder()
  const metadataMime = ascii.decode(reader.take(reader.u8()))
  const dataMime = ascii.decode(reader.take(reader.u8()))
  return withPayload(reader, flags, {
    type: 'SETUP' as const,
    stream,
    major,
    minor,
    keepaliveMs,
    lifetimeMs,
    lease: (flags & LEASE) !== 0,
    resumeToken,
    metadataMime,
    dataMime
  })
}

/** The fields with their payload; undefined if the metadata is longer than the frame. */
function withPayload<H> (reader: Reader, flags: number, head: H): (H & Payload) | undefined {
  if ((flags & METADATA) === 0) return { ...head, metadata: null, data: reader.rest() }
  if (reader.left < 3) return undefined
  const length = reader.u8() * 0x1_0000 + reader.u16()
  if (reader.left < length) return undefined
  return { ...head, metadata: reader.take(length), data: reader.rest() }
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor (bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (bytes.length < HEADER_BYTES) throw new FrameError('a frame is shorter than its header')
  }

  get left (): number {
    return this.#bytes.length - this.#at
  }

  u8 (): number {
    return this.#view.getUint8(this.#step(1))
  }

  u16 (): number {
    return this.#view.getUint16(this.#step(2))
  }

  u32 (): number {
    return this.#view.getUint32(this.#step(4))
  }

  u31 (): number {
    const value = this.u32()
    if (value >= 0x8000_0000) throw new FrameError('a number of 31 bits has 32')
    return value
  }

  u63 (): bigint {
    const value = this.#view.getBigUint64(this.#step(8))
    if (value >= 1n << 63n) throw new FrameError('a position of 63 bits has 64')
    return value
  }

  take (count: number): Uint8Array {
    const at = this.#step(count)
    return this.#bytes.subarray(at, at + count)
  }

  rest (): Uint8Array {
    return this.take(this.left)
  }

  #step (count: number): number {
    if (this.left < count) throw new FrameError('a frame ends before its fields')
    const at = this.#at
    this.#at += count
    return at
  }
}

/** Writes a frame. */
export function encode (frame: Frame): Uint8Array {
  switch (frame.type) {
    case 'SETUP': {
      const token = frame.resumeToken
      const flags = (frame.lease ? LEASE : 0) | (token === null ? 0 : RESUME)
      const parts = [
        u16(frame.major), u16(frame.minor), u32(frame.keepaliveMs), u32(frame.lifetimeMs),
        ...(token === null ? [] : [u16(token.length), token]),
        ...mime(frame.metadataMime), ...mime(frame.dataMime)
      ]
      return whole(frame, flags, parts, frame)
    }
    case 'LEASE':
      return whole(frame, frame.metadata === null ? 0 : METADATA,
        [u32(frame.ttlMs), u32(frame.requests), frame.metadata ?? NOTHING])
    case 'KEEPALIVE':
      return whole(frame, frame.respond ? RESPOND : 0, [u64(frame.position), frame.data])
    case 'REQUEST_RESPONSE':
    case 'REQUEST_FNF':
      return whole(frame, frame.follows ? FOLLOWS : 0, [], frame)
    case 'REQUEST_STREAM':
    case 'REQUEST_CHANNEL': {
      const flags = (frame.follows ? FOLLOWS : 0) | (frame.complete === true ? COMPLETE : 0)
      return whole(frame, flags, [u32(frame.initialN ?? 0)], frame)
    }
    case 'REQUEST_N':
      return whole(frame, 0, [u32(frame.n)])
    case 'CANCEL':
      return whole(frame, 0, [])
    case 'PAYLOAD': {
      const ends = (frame.complete ? COMPLETE : 0) | (frame.next ? NEXT : 0)
      return whole(frame, (frame.follows ? FOLLOWS : 0) | ends, [], frame)
    }
    case 'ERROR':
      return whole(frame, 0, [u32(frame.code), frame.data])
    case 'METADATA_PUSH':
      return whole(frame, METADATA, [frame.metadata])
    case 'RESUME':
      return whole(frame, 0, [
        u16(frame.major), u16(frame.minor), u16(frame.token.length), frame.token,
        u64(frame.received), u64(frame.available)
      ])
    case 'RESUME_OK':
      return whole(frame, 0, [u64(frame.received)])
    case 'EXT':
      return whole(frame, frame.flags, [u32(frame.extendedType), frame.body])
  }
}

function whole (
  frame: Frame, flags: number, parts: readonly Uint8Array[], payload?: Payload
): Uint8Array {
  const tail = payload === undefined ? []
    : payload.metadata === null ? [payload.data]
      : [u24(payload.metadata.length), payload.metadata, payload.data]
  const more = payload !== undefined && payload.metadata !== null ? METADATA : 0
  const word = (NUMBERS[frame.type] << 10) | flags | more
  return joined([u32(frame.stream), u16(word), ...parts, ...tail])
}

/** The parts as one array. */
export function joined (parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

function mime (text: string): Uint8Array[] {
  const bytes = utf8.encode(text)
  return [Uint8Array.of(bytes.length), bytes]
}

export function u16 (value: number): Uint8Array {
  return Uint8Array.of(value >> 8, value)
}

export function u24 (value: number): Uint8Array {
  return Uint8Array.of(value >> 16, value >> 8, value)
}

export function u32 (value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >> 16, value >> 8, value)
}

function u64 (value: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}
