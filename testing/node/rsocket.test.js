// rsocket-js as a client of ours, and as a server for our client.
//
// Ours is the program `interop` of crates/rsocket: STADIUM_INTEROP names it, and `interop_service` of crates/rpc is
// beside it. STADIUM_INTEROP_PEER names a command to start in place of our server, which proves the suite itself
// against other implementations.

import assert from 'node:assert/strict'
import { spawn, execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import composite from 'rsocket-composite-metadata'
import core from 'rsocket-core'
import tcpClient from 'rsocket-tcp-client'
import websocketClient from 'rsocket-websocket-client'
import WebSocket from 'ws'

import { padded, request } from './rsocket_peer.js'

const PATIENCE_MS = 20_000
const LARGE = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 31 + (at >> 8)) & 255))
// What our client asks of a server of rsocket-js, which has no metadata push.
const CASES = ['echo', 'echo-large', 'metadata', 'errors', 'empty', 'note', 'ask-me', 'range', 'range-large',
  'credit-one', 'cancel-stream', 'cancel-response', 'fail-after', 'channel', 'channel-large', 'sum', 'refused', 'quiet']

function ours (name = 'interop') {
  const named = process.env.STADIUM_INTEROP ?? path.resolve(import.meta.dirname, '../../target/debug/examples/interop')
  const file = path.join(path.dirname(named), name)
  if (!fs.existsSync(file)) throw new Error(`${file} is not there: run \`cargo build -p stadium-rsocket -p stadium-rpc --examples\``)
  return file
}

const started = []

// What our client of services asks of it.
const SERVICE_CASES = ['echo', 'echo-large', 'metadata', 'errors', 'note', 'range', 'range-large', 'credit-one',
  'cancel-stream', 'cancel-response', 'fail-after', 'channel', 'channel-large', 'sum']

/** Starts a server process; it ends with its standard input, or after the last test. */
async function start (command, options) {
  const [program, ...first] = command
  const child = spawn(program, [...first, ...options], { stdio: ['pipe', 'pipe', 'ignore'] })
  for await (const line of readline.createInterface(child.stdout)) {
    assert.match(line, /^listening /)
    const address = line.split(' ')[1]
    const [host, port] = address.split(':')
    const peer = { address, host, port: Number(port), pid: child.pid, stop: () => child.kill('SIGKILL') }
    started.push(peer)
    return peer
  }
  throw new Error(`${command} did not listen`)
}

function server (...options) {
  const peer = process.env.STADIUM_INTEROP_PEER
  return start(peer ? peer.split(' ') : [ours(), 'server'], options)
}

/** `promise`, or an error that says what was waited for. */
function within (what, promise) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${PATIENCE_MS} ms for ${what}`)), PATIENCE_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const open = []

function transport (to, kind) {
  if (kind === 'tcp') return new tcpClient.TcpClientTransport({ connectionOptions: { host: to.host, port: to.port } })
  return new websocketClient.WebsocketClientTransport({ url: `ws://${to.address}/`, wsCreator: (url) => new WebSocket(url) })
}

async function connect (to, { keepAlive = 1000, lifetime = 60_000, data, over = 'tcp', ...more } = {}) {
  const socket = await new core.RSocketConnector({
    transport: transport(to, over),
    setup: {
      dataMimeType: 'application/vnd.google.protobuf',
      metadataMimeType: 'message/x.rsocket.composite-metadata.v0',
      keepAlive,
      lifetime,
      payload: { data: data && Buffer.from(data) }
    },
    responder: {
      requestResponse (payload, out) {
        queueMicrotask(() => out.onNext({ data: payload.data }, true))
        return { cancel () {}, onExtension () {} }
      }
    },
    ...more
  }).connect()
  // A connection that is given up while a test runs has its own checks.
  socket.onClose(() => {})
  open.push(socket)
  return socket
}

