// One connection to a server with its socket and timer, and the calls under way on it.

import { dialTcp, hasTcp } from '#tcp'
import { dialWebSocket } from '#websocket'

import { now } from '../deadline.js'
import { StadiumError, Unavailable, Unknown } from '../errors.js'
import { Connection, type ConnectionSettings } from './connection.js'
import type { Payload } from './frame.js'
import type { TlsOptions, Wire } from './wire.js'

/** What a link reports to its client. */
export interface LinkEvents {
  opened (): void
  /** The server has sent its first bytes. */
  heard (): void
  /** It takes no new calls; those under way go on. */
  draining (): void
  /** It is over; its calls have failed. */
  ended (reason: StadiumError): void
}

/** How a call ends: with the bytes of the answer, or with an error. */
export interface Waiter {
  resolve (answer: Uint8Array): void
  reject (error: StadiumError): void
}

/** The address's kinds, and how each is dialled. */
const DIALS = {
  'tcp:': dialTcp,
  'tls:': dialTcp,
  'ws:': dialWebSocket,
  'wss:': dialWebSocket
}

/** `url`, if it is an address that can be dialled. */
export function checkedUrl (url: string | URL): URL {
  const parsed = new URL(url)
  if (!(parsed.protocol in DIALS)) {
    throw new TypeError(`an address begins with tcp:, tls:, ws: or wss:, not ${parsed.protocol}`)
  }
  if (DIALS[parsed.protocol as keyof typeof DIALS] === dialTcp && !hasTcp) {
    throw new TypeError(`${parsed.protocol} needs Node: a browser takes ws: and wss: addresses`)
  }
  return parsed
}

export class Link {
  readonly #connection: Connection
  readonly #waiters = new Map<number, Waiter>()
  readonly #events: LinkEvents
  readonly #wire: Wire
  readonly #over: Promise<void>
  #timer: ReturnType<typeof setTimeout> | undefined
  #state: 'opening' | 'open' | 'over' = 'opening'
  #heard = false
  #draining = false

  constructor (
    url: URL, tls: TlsOptions | undefined, settings: ConnectionSettings, events: LinkEvents
  ) {
    this.#events = events
    this.#connection = new Connection(settings, {
      send: (frame) => { this.#wire.send(frame) },
      answered: (stream, answer) => { this.#answered(stream, answer) },
      draining: () => { this.#drain() },
      ended: (reason) => { this.#end(reason) }
    })
    let closed = (): void => {}
    this.#over = new Promise((resolve) => { closed = resolve })
    this.#wire = DIALS[url.protocol as keyof typeof DIALS](url, tls, {
      opened: () => { this.#opened() },
      heard: () => { this.#hear() },
      frame: (bytes) => { this.#connection.received(bytes) },
      closed: (error) => {
        closed()
        const why = error?.message ?? 'the server closed it'
        this.#end(this.#state === 'opening'
          ? new Unavailable(`${url.host} cannot be reached: ${why}`, { cause: error })
          : new Unknown(`the connection to ${url.host} broke: ${why}`, { cause: error }))
      }
    })
  }

  /** Whether it is open and takes calls. */
  get usable (): boolean {
    return this.#state === 'open' && this.#connection.usable
  }

  /** Whether it has been opened, also if it is over. */
  get opened (): boolean {
    return this.#state !== 'opening'
  }

  /** Bytes that were handed over and have not left. */
  get buffered (): number {
    return this.#wire.buffered
  }

  /** Sends a request, and returns what cancels it. */
  ask (payload: Payload, waiter: Waiter): () => void {
    const stream = this.#connection.request('REQUEST_RESPONSE', payload)
    this.#waiters.set(stream, waiter)
    if (this.#waiters.size === 1) this.#wire.hold(true)
    return () => {
      if (!this.#waiters.has(stream)) return
      this.#connection.cancel(stream)
      this.#settled(stream)
    }
  }

  /** Sends a request that nobody answers. */
  tell (payload: Payload): void {
    this.#connection.request('REQUEST_FNF', payload)
  }

  /** Ends it when its calls have ended. */
  retire (): void {
    this.#draining = true
    if (this.#waiters.size === 0) this.#end(new Unavailable('the connection was given back'))
  }

  /** Ends it now; its calls fail. Resolves when the socket is closed. */
  async close (): Promise<void> {
    this.#end(new Unknown('the client was closed during the call'))
    await this.#over
  }

  #opened (): void {
    // Closed while it was opened: the socket closes now.
    if (this.#state !== 'opening') return
    this.#state = 'open'
    this.#connection.start(now())
    this.#wire.hold(this.#waiters.size > 0)
    this.#tick()
    this.#events.opened()
  }

  #hear (): void {
    this.#connection.heard(now())
    if (this.#heard) return
    this.#heard = true
    this.#events.heard()
  }

  #tick (): void {
    const next = this.#connection.tick(now())
    if (next === Infinity) return
    this.#timer = setTimeout(() => { this.#tick() }, Math.max(next - now(), 1))
    unref(this.#timer)
  }

  #answered (stream: number, answer: Uint8Array | StadiumError): void {
    const waiter = this.#waiters.get(stream)
    this.#settled(stream)
    if (answer instanceof StadiumError) waiter?.reject(answer)
    else waiter?.resolve(answer)
  }

  #settled (stream: number): void {
    this.#waiters.delete(stream)
    if (this.#waiters.size > 0) return
    this.#wire.hold(false)
    if (this.#draining) this.#end(new Unavailable('the connection was given back'))
  }

  #drain (): void {
    this.#draining = true
    this.#events.draining()
    if (this.#waiters.size === 0) this.#end(new Unavailable('the server takes no more calls'))
  }

  #end (reason: StadiumError): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    clearTimeout(this.#timer)
    this.#wire?.hold(true)
    this.#wire?.close()
    const waiters = [...this.#waiters.values()]
    this.#waiters.clear()
    for (const waiter of waiters) waiter.reject(reason)
    this.#events.ended(reason)
  }
}

/** Node: the timer alone does not keep the process running. Browsers have no such thing. */
export function unref (timer: ReturnType<typeof setTimeout>): void {
  (timer as { unref?: () => void }).unref?.()
}
