// The HTTP API by its named methods, its retries and its errors, against a real server.

import assert from 'node:assert/strict'
import http from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { after, before, describe, test } from 'node:test'

import {
  Busy, Forbidden, Rejected, Stadium, StadiumError, Unauthenticated, Unavailable, Unknown, newId
} from '@stadium/client'

import { Server, failure, freePorts, lateBy, shared, unique, until } from '../server.js'

describe('the HTTP API', () => {
  let server: Server
  let stadium: Stadium
  before(async () => {
    server = await shared()
    stadium = new Stadium({ url: server.url, key: () => server.adminKey, deadline: 30_000 })
  })

  test('devices and audiences: registered, selected, previewed, listed, removed', async () => {
    const [one, other, tag] = [unique('phone'), unique('phone'), unique('tag')]
    await stadium.devices.set(one, { platform: 'ios', tags: [tag] })
    const changed = await stadium.devices.changeMany([{ device: other, tags: [tag] }])
    assert.equal(changed.results.length, 1)
    assert.equal((await stadium.devices.change(one, { language: 'de' })).language, 'de')
    await stadium.audiences.save(tag, { tag })
    const preview = await stadium.audiences.preview({ audience: { saved: tag } })
    assert.equal(preview.matched, 2)
    await stadium.audiences.addToList(tag, [one])
    const { devices } = await stadium.devices.list({ prefix: one })
    assert.deepEqual(devices.map(({ device }) => device), [one])
    const audience = JSON.stringify({ tag })
    const exported = await stadium.devices.export({ format: 'ndjson', audience })
    assert.equal((await new Response(exported).text()).trim().split('\n').length, 2)
    const imported = await stadium.devices.import('ndjson', `{"device": "${unique('phone')}"}\n`)
    assert.equal(imported.registered, 1)
    await stadium.audiences.remove(tag)
    await stadium.devices.remove(one)
    assert.equal((await failure(stadium.devices.find(one), Rejected)).code, 'PSH-022')
  })

  test('a push is sent, found, edited, traced, cancelled; the same id is the same', async () => {
    const device = unique('phone')
    await stadium.devices.set(device, {})
    const push = {
      id: newId(),
      audience: { device },
      message: 'hello',
      when: { at: new Date(Date.now() + 86_400_000).toISOString() }
    }
    const sent = await stadium.pushes.send(push)
    assert.equal(sent.duplicate, false)
    assert.equal((await stadium.pushes.send(push)).duplicate, true)
    const error = await failure(stadium.pushes.send({ ...push, when: 'now' }), Rejected)
    assert.equal(error.code, 'PSH-025')
    await stadium.pushes.edit(sent.id, { message: 'later' })
    assert.equal((await stadium.pushes.find(sent.id)).id, sent.id)
    assert.equal((await stadium.pushes.trace(sent.id, device)).device, device)
    await stadium.pushes.cancel(sent.id)
    assert.ok((await stadium.pushes.list({ limit: 5 })).pushes.some(({ id }) => id === sent.id))
    const preview = await stadium.pushes.preview({ audience: { device }, message: 'dry' })
    assert.equal(preview.preview?.matched, 1)
  })

  test('schedules are set, paused, listed and removed', async () => {
    const name = unique('morning')
    await stadium.schedules.set(name, {
      cron: '0 9 * * *', push: { audience: 'all', notification: { title: 'Good morning' } }
    })
    await stadium.schedules.pause(name)
    const { schedules } = await stadium.schedules.list()
    assert.equal(schedules.find((each) => each.name === name)?.paused, true)
    await stadium.schedules.remove(name)
  })

  test('votes: credit is spent once by wallets, holds are captured and voided', async () => {
    const [asset, voter, candidate] = [`V${process.pid}`, unique('{v}:votes'), unique('@candidate')]
    const { wallets } = stadium
    await wallets.declareAsset(asset, 0)
    await wallets.open({ wallet: voter, asset })
    await wallets.transfer({ debit: '@bank', credit: voter, asset, amount: 10n })
    const vote = { debit: voter, credit: candidate, asset, amount: 1 }
    const votes = await Promise.allSettled(Array.from({ length: 12 }, () => wallets.transfer(vote)))
    const refused = votes.flatMap((each) =>
      each.status === 'rejected' ? [each.reason as Rejected] : [])
    assert.deepEqual(refused.map(({ code }) => code), ['WAL-023', 'WAL-023'])
    assert.equal((await wallets.balance(candidate, asset)).posted, 10)
    const booked = await wallets.history(voter, asset)
    const { id } = booked.entries[0]!.transfer
    assert.equal((await wallets.findTransfer(id)).id, id)

    await wallets.transfer({ debit: '@bank', credit: voter, asset, amount: 5 })
    const hold = await wallets.hold({ ...vote, amount: 3, expires_after_ms: 60_000 })
    assert.deepEqual((await wallets.find(voter)).accounts.map(({ posted, held, available }) =>
      [posted, held, available]), [[5, 3, 2]])
    await wallets.capture(hold.id, { amount: 2 })
    const other = await wallets.hold({ ...vote, amount: 1, expires_after_ms: 60_000 })
    await wallets.void(other.id)
    assert.equal((await wallets.balance(voter, asset)).posted, 3)
    const two = { debit: voter, credit: candidate, asset, amount: 2 }
    const linked = await failure(wallets.batch([two, two], { linked: true }), Rejected)
    assert.equal(linked.code, 'WAL-032')
    const each = await wallets.batch([{ ...two, amount: 1 }, { ...two, amount: 9 }])
    assert.deepEqual(each.results.map(({ error }) => error?.code), [undefined, 'WAL-023'])
    assert.equal((await wallets.balance(voter, asset)).posted, 2)
    await failure(wallets.transfer({ ...vote, amount: 0.5 }), RangeError)
  })

  test('a transfer sent again by its id books nothing', async () => {
    const asset = `R${process.pid}`
    await stadium.wallets.declareAsset(asset, 2)
    const transfer = { id: newId(), debit: '@bank', credit: '@shop', asset, amount: 250 }
    assert.equal((await stadium.wallets.transfer(transfer)).duplicate, false)
    assert.equal((await stadium.wallets.transfer(transfer)).duplicate, true)
    assert.equal((await stadium.wallets.balance('@shop', asset)).posted, 250)
    const error = await failure(stadium.wallets.transfer({ ...transfer, amount: 251 }), Rejected)
    assert.equal(error.code, 'WAL-026')
  })

  test('jobs are put, reserved, extended, released, settled; a lost lease is told', async () => {
    const queue = unique('jobs')
    const idempotencyKey = newId()
    const put = await stadium.queues.put(queue, { payload: 'work' }, { idempotencyKey })
    const again = await stadium.queues.put(queue, { payload: 'work' }, { idempotencyKey })
    assert.deepEqual(again, { ...put, duplicate: true })
    const later = { payload: 'later', delay_ms: 3_600_000 }
    assert.equal((await stadium.queues.putMany(queue, [later])).jobs.length, 1)
    const first = (await stadium.queues.reserve(queue, { wait_ms: 1000 })).jobs[0]!
    assert.equal(first.payload, 'work')
    await stadium.queues.extend(first.lease, 60_000)
    await stadium.queues.release(first.lease, { delay_ms: 0, not_tried: true })
    const second = (await stadium.queues.reserve(queue, { wait_ms: 1000 })).jobs[0]!
    assert.equal(second.id, first.id)
    const lost = await failure(stadium.queues.settle(first.lease), Rejected)
    assert.equal(lost.code, 'QUE-022')
    assert.equal((await stadium.queues.settle(second.lease)).outcome, 'done')
    assert.equal((await stadium.queues.settle(second.lease)).outcome, 'already')
    assert.equal((await stadium.queues.peek(queue, { state: 'delayed' })).jobs.length, 1)
    assert.equal((await stadium.queues.purge(queue)).count, 1)
    await stadium.queues.drop(queue)
  })

  test("a device's token reads and settles its own inbox", async () => {
    const device = unique('phone')
    await stadium.devices.set(device, {})
    const { id } = await stadium.pushes.send({ audience: { device }, message: 'owed' })
    const { token } = await stadium.devices.issueToken(device)
    const own = new Stadium({ url: server.url, key: token })
    assert.deepEqual((await own.me.inbox()).inbox.map(({ push }) => push), [id])
    assert.deepEqual((await own.me.settle([id])).settled, [id])
    assert.deepEqual((await own.me.inbox()).inbox, [])
  })

  test('a wrong field is rejected with its path, a strange name in a URL is refused', async () => {
    const wrong = { audience: { device: 'x' }, message: 'm', options: { priority: 12 } }
    const error = await failure(stadium.pushes.send(wrong), Rejected)
    assert.deepEqual([error.code, error.path], ['HTTP-005', 'options.priority'])
    await failure(stadium.devices.find('..'), RangeError)
    // @ts-expect-error: the body is typed
    await failure(stadium.pushes.send({ audience: 7 }), Rejected)
  })

  test('a key without a right, a rotated and a revoked one; no error shows it', async () => {
    const made = await stadium.api.call('post', '/api/keys',
      { body: { name: unique('key'), roles: ['viewer'] } })
    let key = made.secret
    const viewer = new Stadium({ url: server.url, key: async () => key })
    await viewer.pushes.list()
    const send = viewer.pushes.send({ audience: 'all', message: 'no' })
    const forbidden = await failure(send, Forbidden)
    assert.equal(forbidden.code, 'HTTP-003')
    const path = { id: made.key.id }
    const rotated = await stadium.api.call('post', '/api/keys/{id}/rotate',
      { path, body: { overlap_s: null } })
    key = rotated.secret
    await viewer.pushes.list()
    await stadium.api.call('delete', '/api/keys/{id}', { path })
    const revoked = await failure(viewer.pushes.list(), Unauthenticated)
    assert.equal(revoked.code, 'HTTP-002')
    const all = { depth: 9, showHidden: true }
    for (const shown of [inspect(revoked, all), inspect(viewer, all), JSON.stringify(viewer),
      revoked.stack]) {
      assert.ok(!shown?.includes(key), 'the key is shown')
    }
    const broken = new Stadium({ url: server.url, key: `${key}\n` })
    const error = await failure(broken.pushes.list(), Unauthenticated)
    assert.ok(!inspect(error, { depth: 9 }).includes(key), 'the key is shown')
  })
})

