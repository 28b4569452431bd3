// Devices over MQTT: the durable inbox, the return after lost connections, requests and reports.

import assert from 'node:assert/strict'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { after, before, describe, test } from 'node:test'

import { Stadium } from '@stadium/client'
import {
  Busy, Device, Forbidden, Rejected, Unauthenticated, Unavailable, type DeviceOptions, type Push
} from '@stadium/client/device'

import { SampleSchema } from '../generated/echo_pb.js'
import { Proxy } from '../proxy.js'
import { Server, failure, freePorts, lateBy, shared, unique, until, within } from '../server.js'

const QUICK = { returnMin: 20, returnMax: 200, deadline: 30_000 }

describe('a device', () => {
  let server: Server
  let stadium: Stadium
  const devices: Device[] = []
  const connect = async (options: Partial<DeviceOptions> = {}): Promise<Device> => {
    const id = options.id ?? unique('phone')
    const device = await Device.connect({ url: server.mqtt, id, ...QUICK, ...options })
    devices.push(device)
    return device
  }
  const send = async (device: string, message: string): Promise<string> =>
    (await stadium.pushes.send({ audience: { device }, message })).id
  before(async () => {
    server = await shared()
    stadium = new Stadium({ url: server.url, key: server.adminKey, deadline: 30_000 })
  })
  after(async () => { await Promise.all(devices.map((device) => device.close())) })

  for (const transport of ['WebSocket', 'TCP'] as const) {
    test(`a push sent by HTTP reaches it over ${transport}, delivered when taken`, async () => {
      const got: Push[] = []
      let take = (): void => {}
      const taken = new Promise<void>((resolve) => { take = resolve })
      const url = transport === 'TCP' ? server.mqttTcp : server.mqtt
      const { id } = await connect({ url, onPush: async (push) => { got.push(push); await taken } })
      const notification = { title: 'Doors open', data: { gate: 4 } }
      const sent = await stadium.pushes.send({ audience: { device: id }, notification })
      await until('the push', () => got.length === 1)
      assert.deepEqual(got[0]?.notification,
        { push: sent.id, title: 'Doors open', data: { gate: 4 } })
      assert.equal(got[0]?.topic, `inbox/${id}`)
      assert.equal((await stadium.pushes.find(sent.id)).counts.delivered, 0)
      take()
      await until('the acknowledgement', async () =>
        (await stadium.pushes.find(sent.id)).counts.delivered === 1)
      assert.equal(got.length, 1)
    })
  }

  test('the connection is cut again and again: each push is taken once, in its order', async () => {
    const proxy = await Proxy.before(server.mqtt)
    const got: string[] = []
    const device = await connect({
      url: proxy.url(server.mqtt),
      onPush: async (push) => {
        got.push(push.notification!.title!)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    const all = Array.from({ length: 40 }, (_, at) => `${at + 1}`)
    const notify = async (title: string): Promise<unknown> =>
      await stadium.pushes.send({ audience: { device: device.id }, notification: { title } })
    for (const [at, text] of all.entries()) {
      await notify(text)
      if (at % 8 === 3) proxy.cut()
    }
    await until('all pushes', () => got.length >= all.length)
    await until('the return', () => device.connected)
    await notify('last')
    await until('the last push', () => got.includes('last'))
    assert.deepEqual(got, [...all, 'last'])
    await device.close()
    await proxy.stop()
  })

  test('a cut between the handler and its end: the copy is not handed over again', async () => {
    const proxy = await Proxy.before(server.mqtt)
    const got: string[] = []
    let take = (): void => {}
    const device = await connect({
      url: proxy.url(server.mqtt),
      onPush: async (push) => {
        got.push(push.text())
        if (push.text() === 'first') await new Promise<void>((resolve) => { take = resolve })
      }
    })
    const first = await send(device.id, 'first')
    await until('the first push', () => got.length === 1)
    const lost = device.once('disconnected')
    proxy.cut()
    await within('the loss', lost)
    await until('the return', () => device.connected)
    await send(device.id, 'second')
    take()
    await until('the second push', () => got.includes('second'))
    assert.deepEqual(got, ['first', 'second'])
    await until('the acknowledgement', async () =>
      (await stadium.pushes.find(first)).counts.delivered === 1)
    await device.close()
    await proxy.stop()
  })

  test('a push whose handler fails is reported, and comes with the next connection', async () => {
    const proxy = await Proxy.before(server.mqtt)
    let attempts = 0
    const device = await connect({
      url: proxy.url(server.mqtt),
      onPush: () => {
        attempts += 1
        if (attempts === 1) throw new Error('the disk is full')
      }
    })
    const failed = device.once('pushFailed')
    const push = await send(device.id, 'keep me')
    const [{ error, push: kept }] = await within('the failure', failed)
    assert.equal((error as Error).message, 'the disk is full')
    assert.equal(kept.text(), 'keep me')
    proxy.cut()
    await until('the acknowledgement', async () =>
      (await stadium.pushes.find(push)).counts.delivered === 1)
    assert.equal(attempts, 2)
    await device.close()
    await proxy.stop()
  })

  test('messages of a channel are events', async () => {
    const device = await connect({ channels: ['news'] })
    const message = device.once('message')
    await stadium.pushes.send({ live: true, audience: { channel: 'news' }, message: 'Goal' })
    const [{ topic, text }] = await within('the message', message)
    assert.deepEqual([topic, text()], ['channels/news', 'Goal'])
  })

  test('it asks a service, and many requests have their own answers', async () => {
    const device = await connect()
    const answers = await Promise.all(Array.from({ length: 10 }, async (_, at) => {
      const request = create(SampleSchema, { id: BigInt(at + 1), source: 7, kind: 3 })
      const bytes = await device.request('echo/Echo', toBinary(SampleSchema, request))
      return Number(fromBinary(SampleSchema, bytes).id)
    }))
    assert.deepEqual(answers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    const bad = await failure(device.request('echo/Missing', new Uint8Array(0)), Rejected)
    assert.match(bad.code, /^RPC-/)
    await failure(device.request('echo/Echo', Uint8Array.of(0xff)), Rejected)
    await failure(device.request('nobody/There', new Uint8Array(0)), Rejected)
  })

  test('it publishes on its uplink', async () => {
    const device = await connect()
    await device.publish('state', 'on')
    await device.publish('state', Uint8Array.of(1), { qos: 0 })
  })

  test('with its credential it reports opened and clicked pushes, and opts out', async () => {
    const id = unique('phone')
    await stadium.devices.set(id, {})
    const { secret } = await stadium.devices.issueCredential(id)
    const got: Push[] = []
    const onPush = (push: Push): void => { got.push(push) }
    const device = await connect({ id, credential: () => secret, onPush })
    const { id: push } = await stadium.pushes.send({
      audience: { device: id }, notification: { title: 'Hello' }
    })
    await until('the push', () => got.length === 1)
    await until('the delivery', async () =>
      (await stadium.pushes.find(push)).counts.delivered === 1)
    await device.opened(push)
    await device.clicked(push, 'buy')
    assert.equal((await stadium.pushes.find(push)).counts.clicked, 1)
    await device.change({ opted_in: false })
    assert.equal((await stadium.devices.find(id)).opt_in, false)
    await failure(device.change({ tags: { add: ['vip'] } }), Forbidden)

    const closed = device.once('closed')
    await stadium.devices.revoke(id)
    const [reason] = await within('the end', closed)
    assert.ok(reason instanceof Forbidden, String(reason))
    await failure(device.publish('state', 'on'), Forbidden)
    await failure(connect({ id, credential: secret }), Forbidden)
    await stadium.devices.restore(id)
    await failure(connect({ id, credential: 'wrong' }), Unauthenticated)
    await connect({ id, credential: secret })
  })

  test('another connection with its id takes over: it stays away', async () => {
    const device = await connect()
    const closed = device.once('closed')
    await connect({ id: device.id })
    const [reason] = await within('the end', closed)
    assert.ok(reason instanceof Rejected && reason.code === 'MQTT-0x8E', String(reason))
  })

  test('what waits for a connection ends at its deadline, and with close', async () => {
    const [port] = await freePorts(1)
    const url = `ws://127.0.0.1:${port}/mqtt`
    await lateBy(200, () => Device.connect({ url, id: 'nobody' }, { deadline: 200 }))
    const proxy = await Proxy.before(server.mqtt)
    const device = await connect({ url: proxy.url(server.mqtt) })
    await proxy.stop()
    await until('the loss', () => !device.connected)
    await lateBy(100, () => device.request('echo/Echo', new Uint8Array(0), { deadline: 100 }))
    const waiting = failure(device.publish('state', 'on'), Unavailable)
    await device.close()
    await waiting
  })
})

describe('a server that restarts', () => {
  test('its devices return when it wants them, with what they are owed', async () => {
    const server = await Server.start({
      settings: '[limits]\nconnects_per_second = 4\nbusy_retry_after_ms = 400\n'
    })
    const got = new Map<string, string[]>()
    const waits: number[] = []
    const ids = Array.from({ length: 10 }, () => unique('fan'))
    const devices = await Promise.all(ids.map(async (id) => {
      got.set(id, [])
      return await Device.connect({
        url: server.mqtt, id, ...QUICK, onPush: (push) => { got.get(id)!.push(push.text()) }
      })
    }))
    for (const device of devices) {
      device.on('disconnected', ({ error, returnsAfter }) => {
        if (!(error instanceof Busy)) return
        assert.equal(returnsAfter, error.retryAfter)
        waits.push(returnsAfter)
      })
    }
    await server.restart()
    const stadium = new Stadium({ url: server.url, key: server.adminKey, deadline: 30_000 })
    for (const device of ids) await stadium.pushes.send({ audience: { device }, message: 'back' })
    await until('each push', () => [...got.values()].every((texts) => texts.length > 0))
    assert.deepEqual([...got.values()], ids.map(() => ['back']))
    assert.ok(waits.length > 0, 'nobody was paced')
    assert.ok(waits.every((wait) => wait >= 200 && wait <= 400), waits.join(' '))
    await Promise.all(devices.map((device) => device.close()))
    await server.stop()
  })
})
