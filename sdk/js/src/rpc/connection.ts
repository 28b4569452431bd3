// One RSocket connection as a client's requester, without I/O: frames in, frames out, and the time.
//
// It sends request-response and fire-and-forget, and serves nothing: a request of the server gets
// an ERROR. Leases and resumption are not asked for.

import { StadiumError, Unavailable, Unknown } from '../errors.js'
import { ErrorCode, answerOf } from './answers.js'
import {
  FrameError, IGNORE, decode, encode, joined, type Frame, type Payload, type PayloadFrame
} from './frame.js'
import { COMPOSITE, PROTOBUF } from './metadata.js'

/** Bounds and times of a connection. */
export interface ConnectionSettings {
  /** Milliseconds between keep-alives. */
  readonly keepAlive: number
  /** Milliseconds without any byte of the server after which the connection is given up. */
  readonly lifetime: number
  /** The largest answer, in bytes; it bounds what is gathered of fragments. */
  readonly payloadBytesMax: number
}

/** What a connection reports to its driver. */
export interface ConnectionEvents {
  /** This frame is to be sent. */
  send (frame: Uint8Array): void
  /** A request was answered. `answer` is a view of received bytes. */
  answered (stream: number, answer: Uint8Array | StadiumError): void
  /** The server takes no new requests; those under way go on. */
  draining (): void
  /** The connection is over, for this reason. Requests under way get no answer. */
  ended (reason: StadiumError): void
}

/** Longer payloads travel in fragments, so that other streams are served between them. */
const FRAGMENT_BYTES = 65_536
/** Header of a frame and the length of its metadata. */
const OVERHEAD_BYTES = 9
/** Fragments of all answers together: as much as four of the largest. */
const GATHERED_ANSWERS_MAX = 4
const STREAM_MAX = 0x7fff_ffff
const CONNECTION_CLOSE = 0x102
const NOTHING = new Uint8Array(0)
const utf8 = new TextEncoder()

interface Gathered {
  parts: Uint8Array[]
  bytes: number
}

export class Connection {
  readonly #settings: ConnectionSettings
  readonly #events: ConnectionEvents
  readonly #open = new Map<number, Gathered>()
  #gathered = 0
  #nextStream = 1
  #accepted = false
  #draining = false
  #over = false
  #heardAt = 0
  #keepAliveAt = 0

  constructor (settings: ConnectionSettings, events: ConnectionEvents) {
    this.#settings = settings
    this.#events = events
  }

  /** Requests that wait for their answer. */
  get open (): number {
    return this.#open.size
  }

  /** Whether it takes requests. */
  get usable (): boolean {
    return !this.#over && !this.#draining && this.#nextStream <= STREAM_MAX
  }