describe('a server that is busy, slow or gone', () => {
  let answers: Array<(request: http.IncomingMessage, response: http.ServerResponse) => void> = []
  let asked = 0
  const server = http.createServer((request, response) => {
    asked += 1
    request.resume()
    answers.shift()?.(request, response)
  })
  let stadium: Stadium
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    stadium = new Stadium({ url: `http://127.0.0.1:${port}/base` })
  })
  after(() => { server.closeAllConnections(); server.close() })

  const busy = (after: string | undefined, status = 503) =>
    (_request: http.IncomingMessage, response: http.ServerResponse): void => {
      const head = after === undefined ? {} : { 'retry-after': after }
      response.writeHead(status, { 'content-type': 'application/problem+json', ...head })
      response.end(JSON.stringify({ code: 'HTTP-013', detail: 'the fleet is busy' }))
    }
  const fine = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ url: request.url }))
  }
  const play = (...script: typeof answers): void => {
    answers = script
    asked = 0
  }

  test('an idempotent request is sent again after Busy, three times in all', async () => {
    play(busy('0'), busy('0', 429), fine)
    assert.deepEqual(await stadium.queues.find('a/b'), { url: '/base/api/queues/a%2Fb' })
    play(busy('0'), busy('0'), busy('0'), fine)
    const error = await failure(stadium.queues.find('q'), Busy)
    assert.deepEqual([asked, error.code, error.mayHaveHappened], [3, 'HTTP-013', false])
  })

  test('a request that is not idempotent is sent once', async () => {
    play(busy('0'), fine)
    await failure(stadium.queues.reserve('q'), Busy)
    assert.equal(asked, 1)
  })

  test('Busy tells the time to wait, and is not repeated past the deadline', async () => {
    play(busy('120'), fine)
    const error = await failure(stadium.queues.find('q', { deadline: 60_000 }), Busy)
    assert.deepEqual([asked, error.retryAfter], [1, 120_000])
  })

  test('the budget ends repeats', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const eager = new Stadium({ url, deadline: 60_000 })
    play(...Array.from({ length: 100 }, () => busy('0')))
    const began = performance.now()
    await Promise.all(Array.from({ length: 30 }, () => failure(eager.queues.find('q'), Busy)))
    // Ten at first, ten more each second, and one for five calls.
    const most = 10 + Math.ceil((performance.now() - began) / 100) + 6
    assert.ok(asked > 30 && asked <= 30 + most, `${asked} requests`)
  })

  test('a deadline ends a request without an answer, and one without a body', async () => {
    const silent = (): void => {}
    play(silent, silent, silent, silent, silent)
    const read = await lateBy(150, () => stadium.queues.find('q', { deadline: 150 }))
    assert.equal(read.mayHaveHappened, false)
    const begun = (_request: http.IncomingMessage, response: http.ServerResponse): void => {
      response.writeHead(200).write('{')
    }
    play(begun, begun, begun, begun, begun)
    const put = await lateBy(150, () => stadium.queues.put('q', {}, { deadline: 150 }))
    assert.equal(put.mayHaveHappened, true)
    const slow = new Stadium({ url: 'http://127.0.0.1:1', key: () => new Promise(() => {}) })
    await lateBy(100, () => slow.queues.find('q', { deadline: 100 }))
  })

  test('an abort ends a request with its reason', async () => {
    play(() => {})
    const reason = new Error('left')
    const controller = new AbortController()
    const call = stadium.queues.find('q', { signal: controller.signal })
    await until('the request', () => asked === 1)
    controller.abort(reason)
    assert.equal(await call.catch((error: unknown) => error), reason)
  })

  test('answers without a problem, and broken ones, are errors with their outcome', async () => {
    const cases: Array<[number, new (...args: never[]) => StadiumError, boolean]> = [
      [502, Unknown, true], [504, Unknown, true], [500, Unknown, true], [404, Rejected, false],
      [501, Rejected, false], [401, Unauthenticated, false], [403, Forbidden, false],
      [429, Busy, false]
    ]
    for (const [status, kind, mayHaveHappened] of cases) {
      play((_request, response) => { response.writeHead(status).end('<html>') })
      const error = await failure(stadium.queues.reserve('q'), kind)
      assert.equal(error.mayHaveHappened, mayHaveHappened, String(status))
    }
    play((_request, response) => { response.end('{') })
    await failure(stadium.queues.reserve('q'), Unknown)
    play((request) => { request.socket.destroy() })
    assert.equal((await failure(stadium.queues.reserve('q'), Unknown)).mayHaveHappened, true)
    play((request) => { request.socket.destroy() })
    await failure(stadium.queues.find('q'), Unavailable)
    play((_request, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    })
    await failure(stadium.queues.reserve('q'), StadiumError)
  })

  test('nobody listens: unavailable, and nothing happened', async () => {
    const [port] = await freePorts(1)
    const gone = new Stadium({ url: `http://127.0.0.1:${port}` })
    assert.equal((await failure(gone.queues.reserve('q'), Unavailable)).mayHaveHappened, false)
  })
})
