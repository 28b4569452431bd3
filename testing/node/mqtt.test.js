// mqtt.js in 3.1.1 and 5, over TCP and WebSocket: QoS, retained, will, sessions, takeover, shared, expiry, TLS.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'

import { Device, Server, TRANSPORTS, VERSIONS, unique, until, within } from './server.js'

const KEPT = { clean: false, properties: { sessionExpiryInterval: 600 } }

for (const loops of [1, 2]) {
  for (const { name, protocolVersion } of VERSIONS) {
    for (const transport of TRANSPORTS) {
      describe(`MQTT ${name} over ${transport}, ${loops} loop(s)`, () => {
        let server
        const devices = []
        const device = async (options = {}) => {
          const made = await Device.connect(server.url(transport), { protocolVersion, ...options })
          devices.push(made)
          return made
        }
        const keep = (options = {}) => ({ clean: false, ...(protocolVersion === 5 ? KEPT : {}), ...options })
        before(async () => { server = await Server.start({ loops }) })
        after(async () => {
          for (const each of devices) each.client.end(true)
          await server.stop()
        })

        for (const sent of [0, 1, 2]) {
          for (const asked of [0, 1, 2]) {
            test(`QoS ${sent} to a subscription of QoS ${asked}`, async () => {
              const [reader, writer, topic] = [await device(), await device(), unique('t')]
              await reader.subscribe(topic, { qos: asked })
              for (let number = 0; number < 20; number += 1) await writer.publish(topic, `${number}`, { qos: sent })
              for (let number = 0; number < 20; number += 1) {
                const message = await reader.take()
                assert.deepEqual([message.payload, message.qos], [`${number}`, Math.min(sent, asked)])
              }
            })
          }
        }

        test('a payload of 200 KB arrives whole', async () => {
          const [reader, writer, topic] = [await device(), await device(), unique('t')]
          await reader.subscribe(topic)
          const payload = 'stadium '.repeat(25_000)
          await writer.publish(topic, payload)
          assert.equal((await reader.take()).payload, payload)
        })

        test('retained: set, replaced, found by wildcard, cleared', async () => {
          const [writer, topic] = [await device(), unique('t')]
          await writer.publish(`${topic}/a`, 'first', { qos: 1, retain: true })
          await writer.publish(`${topic}/a`, 'second', { qos: 1, retain: true })
          const reader = await device()
          await reader.subscribe(`${topic}/+`)
          const message = await reader.take()
          assert.deepEqual([message.payload, message.retain], ['second', true])
          await writer.publish(`${topic}/a`, '', { qos: 1, retain: true })
          const late = await device()
          await late.subscribe(`${topic}/#`)
          assert.deepEqual(await late.untilFence(), [])
        })

        test('the will is published when the socket dies, and not after a goodbye', async () => {
          const [watcher, topic] = [await device(), unique('t')]
          await watcher.subscribe(`${topic}/+`)
          const polite = await device({ will: { topic: `${topic}/polite`, payload: 'x', qos: 1, retain: false } })
          await polite.end()
          const dying = await device({ will: { topic: `${topic}/dying`, payload: 'gone', qos: 1, retain: false } })
          await dying.cut()
          assert.equal((await watcher.take()).topic, `${topic}/dying`)
          assert.deepEqual(await watcher.untilFence(), [])
        })

        for (const qos of [1, 2]) {
          test(`a kept session gets what it missed at QoS ${qos}, in order`, async () => {
            const [clientId, topic, writer] = [unique('kept'), unique('t'), await device()]
            const first = await device(keep({ clientId }))
            assert.equal(first.connack.sessionPresent, false)
            await first.subscribe(topic, { qos: 2 })
            await first.end()
            for (let number = 0; number < 50; number += 1) await writer.publish(topic, `${number}`, { qos })
            const back = await device(keep({ clientId }))
            assert.equal(back.connack.sessionPresent, true)
            for (let number = 0; number < 50; number += 1) assert.equal((await back.take()).payload, `${number}`)
          })
        }

        test('a second connection takes over', async () => {
          const [clientId, topic] = [unique('same'), unique('t')]
          const old = await device(keep({ clientId }))
          await old.subscribe(topic)
          const closed = new Promise((resolve) => old.client.once('close', resolve))
          const told = new Promise((resolve) => old.client.once('disconnect', resolve))
          const fresh = await device(keep({ clientId }))
          await within('the old connection to close', closed)
          if (protocolVersion === 5) assert.equal((await within('DISCONNECT', told)).reasonCode, 0x8e)
          assert.equal(fresh.connack.sessionPresent, true)
          await (await device()).publish(topic, 'to the new one')
          assert.equal((await fresh.take()).payload, 'to the new one')
        })

        test('a shared subscription spreads messages over its members', async () => {
          const [topic, writer] = [unique('t'), await device()]
          const members = [await device(), await device(), await device()]
          for (const member of members) await member.subscribe(`$share/group/${topic}`)
          for (let number = 0; number < 90; number += 1) await writer.publish(topic, `${number}`)
          await until('all 90 messages', () => members.reduce((sum, member) => sum + member.queue.length, 0) === 90)
          const got = members.flatMap((member) => member.queue.map((message) => Number(message.payload)))
          assert.deepEqual(got.sort((a, b) => a - b), [...Array(90).keys()])
          for (const member of members) assert.ok(member.queue.length >= 10, `a member got ${member.queue.length} of 90`)
        })

        if (protocolVersion === 5) {
          test('properties travel, aliases are resolved, own messages stay away', async () => {
            const [reader, writer, topic] = [await device(), await device(), unique('t')]
            await reader.subscribe(topic, { qos: 1, nl: true })
            const properties = {
              contentType: 'text/plain', responseTopic: 'answers', correlationData: Buffer.from('c'),
              userProperties: { seat: '12F' }, topicAlias: 1
            }
            await reader.publish(topic, 'mine')
            await writer.publish(topic, 'x', { qos: 1, properties })
            await writer.publish('', 'y', { qos: 1, properties: { topicAlias: 1 } })
            const first = await reader.take()
            assert.equal(first.payload, 'x')
            assert.equal(first.properties.contentType, 'text/plain')
            assert.equal(first.properties.responseTopic, 'answers')
            assert.deepEqual({ ...first.properties.userProperties }, { seat: '12F' })
            const second = await reader.take()
            assert.deepEqual([second.topic, second.payload], [topic, 'y'])
          })

          test('a message expires while its device is away', async () => {
            const [clientId, topic, writer] = [unique('kept'), unique('t'), await device()]
            const first = await device(keep({ clientId }))
            await first.subscribe(topic)
            await first.end()
            const expiring = (seconds) => ({ qos: 1, properties: { messageExpiryInterval: seconds } })
            await writer.publish(topic, 'short', expiring(1))
            await writer.publish(topic, 'long', expiring(100))
            await writer.publish(`${topic}/clock`, 'tick', { ...expiring(2), retain: true })
            const clock = await device()
            await until('two seconds to pass at the server', async () => {
              await clock.subscribe(`${topic}/clock`)
              return (await clock.untilFence()).length === 0
            })
            const back = await device(keep({ clientId }))
            const message = await back.take()
            assert.equal(message.payload, 'long')
            assert.ok(message.properties.messageExpiryInterval < 100)
          })
        }
      })
    }
  }
}

