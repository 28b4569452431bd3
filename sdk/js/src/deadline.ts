// Deadlines and cancellation of calls: a call ends at its deadline, whatever it waits for.

import { DeadlineExceeded } from './errors.js'

/** What every call takes. */
export interface CallOptions {
  /** Milliseconds that the call may take, its retries included. */
  readonly deadline?: number
  /** Ends the call when it aborts; the call then fails with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The longest deadline: a timer of JavaScript holds no more. */
export const DEADLINE_MAX_MS = 2_147_483_647

/** `deadline`, if it is a time that can be waited for. */
export function checkedDeadline (deadline: number): number {
  if (!(deadline > 0) || deadline > DEADLINE_MAX_MS) {
    throw new RangeError(`a deadline is above 0 and at most ${DEADLINE_MAX_MS} ms, not ${deadline}`)
  }
  return deadline
}

/** What a limited piece of work sees of its limits. */
export interface Limits {
  /** Aborts at the deadline, and when the caller aborts. */
  readonly signal: AbortSignal
  /** The time of the deadline, in milliseconds of {@link now}. */
  readonly until: number
}

/** Milliseconds of a clock that never goes back. */
export function now (): number {
  return performance.now()
}

/**
 * Runs `work` within a deadline. The promise settles at the deadline or at the abort, also if the
 * work ignores both. `late` makes the error of a deadline.
 */
export function limited<T> (
  deadline: number,
  signal: AbortSignal | undefined,
  late: () => DeadlineExceeded,
  work: (limits: Limits) => Promise<T>
): Promise<T> {
  checkedDeadline(deadline)
  if (signal?.aborted === true) return Promise.reject(signal.reason)
  const ends = new AbortController()
  const until = now() + deadline
  return new Promise<T>((resolve, reject) => {
    const end = (reason: unknown): void => {
      reject(reason)
      ends.abort(reason)
    }
    const abort = (): void => { end(signal?.reason) }
    const timer = setTimeout(() => { end(late()) }, deadline)
    signal?.addEventListener('abort', abort, { once: true })
    work({ signal: ends.signal, until }).then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    })
  })
}

/** Waits, or fails with the signal's reason. */
export function pause (ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}
