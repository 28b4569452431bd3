// Saved audiences and static lists of an app.

import type { CallOptions } from '../deadline.js'
import type { Api, Schemas } from './api.js'

const AUDIENCES = '/api/apps/{app}/audiences'
const LIST = '/api/apps/{app}/lists/{name}/devices'

/** The audiences of one app. */
export class Audiences {
  readonly #api: Api
  readonly #app: string

  constructor (api: Api, app: string) {
    this.#api = api
    this.#app = app
  }

  /** All saved audiences. */
  async list (options: CallOptions = {}): Promise<Schemas['AudienceList']> {
    return await this.#api.call('get', AUDIENCES, { ...options, path: { app: this.#app } })
  }

  /** Counts the devices that match, by clause, and estimates how long a push takes. */
  async preview (
    fields: Schemas['PreviewFields'], options: CallOptions = {}
  ): Promise<Schemas['PreviewReport']> {
    const request = { ...options, path: { app: this.#app }, body: fields, idempotent: true }
    return await this.#api.call('post', `${AUDIENCES}/preview`, request)
  }

  /** Saves a selector under a name, or replaces it. */
  async save (
    name: string, audience: Schemas['Selector'], options: CallOptions = {}
  ): Promise<Schemas['AudienceReport']> {
    const request = { ...options, path: { app: this.#app, name }, body: { audience } }
    return await this.#api.call('put', `${AUDIENCES}/{name}`, request)
  }

  /** Removes a saved audience. */
  async remove (name: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: { app: this.#app, name } }
    await this.#api.call('delete', `${AUDIENCES}/{name}`, request)
  }

  /** Puts devices on a static list. */
  async addToList (
    name: string, devices: readonly string[], options: CallOptions = {}
  ): Promise<Schemas['ChangedDevices']> {
    const request = { ...options, path: { app: this.#app, name }, body: { devices } }
    return await this.#api.call('put', LIST, request)
  }

  /** Takes devices off a static list. */
  async removeFromList (
    name: string, devices: readonly string[], options: CallOptions = {}
  ): Promise<Schemas['ChangedDevices']> {
    const request = { ...options, path: { app: this.#app, name }, body: { devices } }
    return await this.#api.call('delete', LIST, request)
  }
}
