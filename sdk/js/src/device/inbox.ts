// The pushes of a device, handed to the application one after the other, each acknowledged when the
// application has taken it.
//
// The server sends a push again that was not acknowledged when the connection ended. One that the
// application has taken already is acknowledged and not handed over a second time.

import { push, type Push, type Received } from './message.js'

/** What takes pushes. A push is acknowledged when the promise resolves. */
export type PushHandler = (push: Push) => void | Promise<void>

/** A push that arrived. */
export interface Delivery extends Received {
  readonly packetId: number
  /** It may have been sent before. */
  readonly again: boolean
  /** Acknowledges it on the connection that it came on; without effect when that is over. */
  acknowledge (): void
}

/** Pushes that are remembered as taken: more than a connection has unacknowledged at a time. */
const TAKEN_MAX = 1024

export class Inbox {
  readonly #handler: PushHandler
  readonly #failed: (error: unknown, push: Push) => void
  readonly #taken = new Set<string>()
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
  }

  async #run (): Promise<void> {
    this.#running = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const made = push(next)
      const [name, copy] = identity(made, next)
      if (this.#taken.has(name) && (copy || next.again)) {
        next.acknowledge()
        continue
      }
      try {
        await this.#handler(made)
        this.#remember(name)
        next.acknowledge()
      } catch (error) {
        this.#failed(error, made)
      }
    }
    this.#running = false
  }

  #remember (name: string): void {
    this.#taken.delete(name)
    this.#taken.add(name)
    if (this.#taken.size > TAKEN_MAX) {
      for (const oldest of this.#taken) {
        this.#taken.delete(oldest)
        break
      }
    }
  }
}

/**
 * What a push is recognised by, and whether that alone says that it is a copy. A notification has
 * an id. Any other message is a copy if it is sent again with its packet id and the same bytes.
 */
function identity (made: Push, delivery: Delivery): [string, boolean] {
  const id = made.notification?.push
  if (id !== undefined) return [`push ${id}`, true]
  return [`packet ${delivery.packetId} ${made.topic} ${fingerprint(made.payload)}`, false]
}

/** FNV-1a in two halves of 32 bits: tells apart messages of one packet id. */
function fingerprint (bytes: Uint8Array): string {
  let [one, other] = [0x811c9dc5, 0x9747b28c]
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, 0x01000193)
    other = Math.imul(other ^ (byte + 1), 0x01000193)
  }
  return `${bytes.length} ${one >>> 0} ${other >>> 0}`
}
