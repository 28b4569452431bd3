// The server under test: the built binary on free loopback ports, and devices on mqtt.js.
//
// STADIUM_BIN names the binary; without it target/debug/stadium is used. Nothing sleeps: every wait is for an event,
// with a deadline.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

import mqtt from 'mqtt'

export const PATIENCE_MS = 20_000
export const VERSIONS = [{ name: '3.1.1', protocolVersion: 4 }, { name: '5', protocolVersion: 5 }]
export const TRANSPORTS = ['mqtt', 'ws']
const ROOT = path.resolve(import.meta.dirname, '../..')

// Segments as small as they may be: a shard takes 9 MiB of disk at its start, not 80.
const SMALL_JOURNAL = { STADIUM_JOURNAL__SEGMENT_BYTES: '9437184', STADIUM_JOURNAL__RESERVE_BYTES: '262144' }

let nextPort = (process.pid * 977) % 20_000

/** A port below the kernel's ephemeral range that nobody listens on. */
async function freePort () {
  for (;;) {
    nextPort = (nextPort + 1) % 20_000
    const probe = net.createServer()
    probe.listen(12_000 + nextPort, '127.0.0.1')
    try {
      await once(probe, 'listening')
    } catch {
      continue
    }
    const { port } = probe.address()
    probe.close()
    await once(probe, 'close')
    return port
  }
}

/** Asks `look` again and again until it gives something true. */
export async function until (what, look) {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** `promise`, or an error that says what was waited for. */
export async function within (what, promise) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${PATIENCE_MS} ms for ${what}`)), PATIENCE_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Whether the server on this HTTP port is ready; on an HTTPS port, whose certificate `ca` signed. */
async function isReady (port, ca) {
  if (!ca) return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  const [answer] = await once(https.get(`https://127.0.0.1:${port}/readyz`, { ca, agent: false }), 'response')
  answer.resume()
  return answer.statusCode === 200
}

/** A running trial server. */
export class Server {
  static async start ({ loops = 2, settings = '', tls = false, ca = null, files = {} } = {}) {
    const server = new Server()
    const binary = process.env.STADIUM_BIN ?? path.join(ROOT, 'target/debug/stadium')
    if (!fs.existsSync(binary)) throw new Error(`${binary} is not there: run \`cargo build -p stadium-cli\``)
    server.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-test-'))
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(server.folder, name), text)
    const file = path.join(server.folder, 'stadium.toml')
    fs.writeFileSync(file, settings.replaceAll('@', server.folder + '/'))
    server.tcp = await freePort()
    server.http = await freePort()
    const log = fs.openSync(path.join(server.folder, 'log'), 'w')
    const flags = ['--mqtt', `127.0.0.1:${server.tcp}`, '--http', `127.0.0.1:${server.http}`, '--loops', String(loops)]
    if (tls) {
      server.tls = await freePort()
      flags.push('--mqtts', `127.0.0.1:${server.tls}`)
    }
    const data = path.join(server.folder, 'data')
    server.child = spawn(binary, ['serve', '--trial', '--config', file, '--data', data, '--rpc', '127.0.0.1:0', ...flags], {
      stdio: ['ignore', log, log],
      env: { ...SMALL_JOURNAL, ...process.env }
    })
    await until('the server to be ready', async () => {
      if (server.child.exitCode !== null) throw new Error(`the server ended: ${server.log()}`)
      try {
        return await isReady(server.http, ca)
      } catch {
        return false
      }
    })
    return server
  }

  log () {
    return fs.readFileSync(path.join(this.folder, 'log'), 'utf8')
  }

  /** The URL of a transport: `mqtt`, `ws`, `wss` of an HTTPS port, or `mqtts`. */
  url (transport) {
    return {
      mqtt: `mqtt://127.0.0.1:${this.tcp}`,
      ws: `ws://127.0.0.1:${this.http}/mqtt`,
      wss: `wss://localhost:${this.http}/mqtt`,
      mqtts: `mqtts://localhost:${this.tls}`
    }[transport]
  }

  async stop () {
    if (this.child.exitCode === null) {
      const ended = once(this.child, 'exit')
      this.child.kill('SIGKILL')
      await ended
    }
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

let ids = 0

/** A name that no other test uses. */
export function unique (prefix) {
  ids += 1
  return `${prefix}-${process.pid}-${ids}`
}

/** A connected device. Its messages wait in a queue until `take`. */
export class Device {
  constructor (client) {
    this.client = client
    this.queue = []
    this.waiting = []
    client.on('error', () => {})
    client.on('message', (topic, payload, packet) => {
      const message = { topic, payload: payload.toString(), qos: packet.qos, retain: packet.retain, properties: packet.properties ?? {} }
      const taker = this.waiting.shift()
      taker ? taker(message) : this.queue.push(message)
    })
  }

  static async connect (url, options = {}) {
    const client = mqtt.connect(url, { clientId: unique('device'), reconnectPeriod: 0, connectTimeout: PATIENCE_MS, ...options })
    const device = new Device(client)
    const failed = new Promise((resolve, reject) => {
      client.once('error', reject)
      client.once('close', () => reject(new Error(`${url} closed the connection before CONNACK`)))
    })
    const connack = once(client, 'connect')
    device.connack = (await within('CONNACK', Promise.race([connack, failed])))[0]
    failed.catch(() => {})
    return device
  }

  subscribe (filter, options = { qos: 1 }) {
    return within('SUBACK', this.client.subscribeAsync(filter, options))
  }

  publish (topic, payload, options = { qos: 1 }) {
    return within('an acknowledgement', this.client.publishAsync(topic, payload, options))
  }

  take () {
    const queued = this.queue.shift()
    return queued ? Promise.resolve(queued) : within('a message', new Promise((resolve) => this.waiting.push(resolve)))
  }

  /** The messages that came before one that is sent now by `sender`. */
  async untilFence (sender = this) {
    const topic = unique('fence')
    await this.subscribe(topic)
    await sender.publish(topic, 'fence')
    const got = []
    for (;;) {
      const message = await this.take()
      if (message.topic === topic) return got
      got.push(message)
    }
  }

  /** Destroys the socket: no DISCONNECT is sent. */
  async cut () {
    const closed = once(this.client, 'close')
    this.client.stream.destroy()
    await within('the close', closed)
    await this.client.endAsync(true)
  }

  end () {
    return within('the end', this.client.endAsync(false))
  }
}
