// Wallets: assets, accounts, transfers and what is read of the books.
//
// Every transfer has an id. The same id with the same content is booked once, so a transfer whose
// outcome is unknown is sent again with its id.

import type { CallOptions } from '../deadline.js'
import type { Answer, Api, Request, Schemas } from './api.js'
import { newId } from './ids.js'

/** Whole minor units (cents, votes): a `bigint` or a string of digits beyond 2^53. */
export type Amount = number | bigint | string

/** What moves in a transfer. */
export interface Transfer {
  /** Any 128 bits as a UUID. One is made where it is left out; the answer has it. */
  readonly id?: string
  /** The wallet that gives. */
  readonly debit: string
  /** The wallet that gets. */
  readonly credit: string
  readonly asset: string
  readonly amount: Amount
  /** An outside system's name for it, at most 128 bytes. */
  readonly reference?: string
  /** Anything of the application, at most 1 KiB as JSON. */
  readonly metadata?: unknown
  /** RFC 3339, where it is not the time of booking. */
  readonly effective_at?: string
}

/** A hold: an amount that is kept until it is captured, voided or expires. */
export interface Hold extends Transfer {
  /** Milliseconds after which the hold ends by itself: 1,000 to 31,622,400,000. */
  readonly expires_after_ms: number
}

type Step = Omit<Schemas['StepFields'], 'amount'> & { readonly amount?: Amount }
type ListQuery = NonNullable<Request<'get', '/api/wallets'>['query']>
type HistoryQuery = NonNullable<Request<'get', '/api/wallets/{wallet}/{asset}/history'>['query']>
type RootsQuery = NonNullable<Request<'get', '/api/wallets/roots'>['query']>

const TRANSFER = '/api/transfers/{id}'
const ACCOUNT = '/api/wallets/{wallet}/{asset}'

/** The wallets of a server. */
export class Wallets {
  readonly #api: Api

  constructor (api: Api) {
    this.#api = api
  }

  /** Moves an amount now. */
  async transfer (
    transfer: Transfer, options: CallOptions = {}
  ): Promise<Schemas['BookedTransfer']> {
    return await this.#book({ ...transfer, kind: 'post' }, options)
  }

  /** Keeps an amount with its owner, not available, until it is captured, voided or expires. */
  async hold (hold: Hold, options: CallOptions = {}): Promise<Schemas['BookedTransfer']> {
    return await this.#book({ ...hold, kind: 'hold' }, options)
  }

  /** Moves the amount of a hold, or a part of it. Ends the hold. */
  async capture (
    hold: string, step: Step = {}, options: CallOptions = {}
  ): Promise<Schemas['BookedTransfer']> {
    return await this.#step('capture', hold, step, options)
  }

  /** Ends a hold without moving anything. */
  async void (
    hold: string, step: Omit<Step, 'amount'> = {}, options: CallOptions = {}
  ): Promise<Schemas['BookedTransfer']> {
    return await this.#step('void', hold, step, options)
  }

  /** Moves all of an earlier transfer back, at most once. */
  async reverse (
    transfer: string, step: Omit<Step, 'amount'> = {}, options: CallOptions = {}
  ): Promise<Schemas['BookedTransfer']> {
    return await this.#step('reverse', transfer, step, options)
  }

  /**
   * Books 1 to 1,000 transfers, each by itself and in order; all or none where they are `linked`.
   * Transfers without an id get one here, which the answer has.
   */
  async batch (
    transfers: readonly Schemas['TransferFields'][],
    options: CallOptions & { readonly linked?: boolean } = {}
  ): Promise<Schemas['BookedTransfers']> {
    const { linked = false, ...limits } = options
    const all = transfers.map((each) => ({ ...each, id: each.id ?? newId() }))
    const body = { transfers: all, linked }
    const request = { ...limits, body, idempotent: true }
    return await this.#api.call('post', '/api/transfers/batch', request)
  }

  /** Linked transfers, jobs and pushes that happen together or not at all. */
  async together (
    fields: Schemas['TogetherFields'], options: CallOptions = {}
  ): Promise<Schemas['TogetherReport']> {
    const transfers = fields.transfers.map((each) => ({ ...each, id: each.id ?? newId() }))
    const body = { ...fields, transfers }
    return await this.#api.call('post', '/api/together', { ...options, body, idempotent: true })
  }

