// A TCP proxy before a server, whose connections a test cuts as a dying network does.

import net from 'node:net'
import { once } from 'node:events'

export class Proxy {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()

  private constructor (server: net.Server) {
    this.#server = server
  }

  /** Forwards to the port of `target`, an address such as `ws://127.0.0.1:8080/mqtt`. */
  static async before (target: string): Promise<Proxy> {
    const to = { host: '127.0.0.1', port: Number(new URL(target).port) }
    const server = net.createServer()
    const proxy = new Proxy(server)
    server.on('connection', (near) => {
      const far = net.connect(to)
      for (const [one, other] of [[near, far], [far, near]] as const) {
        proxy.#sockets.add(one)
        one.pipe(other)
        one.on('error', () => {})
        one.on('close', () => {
          proxy.#sockets.delete(one)
          other.destroy()
        })
      }
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return proxy
  }

  /** `target` as it is reached through this proxy. */
  url (target: string): string {
    const url = new URL(target)
    url.port = String((this.#server.address() as net.AddressInfo).port)
    return url.href
  }

  /** Resets all connections, without a goodbye. */
  cut (): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async stop (): Promise<void> {
    const closed = once(this.#server.close(), 'close')
    this.cut()
    await closed
  }
}
