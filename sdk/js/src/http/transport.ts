// One request over `fetch`: path, key, deadline, retries, and the answer as JSON or as an error.
//
// The key is asked for before each attempt, so a rotated one is used at once. It is in the
// Authorization header and nowhere else: no error, no property that a logger would print.

import { checkedDeadline, limited, type CallOptions, type Limits } from '../deadline.js'
import { DeadlineExceeded, StadiumError, Unauthenticated, Unknown } from '../errors.js'
import { Budget, repeated } from '../retry.js'
import { failedAnswer, failedFetch } from './problem.js'

/** An API key or a device's token, or a function that returns the present one. */
export type Key = string | (() => string | Promise<string>)

/** Where the server is, and how it is asked. */
export interface ClientOptions {
  /** The server's address, such as `https://push.example.org`; a path before `/api` may follow. */
  readonly url: string | URL
  /** Sent as a bearer token. A function is called before each attempt. */
  readonly key?: Key
  /** Milliseconds for a call that names no deadline: 10,000 by default. */
  readonly deadline?: number
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch
}

export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete'

/** A value of a path or a query. */
export type Parameter = string | number | boolean

/** One request, without types of its body and answer. */
export interface RawRequest extends CallOptions {
  readonly path?: Readonly<Record<string, Parameter>> | undefined
  readonly query?: Readonly<Record<string, Parameter | null | undefined>> | undefined
  readonly headers?: Readonly<Record<string, string | null | undefined>> | undefined
  readonly body?: unknown
  /** Of a body that is text as it is; without it the body is sent as JSON. */
  readonly contentType?: string | undefined
  /** Overrides whether the request is repeated when the server is busy. */
  readonly idempotent?: boolean | undefined
}

const DEADLINE_MS = 10_000
/** Visible ASCII: fetch would put a key with other characters into its error. */
const KEY = /^[!-~]+$/
const IDEMPOTENT = new Set<Method>(['get', 'put', 'delete'])

export class Transport {
  readonly #base: URL
  readonly #key: Key | undefined
  readonly #deadline: number
  readonly #fetch: typeof fetch
  readonly #budget = new Budget()

  constructor (options: ClientOptions) {
    this.#base = new URL(options.url)
    if (!this.#base.pathname.endsWith('/')) this.#base.pathname += '/'
    this.#key = options.key
    this.#deadline = checkedDeadline(options.deadline ?? DEADLINE_MS)
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  }

  /** The parsed answer; undefined for one without a body. */
  async json (method: Method, template: string, request: RawRequest): Promise<unknown> {
    return await this.#call(method, template, request, async (answer) => {
      const text = await answer.text()
      if (text === '') return undefined
      try {
        return JSON.parse(text) as unknown
      } catch (cause) {
        const mayHaveHappened = method !== 'get'
        throw new Unknown('the answer is not JSON', { cause, mayHaveHappened })
      }
    })
  }

  /** The body of the answer as a stream. The deadline is for its beginning; abort ends it. */
  async stream (template: string, request: RawRequest): Promise<ReadableStream<Uint8Array>> {
    const url = this.#url(template, request)
    const ends = new AbortController()
    const abort = (): void => { ends.abort(request.signal?.reason) }
    request.signal?.addEventListener('abort', abort, { once: true })
    return await limited(this.#deadlineOf(request), request.signal, late('get'), async (limits) => {
      limits.signal.addEventListener('abort', () => { ends.abort(limits.signal.reason) })
      const answer = await this.#attempt('get', url, request, ends.signal)
      return answer.body ?? new ReadableStream()
    })
  }

  async #call<T> (
    method: Method, template: string, request: RawRequest, read: (answer: Response) => Promise<T>
  ): Promise<T> {
    const url = this.#url(template, request)
    const mayRepeat = request.idempotent ??
      (IDEMPOTENT.has(method) || request.headers?.['Idempotency-Key'] != null)
    const work = (limits: Limits): Promise<T> =>
      repeated(this.#budget, limits, () => mayRepeat, async () => {
        const answer = await this.#attempt(method, url, request, limits.signal)
        return await read(answer).catch((error: unknown) => {
          throw error instanceof StadiumError ? error : failedFetch(error, method !== 'get')
        })
      })
    return await limited(this.#deadlineOf(request), request.signal, late(method), work)
  }

  async #attempt (
    method: Method, url: URL, request: RawRequest, signal: AbortSignal
  ): Promise<Response> {
    const headers = new Headers()
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      if (value != null) headers.set(name, value)
    }
    const init: RequestInit = { method: method.toUpperCase(), headers, signal, redirect: 'error' }
    if (request.body !== undefined) {
      const { body, contentType } = request
      headers.set('content-type', contentType ?? 'application/json')
      init.body = contentType === undefined ? JSON.stringify(body, exact) : String(body)
    }
    const key = typeof this.#key === 'function' ? await this.#key() : this.#key
    if (key !== undefined) {
      if (!KEY.test(key)) {
        throw new Unauthenticated('the key has characters that no key has, or none at all')
      }
      headers.set('authorization', `Bearer ${key}`)
    }
    signal.throwIfAborted()
    const changes = method !== 'get'
    const answer = await this.#fetch(url, init).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : failedFetch(error, changes)
    })
    if (answer.ok) return answer
    throw await failedAnswer(answer, changes)
  }

  #deadlineOf (request: RawRequest): number {
    return request.deadline ?? this.#deadline
  }

  #url (template: string, request: RawRequest): URL {
    const path = template.slice(1).replace(/\{([^}]+)\}/g, (_, name: string) => {
      const value = String(request.path?.[name] ?? '')
      // A URL drops empty and dot segments: another path would be asked.
      if (value === '' || value === '.' || value === '..') {
        throw new RangeError(`${name} is ${JSON.stringify(value)}, which no path can name`)
      }
      return encodeURIComponent(value)
    })
    const url = new URL(path, this.#base)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value != null) url.searchParams.set(name, String(value))
    }
    return url
  }
}

/** Amounts are `bigint` beyond 2^53: the API takes and gives these as strings of digits. */
function exact (_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

function late (method: Method): () => DeadlineExceeded {
  return () => {
    const mayHaveHappened = method !== 'get'
    return new DeadlineExceeded('the deadline passed before an answer came', { mayHaveHappened })
  }
}
