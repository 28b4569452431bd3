// The entry to the HTTP API: one object for a server, with the parts of its API by name.

import { Api } from './api.js'
import { Audiences } from './audiences.js'
import { Devices, Own } from './devices.js'
import { Pushes, Schedules } from './pushes.js'
import { Queues } from './queues.js'
import type { ClientOptions } from './transport.js'
import { Wallets } from './wallets.js'

/** An app of the push platform: a tenant. */
export class App {
  readonly pushes: Pushes
  readonly schedules: Schedules
  readonly devices: Devices
  readonly audiences: Audiences

  constructor (api: Api, name: string) {
    this.pushes = new Pushes(api, name)
    this.schedules = new Schedules(api, name)
    this.devices = new Devices(api, name)
    this.audiences = new Audiences(api, name)
  }
}

/**
 * A client of a server's HTTP API. It holds no connection of its own and needs no closing.
 *
 * Its own parts are those of the app `default`; {@link Stadium.app} gives those of another.
 */
export class Stadium extends App {
  /** Every request of the API, typed by method and path. */
  readonly api: Api
  readonly wallets: Wallets
  readonly queues: Queues
  /** What a device asks for itself; the key is then a device's token. */
  readonly me: Own

  constructor (options: ClientOptions) {
    const api = new Api(options)
    super(api, 'default')
    this.api = api
    this.wallets = new Wallets(api)
    this.queues = new Queues(api)
    this.me = new Own(api)
  }

  /** The parts of an app. Makes no request. */
  app (name: string): App {
    return new App(this.api, name)
  }
}
