// rsocket-js as a peer: the routes of the interoperability suites, and what its clients need.
//
// `node rsocket_peer.js [resume=MS]` serves on a free port of 127.0.0.1, prints "listening ADDRESS", and ends when its
// standard input does. The routes are listed in testing/README.md. rsocket-js 1.0 has no metadata push; its server does
// not fragment what it sends and grants no leases.

import { once } from 'node:events'
import net from 'node:net'
import { fileURLToPath } from 'node:url'

import composite from 'rsocket-composite-metadata'
import core from 'rsocket-core'
import tcpServer from 'rsocket-tcp-server'

const { CompositeMetadata, RoutingMetadata, WellKnownMimeType, decodeAuthMetadata, decodeSimpleAuthPayload } = composite
const { encodeCompositeMetadata, encodeRoute } = composite
const ROUTING = WellKnownMimeType.MESSAGE_RSOCKET_ROUTING
const AUTHENTICATION = WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION

/** A payload for the route `interop/NAME`. */
export function request (name, data = '', more = []) {
  const metadata = encodeCompositeMetadata([[ROUTING, encodeRoute(`interop/${name}`)], ...more])
  return { data: Buffer.from(data), metadata }
}

/** Metadata's entries; the library calls a MIME type that it does not know `type`. */
export function entries (metadata) {
  const all = metadata ? [...new CompositeMetadata(metadata)] : []
  return all.map(({ mimeType, type, content }) => ({ mimeType: mimeType ?? String(type), content }))
}