describe('TLS', () => {
  let folder
  const openssl = (...words) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
  const file = (name) => fs.readFileSync(path.join(folder, name), 'utf8')

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-certificates-'))
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    for (const ca of ['ca', 'other']) {
      openssl('req', '-x509', ...key, '-days', '2', '-subj', `/CN=${ca}`, '-keyout', `${ca}.key`, '-out', `${ca}.pem`)
    }
    for (const [name, ca, extension] of [
      ['server', 'ca', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ['device', 'ca', 'extendedKeyUsage=clientAuth'],
      ['stranger', 'other', 'extendedKeyUsage=clientAuth']
    ]) {
      fs.writeFileSync(path.join(folder, `${name}.ext`), `basicConstraints=CA:FALSE\n${extension}\n`)
      openssl('req', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
      openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial',
        '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.pem`)
    }
  })
  after(() => fs.rmSync(folder, { recursive: true, force: true }))

  const secure = (asks) => Server.start({
    tls: true,
    settings: '[mqtts]\ncertificate = "@server.pem"\nkey = "@server.key"\n' +
      (asks === 'none' ? '' : `client_ca = "@ca.pem"\nclient_certificates = "${asks}"\n`),
    files: { 'server.pem': file('server.pem'), 'server.key': file('server.key'), 'ca.pem': file('ca.pem') }
  })
  const shows = (name) => ({ cert: file(`${name}.pem`), key: file(`${name}.key`) })

  for (const { name, protocolVersion } of VERSIONS) {
    test(`messages pass, MQTT ${name}`, async (context) => {
      const server = await secure('none')
      context.after(() => server.stop())
      const options = { protocolVersion, ca: file('ca.pem') }
      const [reader, writer] = [await Device.connect(server.url('mqtts'), options), await Device.connect(server.url('mqtts'), options)]
      await reader.subscribe('t', { qos: 2 })
      for (const size of [1, 100_000]) {
        await writer.publish('t', 'x'.repeat(size), { qos: 2 })
        assert.equal((await reader.take()).payload.length, size)
      }
      await Promise.all([reader.end(), writer.end()])
    })
  }

  for (const { name, protocolVersion } of VERSIONS) {
    test(`messages pass over WebSocket on the HTTPS port, MQTT ${name}`, async (context) => {
      const server = await Server.start({
        ca: file('ca.pem'),
        settings: '[http]\ncertificate = "@server.pem"\nkey = "@server.key"\n',
        files: { 'server.pem': file('server.pem'), 'server.key': file('server.key') }
      })
      context.after(() => server.stop())
      const options = { protocolVersion, ca: file('ca.pem') }
      const [reader, writer] = [await Device.connect(server.url('wss'), options), await Device.connect(server.url('wss'), options)]
      await reader.subscribe('t', { qos: 2 })
      for (const size of [1, 100_000]) {
        await writer.publish('t', 'x'.repeat(size), { qos: 2 })
        assert.equal((await reader.take()).payload.length, size)
      }
      await assert.rejects(Device.connect(server.url('wss'), { ca: file('other.pem') }))
      await Promise.all([reader.end(), writer.end()])
    })
  }

  test('an unknown server is refused by the client', async (context) => {
    const server = await secure('none')
    context.after(() => server.stop())
    await assert.rejects(Device.connect(server.url('mqtts'), { ca: file('other.pem') }))
  })

  for (const [asks, shown, welcome] of [
    ['optional', null, true], ['optional', 'device', true], ['optional', 'stranger', false],
    ['required', null, false], ['required', 'device', true], ['required', 'stranger', false]
  ]) {
    test(`client certificates ${asks}: ${shown ?? 'none'} is ${welcome ? 'welcome' : 'refused'}`, async (context) => {
      const server = await secure(asks)
      context.after(() => server.stop())
      const connect = Device.connect(server.url('mqtts'), { ca: file('ca.pem'), ...(shown ? shows(shown) : {}) })
      if (welcome) await (await connect).end()
      else await assert.rejects(connect)
    })
  }
})