function ask (socket, name, data = '', more = []) {
  return within(`the answer of ${name}`, new Promise((resolve, reject) => {
    socket.requestResponse(request(name, data, more), {
      onNext: (payload) => resolve(payload.data),
      onComplete: () => resolve(null),
      onError: reject,
      onExtension () {}
    })
  }))
}

async function untilNotes (socket, key, expected) {
  const deadline = Date.now() + PATIENCE_MS
  while (String(await ask(socket, 'notes', key)) !== expected) {
    assert.ok(Date.now() < deadline, `waited for the note ${expected} of ${key}`)
  }
}

/** Receives a stream: payloads wait in a queue until `take`; `ended` is the end. */
class Receiver {
  constructor () {
    this.queue = []
    this.takers = []
    this.ended = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }))
    this.ended.catch(() => {})
  }

  onNext (payload, last) {
    const text = payload.data.toString()
    const taker = this.takers.shift()
    taker ? taker(text) : this.queue.push(text)
    if (last) this.resolve()
  }

  onComplete () { this.resolve() }
  onError (error) { this.reject(error) }
  onExtension () {}
  request (more) { this.onCredit?.(more) }
  cancel () {}

  take () {
    if (this.queue.length > 0) return Promise.resolve(this.queue.shift())
    return within('a payload', new Promise((resolve) => this.takers.push(resolve)))
  }
}

function stream (socket, name, data, credit) {
  const receiver = new Receiver()
  receiver.stream = socket.requestStream(request(name, data), credit, receiver)
  return receiver
}

/** A channel that sends each of `words`, with the credit that the responder gives. */
function channel (socket, name, words, credit) {
  const receiver = new Receiver()
  let [at, allowed, out] = [1, 0, null]
  const more = () => {
    while (out && allowed > 0 && at < words.length) {
      allowed -= 1
      at += 1
      out.onNext({ data: Buffer.from(words[at - 1]) }, at === words.length)
    }
  }
  receiver.onCredit = (granted) => { allowed += granted; more() }
  out = socket.requestChannel(request(name, words[0]), credit, words.length === 1, receiver)
  receiver.stream = out
  more()
  return receiver
}

after(() => {
  for (const socket of open) socket.close()
  for (const peer of started) peer.stop()
})

const TARGETS = [0, 64, 1024].flatMap((fragment) => [
  { what: 'bare RSocket', fragment, over: 'tcp', start: (...options) => server(...options) },
  ...['tcp', 'ws'].map((over) => ({
    what: 'a service', fragment, over, start: (...options) => start([ours('interop_service'), 'server'], [`transport=${over}`, ...options])
  }))
])

