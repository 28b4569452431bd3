// Calls of a service at one address: one connection, many calls in flight, and the way back after
// the connection is lost.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf'

import { checkedDeadline, limited, now, type CallOptions, type Limits } from '../deadline.js'
import { DeadlineExceeded, StadiumError, Unauthenticated, Unavailable, Unknown } from '../errors.js'
import { Budget, repeated } from '../retry.js'
import { joined } from './frame.js'
import { Link, checkedUrl, unref } from './link.js'
import * as metadata from './metadata.js'
import type { Interaction, OneWay, Unary } from './method.js'
import type { TlsOptions } from './wire.js'

/** A bearer token, or a function that returns the present one. */
export type Bearer = string | (() => string | Promise<string>)

/** Where the service is, and the bounds of its calls. */
export interface RpcOptions {
  /** `tcp://HOST:7800` or `tls://` in Node; `ws://HOST:PORT/rpc` or `wss://` anywhere. */
  readonly url: string | URL
  /** Sent with each call. A function is called before each attempt. */
  readonly bearer?: Bearer
  /** Milliseconds for a call that names no deadline: 5,000 by default. */
  readonly deadline?: number
  /** Calls under way or waiting for the connection: 10,000 by default. The next one fails. */
  readonly pendingMax?: number
  /** Bytes of their requests, and of what has not left yet: 64 MiB by default. */
  readonly pendingBytesMax?: number
  /** The largest answer and the largest request, in bytes: 16 MiB by default. */
  readonly payloadBytesMax?: number
  /** Milliseconds between signs of life: 20,000 by default. */
  readonly keepAlive?: number
  /** Milliseconds without one after which the connection is given up: 90,000 by default. */
  readonly lifetime?: number
  readonly tls?: TlsOptions
}

/** What a call takes beside its request. */
export interface RpcCallOptions extends CallOptions {
  /** The affinity key: calls with the same key go to the same instance. */
  readonly key?: string | Uint8Array
}

const DEADLINE_MS = 5000
const PENDING_MAX = 10_000
const PENDING_BYTES_MAX = 64 * 1024 * 1024
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
const KEEP_ALIVE_MS = 20_000
const LIFETIME_MS = 90_000
/** How long calls wait for a server that cannot be reached, from the first failure on. */
const UNREACHABLE_GRACE_MS = 1000
const BACKOFF_BASE_MS = 50
const BACKOFF_MAX_MS = 5000

type Wake = (outcome: Link | StadiumError) => void

/** A client of the service at one address. It connects with the first call. */
export class RpcClient {
  readonly #url: URL
  readonly #options: RpcOptions
  readonly #bearer: Bearer | undefined
  readonly #deadline: number
  readonly #budget = new Budget()
  readonly #links = new Set<Link>()
  readonly #waiting = new Set<Wake>()
  #link: Link | undefined
  #closed = false
  #pending = 0
  #pendingBytes = 0
  #downSince: number | undefined
  #failure: StadiumError | undefined
  #backoff = BACKOFF_BASE_MS
  #retry: ReturnType<typeof setTimeout> | undefined
  #grace: ReturnType<typeof setTimeout> | undefined

  constructor (options: RpcOptions) {
    const { bearer, ...others } = options
    this.#url = checkedUrl(options.url)
    this.#bearer = bearer
    this.#options = others
    this.#deadline = checkedDeadline(options.deadline ?? DEADLINE_MS)
  }

  /** Whether a connection is open. */
  get connected (): boolean {
    return this.#link?.usable ?? false
  }

