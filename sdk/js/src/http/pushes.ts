// Pushes of an app, and the schedules that make them.

import type { CallOptions } from '../deadline.js'
import type { Answer, Api, Request, Schemas } from './api.js'
import { newId } from './ids.js'

const PUSHES = '/api/apps/{app}/pushes'
const PUSH = '/api/apps/{app}/pushes/{push}'
const SCHEDULE = '/api/apps/{app}/schedules/{name}'

type ListQuery = NonNullable<Request<'get', typeof PUSHES>['query']>
type DeliveriesQuery = NonNullable<Request<'get', `${typeof PUSH}/deliveries`>['query']>

/** The pushes of one app. */
export class Pushes {
  readonly #api: Api
  readonly #app: string

  constructor (api: Api, app: string) {
    this.#api = api
    this.#app = app
  }

  /**
   * Accepts a push: it is on disk, or under way where it is live. Without an id it gets one here,
   * so that the request may be sent again.
   */
  async send (
    push: Schemas['PushFields'], options: CallOptions = {}
  ): Promise<Schemas['AcceptedPushReport']> {
    const body = { ...push, id: push.id ?? newId() }
    const path = { app: this.#app }
    return await this.#api.call('post', PUSHES, { ...options, path, body, idempotent: true })
  }

  /** Checks a push and counts whom it would reach. Nothing is sent. */
  async preview (
    push: Schemas['PushFields'], options: CallOptions = {}
  ): Promise<Schemas['AcceptedPushReport']> {
    const query = { dry_run: true }
    const path = { app: this.#app }
    return await this.#api.call('post', PUSHES,
      { ...options, path, query, body: push, idempotent: true })
  }

  /** Changes a push that has not started: the fields that are given. */
  async edit (
    push: string, fields: Schemas['PushFields'], options: CallOptions = {}
  ): Promise<Schemas['PlatformPushReport']> {
    return await this.#api.call('patch', PUSH, { ...options, path: this.#path(push), body: fields })
  }

  /** Ends the deliveries that are not complete. */
  async cancel (push: string, options: CallOptions = {}): Promise<Schemas['PlatformPushReport']> {
    const request = { ...options, path: this.#path(push), idempotent: true }
    return await this.#api.call('post', `${PUSH}/cancel`, request)
  }

  /** Counts, latencies and state of a push. */
  async find (push: string, options: CallOptions = {}): Promise<Schemas['PlatformPushReport']> {
    return await this.#api.call('get', PUSH, { ...options, path: this.#path(push) })
  }

  /** A page of pushes, newest first. */
  async list (
    query: ListQuery = {}, options: CallOptions = {}
  ): Promise<Schemas['PlatformPushPage']> {
    return await this.#api.call('get', PUSHES, { ...options, path: { app: this.#app }, query })
  }

  /** Why a device did or did not get a push: a sentence, then the steps. */
  async trace (
    push: string, device: string, options: CallOptions = {}
  ): Promise<Schemas['TraceReport']> {
    const path = { ...this.#path(push), device }
    return await this.#api.call('get', `${PUSH}/devices/{device}`, { ...options, path })
  }

  /** A page of what became of the push for each device. */
  async deliveries (
    push: string,
    query: Omit<DeliveriesQuery, 'format'> = {},
    options: CallOptions = {}
  ): Promise<Answer<'get', '/api/apps/{app}/pushes/{push}/deliveries'>> {
    return await this.#api.call('get', `${PUSH}/deliveries`,
      { ...options, path: this.#path(push), query })
  }

  /** The user of a device opened the push. */
  async opened (push: string, device: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: this.#path(push), body: { device }, idempotent: true }
    await this.#api.call('post', `${PUSH}/opened`, request)
  }

  /** The user of a device clicked the push, or an action of it. */
  async clicked (
    push: string, device: string, action?: string, options: CallOptions = {}
  ): Promise<void> {
    const body = action === undefined ? { device } : { device, action }
    const request = { ...options, path: this.#path(push), body, idempotent: true }
    await this.#api.call('post', `${PUSH}/clicked`, request)
  }

  #path (push: string): { readonly app: string, readonly push: string } {
    return { app: this.#app, push }
  }
}

/** Schedules of an app: each makes a push for every occurrence of its cron expression. */
export class Schedules {
  readonly #api: Api
  readonly #app: string

  constructor (api: Api, app: string) {
    this.#api = api
    this.#app = app
  }

  /** All schedules, with their next and last occurrences. */
  async list (options: CallOptions = {}): Promise<Schemas['PushSchedules']> {
    const path = { app: this.#app }
    return await this.#api.call('get', '/api/apps/{app}/schedules', { ...options, path })
  }

  /** Makes a schedule, or replaces it. */
  async set (
    name: string, schedule: Schemas['PushScheduleFields'], options: CallOptions = {}
  ): Promise<Schemas['PushScheduleReport']> {
    const request = { ...options, path: this.#path(name), body: schedule }
    return await this.#api.call('put', SCHEDULE, request)
  }

  /** Skips occurrences until the schedule is resumed. */
  async pause (name: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: this.#path(name), idempotent: true }
    await this.#api.call('post', `${SCHEDULE}/pause`, request)
  }

  /** Ends a pause. */
  async resume (name: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: this.#path(name), idempotent: true }
    await this.#api.call('post', `${SCHEDULE}/resume`, request)
  }

  /** Removes a schedule. Pushes that it made stay. */
  async remove (name: string, options: CallOptions = {}): Promise<void> {
    await this.#api.call('delete', SCHEDULE, { ...options, path: this.#path(name) })
  }

  #path (name: string): { readonly app: string, readonly name: string } {
    return { app: this.#app, name }
  }
}