for (const { what, fragment, over, start: begin } of TARGETS) {
  const bare = what === 'bare RSocket'
  describe(`rsocket-js as a client of ${what} over ${over}, fragments of ${fragment}`, () => {
    const options = { fragmentation: { maxOutboundFragmentSize: fragment }, over }
    let peer
    before(async () => { peer = await begin(...(fragment ? [`fragment=${fragment}`] : [])) })
    after(() => peer.stop())

    test('a payload comes back as it was sent', async () => {
      const socket = await connect(peer, options)
      assert.equal(String(await ask(socket, 'echo', 'hello')), 'hello')
      assert.ok(LARGE.equals(await ask(socket, 'echo', LARGE)))
      if (bare) assert.equal(await ask(socket, 'empty'), null)
    })

    test('the server reads routing and credentials', async () => {
      const socket = await connect(peer, options)
      const auth = composite.WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION
      const simple = [auth, composite.encodeSimpleAuthMetadata('user', 'pass:word')]
      // With fragments, the library never ends a payload that has metadata only.
      const answer = await ask(socket, 'metadata', 'data', [simple, ['message/x.custom', Buffer.from('text')]])
      assert.equal(String(answer), 'route interop/metadata\nsimple user:pass:word\nmessage/x.custom text')
      const bearer = await ask(socket, 'metadata', 'data', [[auth, composite.encodeBearerAuthMetadata('token')]])
      assert.equal(String(bearer), 'route interop/metadata\nbearer token')
    })

    test('errors carry their codes and texts', async () => {
      const socket = await connect(peer, options)
      for (const code of bare ? [0x201, 0x202, 0x203, 0x204] : []) {
        await assert.rejects(ask(socket, 'fail', `${code} GEO-001: not there`), { code, message: 'GEO-001: not there' })
      }
      const failing = stream(socket, 'fail-after', '3 513 GEO-002: half way', 100)
      await assert.rejects(within('the end', failing.ended), { code: 513, message: 'GEO-002: half way' })
      assert.deepEqual(failing.queue, ['0', '1', '2'])
    })

    test('a note arrives without an answer, and the server may ask', async () => {
      const socket = await connect(peer, options)
      socket.fireAndForget(request('note', `js-note-${fragment} first`), { onComplete () {}, onError () {} })
      await untilNotes(socket, `js-note-${fragment}`, 'first')
      if (bare) assert.equal(String(await ask(socket, 'ask-me', 'hello')), 'you said hello')
    })

    test('a stream comes in order and ends', async () => {
      const socket = await connect(peer, options)
      for (const [count, size] of [[10, 0], [5, 100_000]]) {
        const numbers = stream(socket, 'range', `${count} ${size}`, 1000)
        await within('the end', numbers.ended)
        assert.deepEqual(numbers.queue, Array.from({ length: count }, (_, number) => padded(number, size)))
      }
    })

    test('a credit of one brings one', async () => {
      const socket = await connect(peer, options)
      const numbers = stream(socket, 'range', '5 0', 1)
      let ended = false
      numbers.ended.then(() => { ended = true })
      for (let number = 0; number < 5; number += 1) {
        assert.equal(await numbers.take(), String(number))
        assert.equal(String(await ask(socket, 'echo', 'fence')), 'fence')
        assert.equal(numbers.queue.length, 0)
        if (!ended) numbers.stream.request(1)
      }
      await within('the end', numbers.ended)
    })

    test('a cancelled request ends on the server', async () => {
      const socket = await connect(peer, options)
      const key = `js-${fragment}`
      const endless = stream(socket, 'endless', `${key}-endless`, 3)
      for (const number of ['0', '1', '2']) assert.equal(await endless.take(), number)
      endless.stream.cancel()
      await untilNotes(socket, `${key}-endless`, 'cancelled')
      const receiver = new Receiver()
      const waiting = socket.requestResponse(request('never', `${key}-never`), receiver)
      assert.equal(String(await ask(socket, 'echo', 'fence')), 'fence')
      waiting.cancel()
      await untilNotes(socket, `${key}-never`, 'cancelled')
    })

    for (const credit of [1000, 1]) {
      test(`a channel answers while it is asked, credit ${credit}`, async () => {
        const socket = await connect(peer, options)
        const words = Array.from({ length: 10 }, (_, number) => `word ${number}${'x'.repeat(20_000)}`)
        const echoes = channel(socket, 'channel', words, credit)
        let ended = false
        echoes.ended.then(() => { ended = true })
        for (const word of words) {
          assert.equal(await echoes.take(), `echo ${word}`)
          if (credit === 1 && !ended) echoes.stream.request(1)
        }
        await within('the end', echoes.ended)
      })
    }

    test('a channel may answer once the requester is done', async () => {
      const numbers = Array.from({ length: 100 }, (_, number) => String(number + 1))
      const total = channel(await connect(peer, options), 'sum', numbers, 10)
      assert.equal(await total.take(), '5050')
    })
  })
}