  /** Calls a method, and resolves with its answer. It ends at its deadline at the latest. */
  async call<Q extends DescMessage, A extends DescMessage> (
    method: Unary<Q, A>, request: MessageInitShape<Q>, options: RpcCallOptions = {}
  ): Promise<MessageShape<A>> {
    demand(method, 'unary')
    const data = toBinary(method.request, create(method.request, request))
    const bytes = await this.#run(data, options, (limits, sent) =>
      repeated(this.#budget, limits, () => method.idempotent, () =>
        this.#ask(method.route, data, options, limits, sent)))
    try {
      return fromBinary(method.answer, bytes)
    } catch (cause) {
      throw new Unknown(`the answer of ${method.route} does not decode`, { cause })
    }
  }

  /**
   * Sends a request that is not answered, and resolves when it is handed to the connection. What
   * became of it is not reported.
   */
  async send<Q extends DescMessage> (
    method: OneWay<Q>, request: MessageInitShape<Q>, options: RpcCallOptions = {}
  ): Promise<void> {
    demand(method, 'one-way')
    const data = toBinary(method.request, create(method.request, request))
    await this.#run(data, options, async (limits, sent) => {
      const { link, head } = await this.#prepared(method.route, options, limits)
      sent()
      link.tell({ metadata: head, data })
    })
  }

  /** Ends the connection; calls under way fail as {@link Unknown}. Resolves when it is closed. */
  async close (): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#grace)
    this.#wake(new Unavailable('the client is closed'))
    await Promise.all([...this.#links].map((link) => link.close()))
  }

  /** Bounds, deadline and abort of one call. */
  async #run<T> (
    data: Uint8Array, options: RpcCallOptions,
    work: (limits: Limits, sent: () => void) => Promise<T>
  ): Promise<T> {
    const { pendingMax = PENDING_MAX, pendingBytesMax = PENDING_BYTES_MAX } = this.#options
    const { payloadBytesMax = PAYLOAD_BYTES_MAX } = this.#options
    if (data.length > payloadBytesMax) {
      throw new RangeError(`a request has at most ${payloadBytesMax} bytes, not ${data.length}`)
    }
    const held = Math.max(this.#pendingBytes, this.#link?.buffered ?? 0) + data.length
    if (this.#pending >= pendingMax || (this.#pending > 0 && held > pendingBytesMax)) {
      throw new Unavailable(`${this.#pending} calls are under way: no more are taken`)
    }
    this.#pending += 1
    this.#pendingBytes += data.length
    let wasSent = false
    const late = (): DeadlineExceeded => new DeadlineExceeded(
      'the deadline passed before an answer came', { mayHaveHappened: wasSent })
    try {
      const deadline = options.deadline ?? this.#deadline
      return await limited(deadline, options.signal, late, (limits) =>
        work(limits, () => { wasSent = true }))
    } finally {
      this.#pending -= 1
      this.#pendingBytes -= data.length
    }
  }

  async #ask (
    route: string, data: Uint8Array, options: RpcCallOptions, limits: Limits, sent: () => void
  ): Promise<Uint8Array> {
    const { link, head } = await this.#prepared(route, options, limits)
    return await new Promise((resolve, reject) => {
      const { signal } = limits
      const abort = (): void => {
        cancel()
        reject(signal.reason)
      }
      const settled = (): void => { signal.removeEventListener('abort', abort) }
      sent()
      const cancel = link.ask({ metadata: head, data }, {
        resolve: (answer) => { settled(); resolve(answer) },
        reject: (error) => { settled(); reject(error) }
      })
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  /** A connection that takes the call, and its metadata in the order of docs/rpc-guards.md. */
  async #prepared (
    route: string, options: RpcCallOptions, limits: Limits
  ): Promise<{ link: Link, head: Uint8Array }> {
    const token = typeof this.#bearer === 'function' ? await this.#bearer() : this.#bearer
    if (token === '') throw new Unauthenticated('the bearer token is empty')
    const link = this.#usable() ?? await this.#connected(limits.signal)
    limits.signal.throwIfAborted()
    const { key } = options
    const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : key
    const head = joined([
      metadata.route(route),
      metadata.timeLeft(limits.until - now()),
      ...(token === undefined ? [] : [metadata.bearer(token)]),
      ...(bytes === undefined ? [] : [metadata.affinityKey(bytes)])
    ])
    return { link, head }
  }

  #usable (): Link | undefined {
    if (this.#closed) throw new Unavailable('the client is closed')
    if (this.#link?.usable === true) return this.#link
    const down = this.#downSince
    if (down !== undefined && now() - down >= UNREACHABLE_GRACE_MS) throw this.#unreachable()
    return undefined
  }

  async #connected (signal: AbortSignal): Promise<Link> {
    for (;;) {
      const link = await new Promise<Link>((resolve, reject) => {
        const abort = (): void => { wake(signal.reason as StadiumError) }
        const wake = (outcome: Link | StadiumError): void => {
          this.#waiting.delete(wake)
          signal.removeEventListener('abort', abort)
          if (outcome instanceof Link) resolve(outcome)
          else reject(outcome)
        }
        this.#waiting.add(wake)
        signal.addEventListener('abort', abort, { once: true })
        if (this.#retry === undefined) this.#dial()
      })
      if (link.usable) return link
    }
  }

  #dial (): void {
    this.#retry = undefined
    if (this.#closed) return
    const before = this.#link
    if (before !== undefined) {
      if (before.usable || !before.opened) return
      // All its stream ids are used: its calls end, and another one takes new calls.
      this.#link = undefined
      before.retire()
    }
    const { keepAlive = KEEP_ALIVE_MS, lifetime = LIFETIME_MS, tls } = this.#options
    const payloadBytesMax = this.#options.payloadBytesMax ?? PAYLOAD_BYTES_MAX
    const link: Link = new Link(this.#url, tls, { keepAlive, lifetime, payloadBytesMax }, {
      opened: () => {
        this.#downSince = undefined
        clearTimeout(this.#grace)
        this.#wake(link)
      },
      heard: () => { this.#backoff = BACKOFF_BASE_MS },
      draining: () => { if (this.#link === link) this.#link = undefined },
      ended: (reason) => {
        this.#links.delete(link)
        if (this.#link !== link) return
        this.#link = undefined
        this.#lost(reason)
      }
    })
    this.#link = link
    this.#links.add(link)
  }

  /** Dials again after a wait that grows: docs/rpc-guards.md, Back-off. */
  #lost (reason: StadiumError): void {
    if (this.#closed) return
    this.#failure = reason
    if (this.#downSince === undefined) {
      this.#downSince = now()
      this.#grace = setTimeout(() => { this.#wake(this.#unreachable()) }, UNREACHABLE_GRACE_MS)
      unref(this.#grace)
    }
    const most = Math.max(Math.min(this.#backoff * 3, BACKOFF_MAX_MS), BACKOFF_BASE_MS)
    this.#backoff = BACKOFF_BASE_MS + Math.random() * (most - BACKOFF_BASE_MS)
    this.#retry = setTimeout(() => { this.#dial() }, this.#backoff)
    if (this.#waiting.size === 0) unref(this.#retry)
  }

  #unreachable (): Unavailable {
    const why = this.#failure?.reason ?? `${this.#url.host} cannot be reached`
    return new Unavailable(why, { cause: this.#failure })
  }

  #wake (outcome: Link | StadiumError): void {
    for (const wake of [...this.#waiting]) wake(outcome)
  }
}

/** Programs without types can name another method. */
function demand (
  method: { readonly interaction: Interaction, readonly route: string }, wanted: Interaction
): void {
  if (method.interaction !== wanted) {
    throw new TypeError(`${method.route} is ${method.interaction}, and not ${wanted}`)
  }
}
