// Typed events. A listener that throws does not keep others from the event.

/** Names of events, and the arguments of their listeners. */
export type EventMap = Record<string, readonly unknown[]>

type Listener<A extends readonly unknown[]> = (...args: A) => void

export class Emitter<Events extends EventMap> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()

  /** Calls the listener at each event of that name, and returns what ends this. */
  on<Name extends keyof Events> (name: Name, listener: Listener<Events[Name]>): () => void {
    const all = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, all)
    all.add(listener as Listener<never>)
    return () => { all.delete(listener as Listener<never>) }
  }

  /** The next event of that name. */
  async once<Name extends keyof Events> (name: Name): Promise<Events[Name]> {
    return await new Promise((resolve) => {
      const off = this.on(name, (...args) => {
        off()
        resolve(args)
      })
    })
  }

  protected emit<Name extends keyof Events> (name: Name, ...args: Events[Name]): void {
    for (const listener of [...this.#listeners.get(name) ?? []]) {
      try {
        (listener as unknown as Listener<Events[Name]>)(...args)
      } catch (error) {
        queueMicrotask(() => { throw error })
      }
    }
  }
}