describe('rsocket-js as a client, connections', () => {
  test('a refused SETUP closes with its code', async () => {
    const peer = await server()
    const socket = await connect(peer, { data: 'refuse me' })
    const error = await within('the close', new Promise((resolve) => socket.onClose(resolve)))
    assert.equal(error.code, core.ErrorCodes.REJECTED_SETUP)
  })

  test('keep-alives hold a quiet connection', async () => {
    const peer = await server()
    const socket = await connect(peer, { keepAlive: 100, lifetime: 500 })
    const closed = new Promise((resolve) => socket.onClose(resolve))
    // Three lifetimes in which nobody speaks: the wait ends early only when the connection is given up.
    const quiet = new Promise((resolve) => setTimeout(resolve, 1500, 'quiet'))
    assert.equal(await Promise.race([closed, quiet]), 'quiet')
    assert.equal(String(await ask(socket, 'echo', 'after')), 'after')
  })

  test('a frozen server is given up within a lifetime', async () => {
    const peer = await server()
    const socket = await connect(peer, { keepAlive: 100, lifetime: 500 })
    const closed = new Promise((resolve) => socket.onClose(resolve))
    process.kill(peer.pid, 'SIGSTOP')
    await within('the close', closed)
    process.kill(peer.pid, 'SIGCONT')
  })

  test('a client that honours leases waits for the next', async () => {
    const peer = await server('lease=300,3')
    const socket = await connect(peer, { lease: { maxPendingRequests: 16 } })
    const answers = await Promise.all(Array.from({ length: 10 }, (_, number) => ask(socket, 'echo', String(number))))
    assert.deepEqual(answers.map(String), Array.from({ length: 10 }, (_, number) => String(number)))
  })

  test('a session goes on over another connection', async () => {
    const peer = await server('resume=20000')
    let over = false
    const socket = await connect(peer, {
      keepAlive: 100,
      resume: {
        tokenGenerator: () => Buffer.from(`a session of rsocket-js ${process.pid}`),
        reconnectFunction: () => new Promise((resolve, reject) => setTimeout(over ? reject : resolve, 20))
      }
    })
    const numbers = stream(socket, 'range', '100 50', 10)
    for (let number = 0; number < 100; number += 1) {
      if (number === 5 || number === 50) socket.fireAndForget(request('cut'), { onComplete () {}, onError () {} })
      assert.equal(await numbers.take(), padded(number, 50))
      numbers.stream.request(1)
    }
    await within('the end', numbers.ended)
    assert.equal(String(await ask(socket, 'resumed')), '2')
    over = true
  })
})

describe('rsocket-js as a server for our client', () => {
  const peerFile = path.join(import.meta.dirname, 'rsocket_peer.js')
  const run = async (peer, name, { program = 'interop', options = [] } = {}) => {
    const all = ['client', peer.address, name, ...options]
    const { stdout } = await promisify(execFile)(ours(program), all, { timeout: 60_000 }).catch((error) => {
      throw new Error(`${error.stdout}${error.stderr}`)
    })
    assert.match(stdout, new RegExp(`^ok ${name}$`, 'm'))
  }
  let peer
  before(async () => { peer = await start(['node', peerFile], []) })
  after(() => peer.stop())

  for (const fragment of [0, 64]) {
    for (const name of CASES) {
      test(`${name}, fragments of ${fragment}`, () => run(peer, name, { options: fragment ? [`fragment=${fragment}`] : [] }))
    }
    for (const name of SERVICE_CASES) {
      const options = fragment ? [`fragment=${fragment}`] : []
      test(`${name} by a client of services, fragments of ${fragment}`, () => run(peer, name, { program: 'interop_service', options }))
    }
  }

  test('frozen', async () => {
    const own = await start(['node', peerFile], [])
    await run(own, 'frozen', { options: [`pid=${own.pid}`] })
    process.kill(own.pid, 'SIGCONT')
    own.stop()
  })

  test('resume', async () => {
    const own = await start(['node', peerFile], ['resume=20000'])
    await run(own, 'resume')
    own.stop()
  })
})
