// Failed answers and failed connections, as errors of this package.

import {
  Busy, Forbidden, Rejected, StadiumError, Unauthenticated, Unavailable, Unknown
} from '../errors.js'
import type { components } from '../generated/openapi.js'

type Problem = components['schemas']['Problem']

/** The wait after a Busy that names none, in milliseconds. */
const RETRY_AFTER_MS = 1000

/** Codes of system errors after which nothing was sent. */
const NOT_SENT = new Set([
  'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'
])

/** The error of an answer that is not 2xx. `changes` is false for requests that only read. */
export async function failedAnswer (answer: Response, changes: boolean): Promise<StadiumError> {
  const problem = await problemOf(answer)
  const status = answer.status
  const reason = problem.detail ?? problem.title ?? `the server answered ${status}`
  const code = problem.code
  const details = { code }
  if (status === 401) return new Unauthenticated(reason, details)
  if (status === 403) return new Forbidden(reason, details)
  if (status === 429 || status === 503) {
    return new Busy(reason, { code, retryAfter: retryAfter(answer, problem) ?? RETRY_AFTER_MS })
  }
  if (status === 501 || (status >= 400 && status < 500)) {
    const path = problem.path ?? undefined
    return new Rejected(reason, { code: code ?? `HTTP-STATUS-${status}`, path })
  }
  return new Unknown(reason, { code, mayHaveHappened: changes })
}

/** The error of a request that got no answer. The failure of fetch has no header of the request. */
export function failedFetch (error: unknown, changes: boolean): StadiumError {
  const cause = error instanceof Error ? error.cause : undefined
  if (!changes || causes(cause).some((code) => NOT_SENT.has(code))) {
    return new Unavailable(`the server cannot be reached: ${describe(error)}`, { cause: error })
  }
  const reason = `the connection failed during the request: ${describe(error)}`
  return new Unknown(reason, { cause: error })
}

async function problemOf (answer: Response): Promise<Partial<Problem>> {
  const kind = answer.headers.get('content-type') ?? ''
  if (!/^application\/(problem\+)?json\b/.test(kind)) {
    await answer.body?.cancel()
    return {}
  }
  try {
    const body: unknown = await answer.json()
    return typeof body === 'object' && body !== null ? body as Partial<Problem> : {}
  } catch {
    return {}
  }
}

/** Milliseconds of Retry-After, a number of seconds or a date, or of the problem. */
function retryAfter (answer: Response, problem: Partial<Problem>): number | undefined {
  const header = answer.headers.get('retry-after')
  const seconds = header === null ? problem.retry_after_s : Number(header)
  if (typeof seconds === 'number' && seconds >= 0) return seconds * 1000
  const date = header === null ? Number.NaN : Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(date - Date.now(), 0)
}

/** The codes of an error, and of those that it was made of: one for each address that was tried. */
function causes (error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { code, errors } = error as { code?: unknown, errors?: unknown }
  const own = typeof code === 'string' ? [code] : []
  return Array.isArray(errors) ? [...own, ...errors.flatMap(causes)] : own
}

function describe (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause
  const below = cause instanceof Error ? cause.message || causes(cause)[0] : undefined
  return below === undefined ? error.message : `${error.message}: ${below}`
}
