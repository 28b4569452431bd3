// Repeating idempotent requests that were answered Busy: the budget and the rule of
// docs/rpc-guards.md, so that clients do not make an overload worse.

import { Busy } from './errors.js'
import { now, pause, type Limits } from './deadline.js'

/** Settings of a {@link Budget}. */
export interface BudgetSettings {
  /** Tokens that each call earns, 0 to 1. */
  readonly share: number
  /** Tokens that come by themselves each second. */
  readonly perSecondMin: number
  /** Earned tokens that are kept at most. */
  readonly savedMax: number
}

const MILLI = 1000
const MICRO = 1_000_000
const DEFAULTS: BudgetSettings = { share: 0.2, perSecondMin: 10, savedMax: 100 }

/** Attempts of a call, the first included. */
const ATTEMPTS_MAX = 3
/** The shortest wait before another attempt at the same server, in milliseconds. */
const WAIT_MIN_MS = 5

/** Tokens for retries: earned by calls, and an allowance by time. */
export class Budget {
  readonly #settings: BudgetSettings
  #earned = 0
  #allowance: number
  #refilledUs: number | undefined

  constructor (settings: Partial<BudgetSettings> = {}) {
    this.#settings = { ...DEFAULTS, ...settings }
    this.#allowance = this.#settings.perSecondMin * MICRO
  }

  /** A call was made for the first time. */
  called (): void {
    const { share, savedMax } = this.#settings
    const earned = Math.floor(Math.min(Math.max(share, 0), 1) * MILLI)
    this.#earned = Math.min(this.#earned + earned, savedMax * MILLI)
  }

  /** Takes a token, if there is one. `nowUs` is whole microseconds. */
  take (nowUs: number): boolean {
    this.#refill(nowUs)
    if (this.#allowance >= MICRO) {
      this.#allowance -= MICRO
      return true
    }
    if (this.#earned >= MILLI) {
      this.#earned -= MILLI
      return true
    }
    return false
  }

  /** Whole tokens that are left. */
  left (nowUs: number): number {
    this.#refill(nowUs)
    return Math.floor(this.#allowance / MICRO) + Math.floor(this.#earned / MILLI)
  }

  #refill (nowUs: number): void {
    const { perSecondMin } = this.#settings
    const since = Math.max(nowUs - (this.#refilledUs ?? nowUs), 0)
    this.#allowance = Math.min(this.#allowance + since * perSecondMin, perSecondMin * MICRO)
    this.#refilledUs = Math.max(this.#refilledUs ?? nowUs, nowUs)
  }
}

/**
 * Runs `attempt`, again after a wait while the answer is Busy and `mayRepeat` allows it: at most
 * three attempts, within the budget, never past the deadline.
 */
export async function repeated<T> (
  budget: Budget,
  limits: Limits,
  mayRepeat: (busy: Busy) => boolean,
  attempt: () => Promise<T>
): Promise<T> {
  budget.called()
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Busy) || !mayRepeat(error) || attempts >= ATTEMPTS_MAX) throw error
      const least = Math.max(error.retryAfter, WAIT_MIN_MS)
      const wait = least + Math.random() * least / 2
      if (now() + wait >= limits.until) throw error
      if (!budget.take(Math.floor(now() * MILLI))) throw error
      await pause(wait, limits.signal)
    }
  }
}