function routeOf (payload) {
  const found = entries(payload.metadata).find((entry) => entry.mimeType === ROUTING.string)
  return found ? [...new RoutingMetadata(found.content)][0].replace(/^interop\//, '') : ''
}

/** One line an entry, as the route `metadata` answers. */
function described (metadata) {
  const line = ({ mimeType, content }) => {
    if (mimeType === ROUTING.string) return `route ${[...new RoutingMetadata(content)][0]}`
    if (mimeType !== AUTHENTICATION.string) return `${mimeType} ${content}`
    const { type, payload } = decodeAuthMetadata(content)
    if (type.string === 'bearer') return `bearer ${payload}`
    const { username, password } = decodeSimpleAuthPayload(payload)
    return `simple ${username}:${password}`
  }
  return entries(metadata).map(line).join('\n')
}

export function padded (number, size) {
  return String(number).padEnd(size, '.')
}

function failure (codeAndText) {
  const [, code, text] = /^(\d+) (.*)$/s.exec(codeAndText)
  const error = new core.RSocketError(Number(code), text)
  // The library is compiled so that its errors are not instances of their class, and takes the code only of those.
  return Object.setPrototypeOf(error, core.RSocketError.prototype)
}

const textOf = (payload) => payload.data?.toString() ?? ''
const ignored = { cancel () {}, request () {}, onExtension () {} }

/** Sends what `next()` gives as long as there is credit; undefined ends the stream, an error fails it. */
class Source {
  constructor (out, credit, next, onCancel = () => {}) {
    Object.assign(this, { out, credit: 0, next, onCancel, ended: false })
    // The library wants the responder's object before the first payload.
    queueMicrotask(() => this.request(credit))
  }

  request (more) {
    this.credit += more
    while (this.credit > 0 && !this.ended) {
      const value = this.next()
      if (value === null) return
      this.credit -= 1
      if (value === undefined) {
        this.ended = true
        this.out.onComplete()
      } else if (value instanceof Error) {
        this.ended = true
        this.out.onError(value)
      } else {
        this.out.onNext({ data: Buffer.from(value) }, false)
      }
    }
  }

  cancel () {
    this.ended = true
    this.onCancel()
  }

  onExtension () {}
}

class Routes {
  static notes = new Map()
  static connections = 0

  static leave (keyAndText) {
    const [, key, what] = /^(\S+) (.*)$/s.exec(keyAndText)
    Routes.notes.set(key, [...(Routes.notes.get(key) ?? []), what])
  }

  constructor (peer) {
    this.peer = peer
  }

  fireAndForget (payload, out) {
    if (routeOf(payload) === 'note') Routes.leave(textOf(payload))
    out.onComplete()
    return ignored
  }

  requestResponse (payload, out) {
    const [name, data] = [routeOf(payload), textOf(payload)]
    const answer = (bytes) => out.onNext({ data: Buffer.from(bytes) }, true)
    if (name === 'never') return { ...ignored, cancel: () => Routes.leave(`${data} cancelled`) }
    queueMicrotask(() => {
      switch (name) {
        case 'echo': return answer(payload.data)
        case 'metadata': return answer(described(payload.metadata))
        case 'empty': return out.onComplete()
        case 'notes': return answer((Routes.notes.get(data) ?? []).join('\n'))
        case 'connections': return answer(String(Routes.connections))
        case 'fail': return out.onError(failure(data))
        case 'ask-me': return this.peer.requestResponse(request('echo', data), {
          onNext: (got) => answer(`you said ${textOf(got)}`),
          onError: (error) => out.onError(error),
          onComplete () {},
          onExtension () {}
        })
        default: return out.onError(new core.RSocketError(core.ErrorCodes.INVALID, 'no such route'))
      }
    })
    return ignored
  }

  requestStream (payload, credit, out) {
    const data = textOf(payload)
    const [first, size] = data.split(' ').map(Number)
    let number = 0
    switch (routeOf(payload)) {
      case 'range': return new Source(out, credit, () => (number < first ? padded(number++, size) : undefined))
      case 'endless': return new Source(out, credit, () => String(number++), () => Routes.leave(`${data} cancelled`))
      case 'fail-after': return new Source(out, credit, () => {
        return number < first ? String(number++) : failure(data.replace(/^\d+ /, ''))
      })
      default: queueMicrotask(() => out.onError(new core.RSocketError(core.ErrorCodes.INVALID, 'no such route')))
    }
    return ignored
  }

  requestChannel (payload, credit, completes, out) {
    const summing = routeOf(payload) === 'sum'
    const queue = []
    let [sum, done] = [0, false]
    const take = (each) => {
      if (summing) sum += Number(textOf(each))
      else queue.push(`echo ${textOf(each)}`)
    }
    const source = new Source(out, credit, () => {
      if (!summing) return queue.shift() ?? (done ? undefined : null)
      if (!done) return null
      const answer = sum
      sum = undefined
      return answer === undefined ? undefined : String(answer)
    })
    const end = () => {
      done = true
      // The end of a stream needs no credit.
      if (!summing && queue.length === 0 && !source.ended) {
        source.ended = true
        return out.onComplete()
      }
      source.request(0)
    }
    take(payload)
    queueMicrotask(() => (completes ? end() : out.request(1)))
    return {
      ...ignored,
      onNext (each, last) {
        take(each)
        source.request(0)
        last ? end() : out.request(1)
      },
      onComplete: end,
      onError () {},
      request: (more) => source.request(more),
      cancel: () => source.cancel()
    }
  }

  close () {
    Routes.connections -= 1
  }
}

async function serve (options) {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  await new core.RSocketServer({
    transport: new tcpServer.TcpServerTransport({ listenOptions: { port, host: '127.0.0.1' } }),
    acceptor: {
      async accept (setup, peer) {
        if (setup.data?.toString() === 'refuse me') throw new Error('refused as asked')
        Routes.connections += 1
        return new Routes(peer)
      }
    },
    resume: options.resume ? { sessionTimeout: Number(options.resume) } : undefined
  }).bind()
  console.log(`listening 127.0.0.1:${port}`)
  process.stdin.resume().on('end', () => process.exit(0))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(Object.fromEntries(process.argv.slice(2).map((each) => each.split('='))))
}
