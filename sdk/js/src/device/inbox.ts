// The pushes of a device, handed to the application one after the other, each acknowledged when the
// application has taken it.
//
// The server sends a push again that was not acknowledged when the connection ended, as a new
// PUBLISH. A notification has an id: a copy is acknowledged and not handed over. A raw message has
// none. Its copy is certain only where no acknowledgement was sent: where the acknowledgement may
// be lost, the message is handed over again, since another one may have the same bytes.

import { push, type Push, type Received } from './message.js'

/** What takes pushes. A push is acknowledged when the promise resolves. */
export type PushHandler = (push: Push) => void | Promise<void>

/** A push that arrived. */
export interface Delivery extends Received {
  /** Acknowledges it on the connection that it came on. False where that is over. */
  acknowledge (): boolean
}

/** Notifications that are remembered as taken: more than an inbox of the server holds. */
const TAKEN_MAX = 1024

export class Inbox {
  readonly #handler: PushHandler
  readonly #failed: (error: unknown, push: Push) => void
  readonly #taken = new Set<string>()
  /** The raw message that was taken when its connection was over: its copy is on its way. */
  #unacknowledged: string | undefined
  /** Bounded by the Receive Maximum of the connection. */
  #waiting: Delivery[] = []
  #running = false

  constructor (handler: PushHandler, failed: (error: unknown, push: Push) => void) {
    this.#handler = handler
    this.#failed = failed
  }

  /** A push arrived. */
  add (delivery: Delivery): void {
    this.#waiting.push(delivery)
    if (!this.#running) void this.#run()
  }

  /** The connection is over: what waits comes again on the next one. */
  forget (): void {
    this.#waiting = []
    this.#unacknowledged = undefined
  }

  async #run (): Promise<void> {
    this.#running = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const made = push(next)
      const id = made.notification?.push
      if (id === undefined ? this.#isCopy(made) : this.#taken.has(id)) {
        next.acknowledge()
        continue
      }
      try {
        await this.#handler(made)
        if (id !== undefined) this.#remember(id)
        if (!next.acknowledge() && id === undefined) this.#unacknowledged = fingerprint(made)
      } catch (error) {
        this.#failed(error, made)
      }
    }
    this.#running = false
  }

  #isCopy (made: Push): boolean {
    if (this.#unacknowledged === undefined) return false
    if (this.#unacknowledged !== fingerprint(made)) return false
    this.#unacknowledged = undefined
    return true
  }

  #remember (id: string): void {
    this.#taken.add(id)
    if (this.#taken.size <= TAKEN_MAX) return
    for (const oldest of this.#taken) {
      this.#taken.delete(oldest)
      break
    }
  }
}

/** FNV-1a in two halves of 32 bits: tells apart messages of one inbox. */
function fingerprint ({ payload: bytes }: Push): string {
  let [one, other] = [0x811c9dc5, 0x9747b28c]
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, 0x01000193)
    other = Math.imul(other ^ (byte + 1), 0x01000193)
  }
  return `${bytes.length} ${one >>> 0} ${other >>> 0}`
}
