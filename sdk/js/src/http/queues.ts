// Queues: jobs that are put, reserved and settled.

import type { CallOptions } from '../deadline.js'
import type { Answer, Api, Request, Schemas } from './api.js'
import { newId } from './ids.js'

const QUEUE = '/api/queues/{queue}'
const JOB = '/api/jobs/{job}'
const LEASE = '/api/leases/{lease}'

type PeekQuery = NonNullable<Request<'get', '/api/queues/{queue}/jobs'>['query']>
type ListQuery = NonNullable<Request<'get', '/api/queues'>['query']>

/** A put of one job or several, and its idempotency key. */
export interface PutOptions extends CallOptions {
  /** 1 to 128 visible ASCII characters. The same key with the same jobs puts nothing again. */
  readonly idempotencyKey?: string
}

/** The queues of a server. */
export class Queues {
  readonly #api: Api

  constructor (api: Api) {
    this.#api = api
  }

  /** Puts a job. It is on disk when this resolves. */
  async put (
    queue: string, job: Schemas['JobFields'] = {}, options: PutOptions = {}
  ): Promise<Schemas['PlacedJob']> {
    return await this.#put(queue, job, options) as Schemas['PlacedJob']
  }

  /** Puts up to 1,000 jobs: all of them or none. They are on disk when this resolves. */
  async putMany (
    queue: string, jobs: readonly Schemas['JobFields'][], options: PutOptions = {}
  ): Promise<Schemas['PlacedJobs']> {
    return await this.#put(queue, { jobs }, options) as Schemas['PlacedJobs']
  }

  /**
   * Takes jobs to work on until their leases end; none where nothing became due within `wait_ms`.
   * Give a deadline above `wait_ms`.
   */
  async reserve (
    queue: string, fields: Schemas['ReserveFields'] = {}, options: CallOptions = {}
  ): Promise<Schemas['ReservedJobs']> {
    const request = { ...options, path: { queue }, body: fields }
    return await this.#api.call('post', `${QUEUE}/reserve`, request)
  }

  /** The work of a lease is done. */
  async settle (lease: string, options: CallOptions = {}): Promise<Schemas['OneOutcome']> {
    const request = { ...options, path: { lease }, idempotent: true }
    return await this.#api.call('post', `${LEASE}/settle`, request)
  }

  /** The work of up to 1,000 leases is done; each has an outcome of its own. */
  async settleMany (
    leases: readonly string[], options: CallOptions = {}
  ): Promise<Schemas['Outcomes']> {
    const request = { ...options, body: { leases }, idempotent: true }
    return await this.#api.call('post', '/api/leases/settle', request)
  }

  /** Gives a job back, to be tried again. */
  async release (
    lease: string, fields: Schemas['ReleaseFields'] = {}, options: CallOptions = {}
  ): Promise<Schemas['OneOutcome']> {
    const request = { ...options, path: { lease }, body: fields }
    return await this.#api.call('post', `${LEASE}/release`, request)
  }

  /** Makes a lease last `lease_ms` from now. */
  async extend (
    lease: string, lease_ms: number, options: CallOptions = {}
  ): Promise<Schemas['OneOutcome']> {
    const request = { ...options, path: { lease }, body: { lease_ms }, idempotent: true }
    return await this.#api.call('post', `${LEASE}/extend`, request)
  }

  /** Sets a job aside until an operator acts. */
  async bury (
    lease: string, reason?: string, options: CallOptions = {}
  ): Promise<Schemas['OneOutcome']> {
    const body = reason === undefined ? {} : { reason }
    return await this.#api.call('post', `${LEASE}/bury`, { ...options, path: { lease }, body })
  }

  /** Settles a job and puts its successor into another queue, in one step. */
  async forward (
    lease: string, fields: Schemas['ForwardFields'], options: CallOptions = {}
  ): Promise<Schemas['PlacedJob']> {
    const request = { ...options, path: { lease }, body: fields }
    return await this.#api.call('post', `${LEASE}/forward`, request)
  }

  /** Settings and figures of a queue. */
  async find (queue: string, options: CallOptions = {}): Promise<Schemas['QueueReport']> {
    return await this.#api.call('get', QUEUE, { ...options, path: { queue } })
  }

  /** A page of queues. */
  async list (query: ListQuery = {}, options: CallOptions = {}): Promise<Schemas['QueuePage']> {
    return await this.#api.call('get', '/api/queues', { ...options, query })
  }

