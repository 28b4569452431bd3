// Receipts that the server's own program makes of a real journal, checked offline.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { InvalidReceipt, Stadium, verifyReceipt, type Receipt } from '@stadium/client'

import { failure, program, shared, until } from '../server.js'

/** A receipt and its root, for the sample of the README. */
export const made: { receipt?: Receipt } = {}

describe('receipts', () => {
  let receipts: Receipt[]
  let root: string
  let ids: { post: string, hold: string }
  before(async () => {
    const server = await shared()
    const { wallets } = new Stadium({ url: server.url, key: server.adminKey, deadline: 30_000 })
    await wallets.declareAsset('EUR', 2)
    await wallets.open({ wallet: 'alice', asset: 'EUR' })
    // Other events share the record's tree.
    await wallets.batch(Array.from({ length: 5 }, (_, at) => (
      { debit: '@bank', credit: 'alice', asset: 'EUR', amount: at + 1 })))
    const post = await wallets.transfer({
      debit: '@bank', credit: 'alice', asset: 'EUR', amount: 1250, reference: 'lunch',
      metadata: { table: 4 }
    })
    const hold = await wallets.hold({
      debit: 'alice', credit: '@shop', asset: 'EUR', amount: 7, expires_after_ms: 60_000
    })
    ids = { post: post.id, hold: hold.id }
    const make = async (id: string): Promise<Receipt> => {
      const { stdout } = await promisify(execFile)(program('STADIUM_BIN', 'stadium'),
        ['wallet', 'receipt', path.join(server.folder, 'data'), id])
      return JSON.parse(stdout) as Receipt
    }
    await until('a seal', () => make(hold.id).catch(() => undefined))
    receipts = [await make(post.id), await make(hold.id)]
    made.receipt = receipts[0]!
    root = receipts[0]!.root
    const { roots } = await wallets.roots()
    assert.ok(roots.some((each) => each.root === root), 'the server has published the root')
  })

  test('a receipt proves its transfer under the published root', async () => {
    const proved = await verifyReceipt(receipts[0]!, root)
    const { bookedAt, ...others } = proved
    assert.deepEqual(others, {
      transfer: ids.post, kind: 'post', debit: '@bank', credit: 'alice', asset: 'EUR', scale: 2,
      amount: 1250n
    })
    assert.ok(Math.abs(bookedAt.getTime() - Date.now()) < 600_000)
    const hold = await verifyReceipt(receipts[1]!, receipts[1]!.root)
    assert.deepEqual([hold.kind, hold.debit, hold.credit, hold.amount],
      ['hold', 'alice', '@shop', 7n])
  })

  test('a receipt with any altered value proves nothing', async () => {
    const flipped = (text: string, at: number): string =>
      text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1)
    const receipt = receipts[0]!
    const altered: Receipt[] = []
    receipt.proofs.forEach((proof, at) => {
      const other = (fields: object): void => {
        const proofs = receipt.proofs.with(at, { ...proof, ...fields })
        altered.push({ ...receipt, proofs })
      }
      for (let digit = 0; digit < proof.event.length; digit += 1) {
        other({ event: flipped(proof.event, digit) })
      }
      for (const field of ['chain_before', 'root_before'] as const) {
        other({ [field]: flipped(proof[field], 3) })
      }
      // The sizes of the trees are not hashed: another one may lead along the same path.
      for (const field of ['time', 'seal', 'event_index', 'record_index'] as const) {
        other({ [field]: proof[field] + 1 })
      }
      for (const field of ['event_path', 'record_path'] as const) {
        other({ [field]: [...proof[field], receipt.root] })
        if (proof[field].length > 0) other({ [field]: proof[field].slice(1) })
      }
    })
    altered.push({ ...receipt, proofs: receipt.proofs.slice(0, 1) }, { ...receipt, proofs: [] })
    altered.push({ ...receipt, version: 2 }, { ...receipt, seal: receipt.seal + 1 })
    assert.ok(altered.length > 100)
    for (const each of altered) await failure(verifyReceipt(each, root), InvalidReceipt)
    await failure(verifyReceipt(receipt, flipped(root, 5)), InvalidReceipt)
    await failure(verifyReceipt(receipt, 'no root'), InvalidReceipt)
  })
})
