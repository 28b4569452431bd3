// Registered devices of an app: their data, credentials and revocation.

import type { CallOptions } from '../deadline.js'
import type { Api, Request, Schemas } from './api.js'

const DEVICES = '/api/apps/{app}/devices'
const DEVICE = '/api/apps/{app}/devices/{device}'

type ListQuery = NonNullable<Request<'get', typeof DEVICES>['query']>
type RemoveQuery = NonNullable<Request<'delete', typeof DEVICES>['query']>
type ExportQuery = NonNullable<Request<'get', '/api/apps/{app}/devices/export'>['query']>

/** The registered devices of one app. */
export class Devices {
  readonly #api: Api
  readonly #app: string

  constructor (api: Api, app: string) {
    this.#api = api
    this.#app = app
  }

  /** What is registered of a device, its connection, and the pushes that it is owed. */
  async find (device: string, options: CallOptions = {}): Promise<Schemas['RegisteredDevice']> {
    return await this.#api.call('get', DEVICE, { ...options, path: this.#path(device) })
  }

  /** A page of devices. */
  async list (
    query: ListQuery = {}, options: CallOptions = {}
  ): Promise<Schemas['RegisteredDevicePage']> {
    return await this.#api.call('get', DEVICES, { ...options, path: { app: this.#app }, query })
  }

  /** Registers a device, or makes it exactly this; lists and opting in stay. */
  async set (
    device: string, fields: Schemas['DeviceFields'], options: CallOptions = {}
  ): Promise<Schemas['RegisteredDevice']> {
    const request = { ...options, path: this.#path(device), body: fields }
    return await this.#api.call('put', DEVICE, request)
  }

  /** Changes the fields that are given; null clears one. */
  async change (
    device: string, fields: Schemas['DeviceFields'], options: CallOptions = {}
  ): Promise<Schemas['RegisteredDevice']> {
    const request = { ...options, path: this.#path(device), body: fields }
    return await this.#api.call('patch', DEVICE, request)
  }

  /** Changes or registers up to 1,000 devices, each with an outcome of its own. */
  async changeMany (
    devices: Schemas['DevicesFields']['devices'], options: CallOptions = {}
  ): Promise<Schemas['ChangedDevices']> {
    const request = { ...options, path: { app: this.#app }, body: { devices }, idempotent: true }
    return await this.#api.call('post', DEVICES, request)
  }

  /** Forgets a device. */
  async remove (device: string, options: CallOptions = {}): Promise<void> {
    await this.#api.call('delete', DEVICE, { ...options, path: this.#path(device) })
  }

  /** Forgets the devices that match, up to 1,000 in a request. */
  async removeMany (
    query: RemoveQuery, options: CallOptions = {}
  ): Promise<Schemas['RemovedRegisteredDevices']> {
    return await this.#api.call('delete', DEVICES, { ...options, path: { app: this.#app }, query })
  }

  /** Imports a file of any length. Invalid lines are skipped, and the report names them. */
  async import (
    format: 'csv' | 'ndjson', file: string, options: CallOptions = {}
  ): Promise<Schemas['ImportReport']> {
    const contentType = format === 'csv' ? 'text/csv' : 'application/x-ndjson'
    const path = { app: this.#app }
    return await this.#api.call('post', '/api/apps/{app}/devices/import',
      { ...options, path, query: { format }, body: file, contentType })
  }

  /** A file of devices that can be imported. `signal` ends it. */
  async export (
    query: ExportQuery = {}, options: CallOptions = {}
  ): Promise<ReadableStream<Uint8Array>> {
    const path = { app: this.#app }
    return await this.#api.stream('/api/apps/{app}/devices/export', { ...options, path, query })
  }

  /** Makes a new secret: the device's MQTT password. Only this answer contains it. */
  async issueCredential (
    device: string, options: CallOptions = {}
  ): Promise<Schemas['CredentialReport']> {
    const request = { ...options, path: this.#path(device) }
    return await this.#api.call('post', `${DEVICE}/credential`, request)
  }

  /** Removes the device's secret. */
  async withdrawCredential (device: string, options: CallOptions = {}): Promise<void> {
    await this.#api.call('delete', `${DEVICE}/credential`, { ...options, path: this.#path(device) })
  }

  /** A short-lived token with which the device asks for itself: see {@link Own}. */
  async issueToken (
    device: string, fields: Schemas['DeviceTokenFields'] = {}, options: CallOptions = {}
  ): Promise<Schemas['DeviceToken']> {
    const request = { ...options, path: this.#path(device), body: fields, idempotent: true }
    return await this.#api.call('post', `${DEVICE}/token`, request)
  }

  /** Bans a device, and closes its connections at once. */
  async revoke (device: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: this.#path(device), idempotent: true }
    await this.#api.call('post', `${DEVICE}/revoke`, request)
  }

  /** Lifts a ban. */
  async restore (device: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: this.#path(device), idempotent: true }
    await this.#api.call('post', `${DEVICE}/restore`, request)
  }

  #path (device: string): { readonly app: string, readonly device: string } {
    return { app: this.#app, device }
  }
}

/** What a device asks for itself, with a token of {@link Devices.issueToken} as the key. */
export class Own {
  readonly #api: Api

  constructor (api: Api) {
    this.#api = api
  }

  /** The device's tags and attributes, and whether it is opted in. */
  async find (options: CallOptions = {}): Promise<Schemas['OwnDeviceReport']> {
    return await this.#api.call('get', '/api/me/device', options)
  }

  /** Changes tags, attributes and opting in, as far as the app lets its devices. */
  async change (fields: Schemas['OwnDeviceFields'], options: CallOptions = {}): Promise<void> {
    await this.#api.call('patch', '/api/me/device', { ...options, body: fields, idempotent: true })
  }

  /** A page of the pushes that the device is owed, in the order of delivery. Changes nothing. */
  async inbox (
    query: { readonly limit?: number, readonly after?: string } = {}, options: CallOptions = {}
  ): Promise<Schemas['OwnInbox']> {
    return await this.#api.call('get', '/api/me/inbox', { ...options, query })
  }

  /** The device has taken these pushes, up to 100. */
  async settle (
    pushes: readonly string[], options: CallOptions = {}
  ): Promise<Schemas['OwnSettled']> {
    const request = { ...options, body: { pushes }, idempotent: true }
    return await this.#api.call('post', '/api/me/inbox/settle', request)
  }

  /** The user opened a push. */
  async opened (push: string, options: CallOptions = {}): Promise<void> {
    await this.#api.call('post', '/api/me/opened', { ...options, body: { push }, idempotent: true })
  }

  /** The user clicked a push, or an action of it. */
  async clicked (push: string, action?: string, options: CallOptions = {}): Promise<void> {
    const body = action === undefined ? { push } : { push, action }
    await this.#api.call('post', '/api/me/clicked', { ...options, body, idempotent: true })
  }
}