  /** Sends SETUP. */
  start (now: number): void {
    const { keepAlive, lifetime } = this.#settings
    this.#heardAt = now
    this.#keepAliveAt = now + keepAlive
    this.#send({
      type: 'SETUP',
      stream: 0,
      major: 1,
      minor: 0,
      keepaliveMs: Math.round(keepAlive),
      lifetimeMs: Math.round(lifetime),
      lease: false,
      resumeToken: null,
      metadataMime: COMPOSITE,
      dataMime: PROTOBUF,
      metadata: null,
      data: NOTHING
    })
  }

  /** Sends a request and returns its stream. Ask {@link Connection.usable} before. */
  request (type: 'REQUEST_RESPONSE' | 'REQUEST_FNF', payload: Payload): number {
    const stream = this.#nextStream
    this.#nextStream += 2
    if (type === 'REQUEST_RESPONSE') this.#open.set(stream, { parts: [], bytes: 0 })
    const pieces = fragments(payload)
    pieces.forEach((piece, index) => {
      const follows = index + 1 < pieces.length
      if (index === 0) this.#send({ type, stream, follows, ...piece })
      else this.#send({ type: 'PAYLOAD', stream, follows, complete: false, next: true, ...piece })
    })
    return stream
  }

  /** Nobody waits for the answer any more. */
  cancel (stream: number): void {
    if (this.#forget(stream)) this.#send({ type: 'CANCEL', stream })
  }

  /** Bytes came, of a frame that may not be complete. */
  heard (now: number): void {
    this.#heardAt = now
  }

  /** A frame came. */
  received (bytes: Uint8Array): void {
    if (this.#over) return
    try {
      const frame = decode(bytes)
      if (frame !== undefined) this.#take(frame)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.broken(error)
    }
  }

  /** The server broke the protocol: the connection ends with an ERROR. */
  broken (error: FrameError): void {
    if (this.#over) return
    const data = utf8.encode(error.message)
    this.#send({ type: 'ERROR', stream: 0, code: ErrorCode.ConnectionError, data })
    this.#end(new Unknown(`the server broke the protocol: ${error.message}`, { cause: error }))
  }

  /** Does what is due, and returns when it is to be called next. */
  tick (now: number): number {
    const silentAt = this.#heardAt + this.#settings.lifetime
    if (this.#over) return Infinity
    if (now >= silentAt) {
      this.#end(new Unknown('the server sent nothing for the lifetime of the connection'))
      return Infinity
    }
    if (now >= this.#keepAliveAt) {
      this.#keepAliveAt = now + this.#settings.keepAlive
      this.#send({ type: 'KEEPALIVE', stream: 0, respond: true, position: 0n, data: NOTHING })
    }
    return Math.min(this.#keepAliveAt, silentAt)
  }

  #take (frame: Frame): void {
    if (frame.type === 'EXT') {
      if ((frame.flags & IGNORE) !== 0) return
      throw new FrameError(`an extension of the unknown type ${frame.extendedType}`)
    }
    if (frame.stream === 0) this.#ofConnection(frame)
    else this.#ofStream(frame)
  }

  #ofConnection (frame: Frame): void {
    switch (frame.type) {
      case 'KEEPALIVE':
        if (frame.respond) this.#send({ ...frame, respond: false, position: 0n })
        break
      case 'ERROR':
        this.#failed(frame.code, frame.data)
        return
      case 'REQUEST_RESPONSE':
      case 'REQUEST_FNF':
      case 'REQUEST_STREAM':
      case 'REQUEST_CHANNEL':
        throw new FrameError('a request on the stream of the connection')
      default:
        break
    }
    this.#accepted = true
  }

  #failed (code: number, data: Uint8Array): void {
    const why = new TextDecoder().decode(data)
    if (code <= ErrorCode.RejectedSetup && code > 0) {
      // Behind a frame that accepted the connection it is ignored: SETUP-14.
      if (!this.#accepted) this.#end(new Unavailable(`the server refused the connection: ${why}`))
    } else if (code === CONNECTION_CLOSE) {
      this.#draining = true
      this.#events.draining()
    } else {
      this.#end(new Unknown(`the server ended the connection: ${why}`))
    }
  }

  #ofStream (frame: Frame): void {
    this.#accepted = true
    const { stream } = frame
    switch (frame.type) {
      case 'PAYLOAD':
        this.#answer(frame)
        break
      case 'ERROR':
        if (this.#forget(stream)) this.#events.answered(stream, answerOf(frame.code, frame.data))
        break
      case 'REQUEST_RESPONSE':
      case 'REQUEST_FNF':
      case 'REQUEST_STREAM':
      case 'REQUEST_CHANNEL':
        if (stream % 2 === 1) throw new FrameError("a request on the client's own stream ids")
        if (frame.type !== 'REQUEST_FNF') {
          const data = utf8.encode('this client serves no requests')
          this.#send({ type: 'ERROR', stream, code: ErrorCode.Invalid, data })
        }
        break
      default:
        break
    }
  }

  #answer ({ stream, data, complete, next, ...frame }: PayloadFrame): void {
    const gathered = this.#open.get(stream)
    // A fragment that completes is the last: FRAGMENT-5.
    const follows = frame.follows && !complete
    if (gathered === undefined || !(follows || complete || next)) return
    const bytes = gathered.bytes + data.length
    const max = this.#settings.payloadBytesMax
    const held = this.#gathered + (follows ? data.length : 0)
    if (bytes > max || held > max * GATHERED_ANSWERS_MAX) {
      this.cancel(stream)
      const reason = `the answer is larger than ${max} bytes, or too many are unfinished`
      this.#events.answered(stream, new Unknown(reason))
    } else if (follows) {
      // A copy: the view would keep the whole chunk that it came in.
      gathered.parts.push(data.slice())
      gathered.bytes = bytes
      this.#gathered = held
    } else {
      this.#forget(stream)
      const whole = gathered.parts.length === 0 ? data : joined([...gathered.parts, data])
      this.#events.answered(stream, whole)
    }
  }

  #forget (stream: number): boolean {
    const gathered = this.#open.get(stream)
    if (gathered === undefined) return false
    this.#gathered -= gathered.bytes
    return this.#open.delete(stream)
  }

  #send (frame: Frame): void {
    if (!this.#over) this.#events.send(encode(frame))
  }

  #end (reason: StadiumError): void {
    if (this.#over) return
    this.#over = true
    this.#events.ended(reason)
  }
}

/** The payload in pieces of one frame each: metadata first, then data. */
function fragments (payload: Payload): Payload[] {
  const { metadata, data } = payload
  const room = FRAGMENT_BYTES - OVERHEAD_BYTES
  const whole = (metadata?.length ?? 0) + data.length
  if (whole <= room) return [payload]
  const pieces: Payload[] = []
  let [words, at] = [metadata ?? NOTHING, 0]
  while (words.length > room) {
    pieces.push({ metadata: words.subarray(0, room), data: NOTHING })
    words = words.subarray(room)
  }
  do {
    const head = at === 0 && words.length > 0 ? words : null
    const end = Math.min(at + room - (head?.length ?? 0), data.length)
    pieces.push({ metadata: head, data: data.subarray(at, end) })
    words = NOTHING
    at = end
  } while (at < data.length)
  return pieces
}
