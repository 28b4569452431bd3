// A device: connected as long as it is open, with its inbox, its requests and its reports.
//
// After a lost connection it returns when the server wants it: after the `retry-after` of a
// refusal, at the server that a DISCONNECT names, and otherwise after a random wait that grows.

import { checkedDeadline, limited, type CallOptions, type Limits } from '../deadline.js'
import {
  DeadlineExceeded, Rejected, StadiumError, Unavailable, Unknown
} from '../errors.js'
import { Emitter } from './emitter.js'
import { Inbox, type PushHandler } from './inbox.js'
import { message, type Message, type Push, type Received } from './message.js'
import { Reason, failedRequest, isFinal, mqttCode } from './reasons.js'
import { Session, type Ending } from './session.js'

/** Who the device is, where it connects, and what takes its pushes. */
export interface DeviceOptions {
  /** `wss://HOST/mqtt` or `ws://`; in Node also `mqtts://HOST` and `mqtt://`. */
  readonly url: string | URL
  /** The client id: `DEVICE` of the app `default`, `APP/DEVICE` of another. */
  readonly id: string
  /** The device's secret or a token. A function is called before each connection. */
  readonly credential?: string | (() => string | Promise<string>)
  /** The user name of a password file: the id by default. */
  readonly user?: string
  /**
   * Takes the pushes, one after the other. A push is acknowledged when the handler has ended. One
   * whose handler fails comes again with the next connection.
   */
  readonly onPush?: PushHandler
  /** Channels whose messages are events: `news` is the topic `channels/news`. */
  readonly channels?: readonly string[]
  /** Milliseconds for a call that names no deadline: 10,000 by default. */
  readonly deadline?: number
  /** Milliseconds between signs of life: 60,000 by default. */
  readonly keepAlive?: number
  /** Milliseconds for which the server keeps the session of an absent device: a day by default. */
  readonly sessionExpiry?: number
  /** Pushes that may wait to be taken: 64 by default, 1 to 65,535. The server sends no more. */
  readonly pushesMax?: number
  /** The shortest wait before a return for which the server names no time: 500 ms by default. */
  readonly returnMin?: number
  /** The longest such wait: 60,000 ms by default. */
  readonly returnMax?: number
  /** TLS options of Node's `tls.connect`: `ca`, `cert`, `key`. */
  readonly tls?: object
}

/** Events of a device. */
export type DeviceEvents = {
  /** Connected and subscribed. `sessionPresent`: the server has kept the session. */
  connected: readonly [{ readonly sessionPresent: boolean }]
  /** The connection is lost. The device returns after so many milliseconds. */
  disconnected: readonly [{ readonly error: StadiumError, readonly returnsAfter: number }]
  /** A message of a channel. */
  message: readonly [Message]
  /** The handler of a push failed. The push is not acknowledged. */
  pushFailed: readonly [{ readonly error: unknown, readonly push: Push }]
  /** The device stays away: closed, refused for good, or taken over by another connection. */
  closed: readonly [StadiumError | undefined]
}

interface Waiter {
  resolve (answer: Received): void
  reject (error: StadiumError): void
}

const DEADLINE_MS = 10_000
const KEEP_ALIVE_MS = 60_000
const SESSION_EXPIRY_MS = 86_400_000
const PUSHES_MAX = 64
const RETURN_MIN_MS = 500
const RETURN_MAX_MS = 60_000
const CONNECT_TIMEOUT_MS = 30_000
/** Requests under way: as many as the server allows a device by default. */
const REQUESTS_MAX = 16

export class Device extends Emitter<DeviceEvents> {
  readonly id: string
  readonly #options: DeviceOptions
  readonly #deadline: number
  readonly #inbox: Inbox
  readonly #requests = new Map<string, Waiter>()
  readonly #waiting = new Set<(outcome: Session | StadiumError) => void>()
  /** Before the number of a request: another instance of this device may be answered here. */
  readonly #prefix = Math.random().toString(36).slice(2, 10)
  #number = 0
  #url: URL
  #session: Session | undefined
  #online = false
  #over: StadiumError | undefined
  #isClosed = false
  #wait: number
  #timer: ReturnType<typeof setTimeout> | undefined