  /** Makes a queue, or replaces all its settings. */
  async declare (
    queue: string, settings: Schemas['SettingsFields'] = {}, options: CallOptions = {}
  ): Promise<Schemas['QueueReport']> {
    return await this.#api.call('put', QUEUE, { ...options, path: { queue }, body: settings })
  }

  /** Removes a queue without jobs. */
  async drop (queue: string, options: CallOptions = {}): Promise<void> {
    await this.#api.call('delete', QUEUE, { ...options, path: { queue } })
  }

  /** Hands out nothing until the queue is resumed. */
  async pause (queue: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: { queue }, idempotent: true }
    await this.#api.call('post', `${QUEUE}/pause`, request)
  }

  /** Ends a pause. */
  async resume (queue: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: { queue }, idempotent: true }
    await this.#api.call('post', `${QUEUE}/resume`, request)
  }

  /** A page of jobs, by state and key. */
  async peek (
    queue: string, query: PeekQuery = {}, options: CallOptions = {}
  ): Promise<Schemas['JobPage']> {
    return await this.#api.call('get', `${QUEUE}/jobs`, { ...options, path: { queue }, query })
  }

  /** Makes buried jobs due again. */
  async kick (
    queue: string, jobs: Schemas['JobSetFields'], options: CallOptions = {}
  ): Promise<Schemas['Counted']> {
    const request = { ...options, path: { queue }, body: jobs }
    return await this.#api.call('post', `${QUEUE}/kick`, request)
  }

  /** Makes dead jobs due again, here or in another queue. */
  async redrive (
    queue: string, jobs: Schemas['RedriveFields'], options: CallOptions = {}
  ): Promise<Schemas['Counted']> {
    const request = { ...options, path: { queue }, body: jobs }
    return await this.#api.call('post', `${QUEUE}/redrive`, request)
  }

  /** Removes all jobs in one state, or all that are not reserved. */
  async purge (
    queue: string, fields: Schemas['PurgeFields'] = {}, options: CallOptions = {}
  ): Promise<Schemas['Counted']> {
    const request = { ...options, path: { queue }, body: fields }
    return await this.#api.call('post', `${QUEUE}/purge`, request)
  }

  /** A job by its id. */
  async findJob (job: string, options: CallOptions = {}): Promise<Schemas['JobReport']> {
    return await this.#api.call('get', JOB, { ...options, path: { job } })
  }

  /** Who put a job, and every attempt at it, newest first. */
  async jobHistory (job: string, options: CallOptions = {}): Promise<Schemas['History']> {
    return await this.#api.call('get', `${JOB}/history`, { ...options, path: { job } })
  }

  /** Changes a job that is not reserved. */
  async editJob (
    job: string, fields: Schemas['EditFields'], options: CallOptions = {}
  ): Promise<void> {
    const request = { ...options, path: { job }, body: fields, idempotent: true }
    await this.#api.call('patch', JOB, request)
  }

  /** Removes a job in any state; a lease on it is lost. */
  async deleteJob (job: string, options: CallOptions = {}): Promise<Schemas['OneOutcome']> {
    return await this.#api.call('delete', JOB, { ...options, path: { job } })
  }

  /** The schedules of a queue. */
  async schedules (
    queue: string, options: CallOptions = {}
  ): Promise<Answer<'get', '/api/queues/{queue}/schedules'>> {
    return await this.#api.call('get', `${QUEUE}/schedules`, { ...options, path: { queue } })
  }

  /** Makes a schedule that puts jobs, or replaces it. */
  async setSchedule (
    queue: string, name: string, schedule: Schemas['ScheduleFields'], options: CallOptions = {}
  ): Promise<void> {
    const request = { ...options, path: { queue, name }, body: schedule }
    await this.#api.call('put', `${QUEUE}/schedules/{name}`, request)
  }

  /** Removes a schedule. Jobs that it put stay. */
  async removeSchedule (queue: string, name: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, path: { queue, name } }
    await this.#api.call('delete', `${QUEUE}/schedules/{name}`, request)
  }

  async #put (
    queue: string, body: Schemas['PutFields'], options: PutOptions
  ): Promise<Schemas['Placement']> {
    const { idempotencyKey = newId(), ...limits } = options
    const headers = { 'Idempotency-Key': idempotencyKey }
    const request = { ...limits, path: { queue }, headers, body }
    return await this.#api.call('post', `${QUEUE}/jobs`, request)
  }
}
