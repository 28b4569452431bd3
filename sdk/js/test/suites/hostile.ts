// Servers that break the protocol: each call gets a typed error, and the client goes on.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import tls from 'node:tls'
import { after, before, describe, test } from 'node:test'

import {
  RpcClient, StadiumError, Unavailable, Unknown, unary, type TlsOptions
} from '@stadium/client/rpc'
import { Device } from '@stadium/client/device'
import { WebSocketServer } from 'ws'

import { SampleSchema } from '../generated/echo_pb.js'
import { failure, lateBy, until } from '../server.js'

const ECHO = unary('echo/Echo', SampleSchema, SampleSchema)
const SAMPLE = { id: 1n, source: 7, kind: 3 }

/** Frames as hexadecimal, without their lengths. */
const hostile: Record<string, string> = {
  'a frame of no bytes': '',
  'a frame of 5 bytes': '0000000110',
  'the reserved bit of a stream id': '80000001280000',
  'an unknown type': '000000013c007768',
  'an ERROR that ends in its code': '000000012c00000002',
  'a KEEPALIVE that ends in its position': '000000000c8000000000000000',
  'a request on the stream of the connection': '0000000010006869',
  "a request on the client's own ids": '0000000114006869',
  'the end of the connection': '000000002c0000000101776879'
}

describe('a hostile server', () => {
  let answer: (stream: Uint8Array) => Uint8Array | undefined = () => undefined
  let connections = 0
  const frame = (hex: string): Uint8Array => {
    const bytes = Buffer.from(hex, 'hex')
    return Buffer.concat([Buffer.from([0, bytes.length >> 8, bytes.length & 0xff]), bytes])
  }
  const server = net.createServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    // The client's first frame is SETUP; what follows it is a request.
    let heard = 0
    socket.on('data', (chunk) => {
      heard += chunk.length
      const said = heard > 100 ? answer(chunk) : undefined
      if (said !== undefined) socket.write(said)
    })
  })
  let client: RpcClient
  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as net.AddressInfo
    client = new RpcClient({ url: `tcp://127.0.0.1:${port}`, payloadBytesMax: 100_000 })
  })
  after(async () => {
    await client.close()
    server.close()
  })

  for (const [name, hex] of Object.entries(hostile)) {
    test(name, async () => {
      answer = () => frame(hex)
      const error = await failure(client.call(ECHO, SAMPLE), Unknown)
      assert.equal(error.mayHaveHappened, true)
      await until('the end of the connection', () => !client.connected)
    })
  }

  test('a refused SETUP: unavailable, nothing happened', async () => {
    answer = () => frame('000000002c0000000001776879')
    const error = await failure(client.call(ECHO, SAMPLE), Unavailable)
    assert.match(error.message, /why/)
  })

  test('an answer that does not decode, and one that is too large', async () => {
    answer = (chunk) => frame(`${streamOf(chunk)}2860ff`)
    await failure(client.call(ECHO, SAMPLE), Unknown)
    answer = (chunk) => {
      const piece = frame(`${streamOf(chunk)}28a0${'00'.repeat(40_000)}`)
      return Buffer.concat([piece, piece, piece, piece])
    }
    const error = await failure(client.call(ECHO, SAMPLE), Unknown)
    assert.match(error.message, /larger than 100000 bytes/)
    assert.equal(client.connected, true, 'the connection goes on')
  })

  test('frames of unknown streams, and answers to nothing, are ignored', async () => {
    answer = () => Buffer.concat(
      ['00000009282078', '000000092400', '00000000fe0000000007'].map(frame))
    await lateBy(200, () => client.call(ECHO, SAMPLE, { deadline: 200 }))
  })

  test('a frame that never ends: the call ends at its deadline', async () => {
    answer = () => Buffer.from('ffffff00', 'hex')
    await lateBy(200, () => client.call(ECHO, SAMPLE, { deadline: 200 }))
    assert.ok(connections > 5)
  })

  test('over WebSocket: text instead of frames', async () => {
    const site = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    site.on('connection', (socket) => { socket.on('message', () => { socket.send('hello') }) })
    await once(site, 'listening')
    const { port } = site.address() as net.AddressInfo
    const other = new RpcClient({ url: `ws://127.0.0.1:${port}/rpc` })
    await failure(other.call(ECHO, SAMPLE), Unknown)
    await other.close()
    // A device: what comes is no MQTT. It stays a matter of the deadline, and of typed errors.
    const url = `ws://127.0.0.1:${port}/mqtt`
    await failure(Device.connect({ url, id: 'phone' }, { deadline: 300 }), StadiumError)
    for (const socket of site.clients) socket.terminate()
    site.close()
  })
})

function streamOf (chunk: Uint8Array): string {
  // The request is the last frame of the chunk, or all of it: its stream follows its length.
  let at = 0
  for (;;) {
    const length = chunk[at]! * 0x1_0000 + chunk[at + 1]! * 0x100 + chunk[at + 2]!
    if (at + 3 + length >= chunk.length) break
    at += 3 + length
  }
  return Buffer.from(chunk.subarray(at + 3, at + 7)).toString('hex')
}

test('over TLS a call needs a certificate that is trusted', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-tls-'))
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
    '-nodes', '-keyout', key, '-out', cert, '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' })
  const ca = fs.readFileSync(cert, 'utf8')
  const server = tls.createServer({ key: fs.readFileSync(key), cert: ca }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      if (chunk.length > 3) socket.write(Buffer.from(`000006${streamOf(chunk)}2860`, 'hex'))
    })
  })
  server.on('tlsClientError', () => {})
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const call = async (url: string, options?: TlsOptions): Promise<bigint> => {
    const client = new RpcClient({ url, ...(options === undefined ? {} : { tls: options }) })
    return await client.call(ECHO, SAMPLE).then(({ id }) => id).finally(() => client.close())
  }
  try {
    assert.equal(await call(`tls://localhost:${port}`, { ca }), 0n)
    assert.equal(await call(`tls://127.0.0.1:${port}`, { ca }), 0n)
    const untrusted = await failure(call(`tls://localhost:${port}`), Unavailable)
    assert.match(untrusted.message, /certificate/)
    await failure(call(`tls://127.0.0.1:${port}`, { ca, servername: 'other' }), Unavailable)
  } finally {
    server.close()
    fs.rmSync(folder, { recursive: true })
  }
})