  private constructor (options: DeviceOptions) {
    super()
    if (options.id === '' || /[#+\0]/.test(options.id)) {
      throw new RangeError(`${JSON.stringify(options.id)} is no id of a device`)
    }
    this.id = options.id
    this.#options = options
    this.#url = new URL(options.url)
    this.#deadline = checkedDeadline(options.deadline ?? DEADLINE_MS)
    this.#wait = options.returnMin ?? RETURN_MIN_MS
    this.#inbox = new Inbox(options.onPush ?? (() => {}), (error, push) => {
      this.emit('pushFailed', { error, push })
    })
  }

  /**
   * Connects a device, and resolves when it is connected and subscribed. It then stays connected
   * until {@link Device.close}. Fails at the deadline, or at once if the server refuses for good.
   */
  static async connect (options: DeviceOptions, limits: CallOptions = {}): Promise<Device> {
    const device = new Device(options)
    try {
      await device.#limited(limits, false, async ({ signal }) => {
        void device.#dial()
        await device.#connection(signal)
      })
      return device
    } catch (error) {
      await device.close()
      throw error
    }
  }

  /** Whether it is connected and subscribed. */
  get connected (): boolean {
    return this.#online
  }

  /** The topic of the device's pushes, and of answers to its requests. */
  get inbox (): string {
    return `inbox/${this.id}`
  }

  /**
   * Asks a service: `geo/Last` with an encoded message gives the encoded answer. Waits for the
   * connection while the device is away. An answer also arrives after a return.
   */
  async request (
    route: string, payload: Uint8Array, options: CallOptions = {}
  ): Promise<Uint8Array> {
    return (await this.#ask(`rpc/${route}`, payload, options)).payload.slice()
  }

  /** The user opened a push. */
  async opened (push: string, options: CallOptions = {}): Promise<void> {
    await this.#ask('me/opened', JSON.stringify({ push }), options)
  }

  /** The user clicked a push, or an action of it. */
  async clicked (push: string, action?: string, options: CallOptions = {}): Promise<void> {
    const fields = action === undefined ? { push } : { push, action }
    await this.#ask('me/clicked', JSON.stringify(fields), options)
  }

  /** Changes tags, attributes and opting in, as far as the app lets its devices. */
  async change (
    fields: {
      readonly tags?: { readonly add?: readonly string[], readonly remove?: readonly string[] }
      readonly attributes?: Readonly<Record<string, unknown>>
      readonly opted_in?: boolean
    },
    options: CallOptions = {}
  ): Promise<void> {
    await this.#ask('me/device', JSON.stringify(fields), options)
  }

  /**
   * Publishes to `uplink/ID/...`. Resolves when the server has it; where nobody is told of it, at
   * QoS 0, when it is handed over.
   */
  async publish (
    name: string, payload: string | Uint8Array,
    options: CallOptions & { readonly qos?: 0 | 1 } = {}
  ): Promise<void> {
    const { qos = 1, ...limits } = options
    await this.#limited(limits, true, async ({ signal }) => {
      const session = await this.#connection(signal)
      await session.send(`uplink/${this.id}/${name}`, payload, { qos })
    })
  }

  /** Ends the connection. The server keeps the session, and what the device is owed. */
  async close (): Promise<void> {
    if (this.#isClosed) return
    await this.#finish(undefined)
  }

  async #finish (error: StadiumError | undefined): Promise<void> {
    this.#isClosed = true
    this.#over = error ?? new Unavailable('the device is closed')
    clearTimeout(this.#timer)
    const session = this.#session
    this.#session = undefined
    this.#offline(new Unknown('the device was closed before the answer'))
    this.#inbox.forget()
    for (const wake of [...this.#waiting]) wake(this.#over)
    await session?.close()
    this.emit('closed', error)
  }

  async #dial (): Promise<void> {
    const { credential, keepAlive = KEEP_ALIVE_MS } = this.#options
    const { sessionExpiry = SESSION_EXPIRY_MS } = this.#options
    let password: string | undefined
    try {
      password = typeof credential === 'function' ? await credential() : credential
    } catch (cause) {
      const error = new Unavailable('the credential could not be fetched', { cause })
      this.#lost({ error, after: undefined, reference: undefined })
      return
    }
    if (this.#isClosed) return
    const channels = (this.#options.channels ?? []).map((name) => `channels/${name}`)
    const session: Session = new Session({
      url: this.#url,
      clientId: this.id,
      username: this.#options.user ?? this.id,
      password,
      keepAliveS: Math.max(Math.ceil(keepAlive / 1000), 1),
      sessionExpiryS: Math.ceil(sessionExpiry / 1000),
      receiveMaximum: this.#options.pushesMax ?? PUSHES_MAX,
      connectTimeout: CONNECT_TIMEOUT_MS,
      tls: this.#options.tls,
      filters: [this.inbox, ...channels]
    }, {
      online: (sessionPresent) => {
        this.#online = true
        this.#wait = this.#options.returnMin ?? RETURN_MIN_MS
        for (const wake of [...this.#waiting]) wake(session)
        this.emit('connected', { sessionPresent })
      },
      push: (delivery) => { this.#inbox.add(delivery) },
      message: (received) => { this.emit('message', message(received)) },
      // An answer that nobody waits for any more is dropped, and so is one to an earlier device.
      answer: (correlation, received) => { this.#requests.get(correlation)?.resolve(received) },
      ended: (ending) => {
        if (this.#session !== session) return
        this.#session = undefined
        this.#inbox.forget()
        this.#online = false
        this.#lost(ending)
      }
    })
    this.#session = session
  }

  #lost ({ error, after, reference }: Ending): void {
    if (this.#isClosed) return
    if (isFinal(error)) {
      void this.#finish(error)
      return
    }
    if (reference !== undefined) this.#url = referred(this.#url, reference)
    const returnsAfter = after ?? this.#nextWait()
    this.#timer = setTimeout(() => { void this.#dial() }, returnsAfter)
    this.emit('disconnected', { error, returnsAfter })
  }

  /** Between the shortest wait and three times the last one, at random: devices come back apart. */
  #nextWait (): number {
    const { returnMin = RETURN_MIN_MS, returnMax = RETURN_MAX_MS } = this.#options
    const most = Math.max(Math.min(this.#wait * 3, returnMax), returnMin)
    this.#wait = returnMin + Math.random() * (most - returnMin)
    return this.#wait
  }

  #offline (error: StadiumError): void {
    this.#online = false
    const requests = [...this.#requests.values()]
    this.#requests.clear()
    for (const waiter of requests) waiter.reject(error)
  }

  /** The open connection; waits for it while the device is away. */
  async #connection (signal: AbortSignal): Promise<Session> {
    if (this.#over !== undefined) throw this.#over
    if (this.#online && this.#session !== undefined) return this.#session
    return await new Promise((resolve, reject) => {
      const abort = (): void => { wake(signal.reason as StadiumError) }
      const wake = (outcome: Session | StadiumError): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', abort)
        if (outcome instanceof Session) resolve(outcome)
        else reject(outcome)
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  async #ask (
    topic: string, payload: string | Uint8Array, options: CallOptions
  ): Promise<Received> {
    if (this.#requests.size >= REQUESTS_MAX) {
      throw new Unavailable(`${REQUESTS_MAX} requests are under way: no more are sent`)
    }
    this.#number += 1
    const correlation = `${this.#prefix}-${this.#number}`
    return await this.#limited(options, true, async ({ signal, until }) => {
      const answer = new Promise<Received>((resolve, reject) => {
        this.#requests.set(correlation, { resolve, reject })
      })
      answer.catch(() => {})
      try {
        const session = await this.#connection(signal)
        const expiryS = Math.max(Math.ceil((until - performance.now()) / 1000), 1)
        const responseTopic = this.inbox
        await session.send(topic, payload, { qos: 1, responseTopic, correlation, expiryS })
          .catch((error: unknown) => { throw named(error, topic) })
        const received = await ended(answer, signal)
        const failure = failedRequest(received.userProperties)
        if (failure !== undefined) throw failure
        return received
      } finally {
        this.#requests.delete(correlation)
      }
    })
  }

  async #limited<T> (
    options: CallOptions, mayHaveHappened: boolean, work: (limits: Limits) => Promise<T>
  ): Promise<T> {
    const late = (): DeadlineExceeded =>
      new DeadlineExceeded('the deadline passed before an answer came', { mayHaveHappened })
    return await limited(options.deadline ?? this.#deadline, options.signal, late, work)
  }
}

/** The promise, or the reason of the abort. */
function ended<T> (promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => { reject(signal.reason) }
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => { signal.removeEventListener('abort', abort) })
  })
}

/** A request to a topic that no service takes has the code that its answer would have. */
function named (error: unknown, topic: string): unknown {
  const isUnserved = topic.startsWith('rpc/') &&
    error instanceof Rejected && error.code === mqttCode(Reason.TopicNameInvalid)
  return isUnserved ? new Rejected(error.reason, { code: 'RPC-NO-SERVICE' }) : error
}

/** The address of a Server Reference: an address of its own, or a host with or without a port. */
function referred (url: URL, reference: string): URL {
  const first = reference.split(' ')[0] ?? ''
  if (first.includes('://')) return URL.canParse(first) ? new URL(first) : url
  const other = new URL(url)
  other.host = first
  return other
}