  /** A transfer by its id, as long as that is remembered. */
  async findTransfer (id: string, options: CallOptions = {}): Promise<Schemas['TransferReport']> {
    return await this.#api.call('get', TRANSFER, { ...options, path: { id } })
  }

  /** All accounts of a wallet. */
  async find (wallet: string, options: CallOptions = {}): Promise<Schemas['WalletReport']> {
    return await this.#api.call('get', '/api/wallets/{wallet}', { ...options, path: { wallet } })
  }

  /** A page of accounts by name. */
  async list (query: ListQuery = {}, options: CallOptions = {}): Promise<Schemas['AccountPage']> {
    return await this.#api.call('get', '/api/wallets', { ...options, query })
  }

  /** What an account has now, or had at a time (RFC 3339). */
  async balance (
    wallet: string, asset: string, at?: string, options: CallOptions = {}
  ): Promise<Schemas['BalanceReport']> {
    const query = at === undefined ? {} : { at }
    const request = { ...options, path: { wallet, asset }, query }
    return await this.#api.call('get', `${ACCOUNT}/balance`, request)
  }

  /** A page of an account's history, newest first. */
  async history (
    wallet: string, asset: string, query: HistoryQuery = {}, options: CallOptions = {}
  ): Promise<Schemas['EntryPageReport']> {
    const request = { ...options, path: { wallet, asset }, query }
    return await this.#api.call('get', `${ACCOUNT}/history`, request)
  }

  /** The open holds of a wallet. */
  async holds (wallet: string, options: CallOptions = {}): Promise<Schemas['Holds']> {
    const request = { ...options, path: { wallet } }
    return await this.#api.call('get', '/api/wallets/{wallet}/holds', request)
  }

  /** Opens an account, or several. Opening one again with the same rules changes nothing. */
  async open (
    fields: Schemas['OpenFields'], options: CallOptions = {}
  ): Promise<Answer<'post', '/api/wallets'>> {
    const request = { ...options, body: fields, idempotent: true }
    return await this.#api.call('post', '/api/wallets', request)
  }

  /** Changes the rules of an account. */
  async change (
    wallet: string, asset: string, fields: Schemas['ChangeFields'], options: CallOptions = {}
  ): Promise<Schemas['AccountReport']> {
    const request = { ...options, path: { wallet, asset }, body: fields, idempotent: true }
    return await this.#api.call('patch', ACCOUNT, request)
  }

  /** Declares an asset, with the digits behind its point. */
  async declareAsset (
    asset: string, scale: number, options: CallOptions = {}
  ): Promise<Schemas['AssetReport']> {
    const request = { ...options, path: { asset }, body: { scale } }
    return await this.#api.call('put', '/api/assets/{asset}', request)
  }

  /** All assets, with their totals. */
  async assets (options: CallOptions = {}): Promise<Schemas['Assets']> {
    return await this.#api.call('get', '/api/assets', options)
  }

  /** Roots that seals published: what a receipt is checked against. */
  async roots (query: RootsQuery = {}, options: CallOptions = {}): Promise<Schemas['Roots']> {
    return await this.#api.call('get', '/api/wallets/roots', { ...options, query })
  }

  async #book (
    transfer: (Transfer | Hold) & { readonly kind: Schemas['KindWord'] }, options: CallOptions
  ): Promise<Schemas['BookedTransfer']> {
    const body = { ...transfer, id: transfer.id ?? newId(), amount: onWire(transfer.amount) }
    const request = { ...options, body: body as Schemas['TransferFields'], idempotent: true }
    return await this.#api.call('post', '/api/transfers', request)
  }

  async #step (
    kind: 'capture' | 'void' | 'reverse', id: string, step: Step, options: CallOptions
  ): Promise<Schemas['BookedTransfer']> {
    const amount = step.amount === undefined ? {} : { amount: onWire(step.amount) }
    const body = { ...step, id: step.id ?? newId(), ...amount } as Schemas['StepFields']
    const request = { ...options, path: { id }, body, idempotent: true }
    return await this.#api.call('post', `${TRANSFER}/${kind}`, request)
  }
}

/** An amount as the API takes it. A number that is not whole or has lost digits is refused. */
function onWire (amount: Amount): number | string {
  if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
    throw new RangeError(`an amount is whole minor units: ${amount} is none, or needs a bigint`)
  }
  return typeof amount === 'bigint' ? amount.toString() : amount
}
