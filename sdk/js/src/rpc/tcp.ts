// RSocket over TCP and TLS in Node.

import net from 'node:net'
import tls from 'node:tls'

import { joined, u24 } from './frame.js'
import { Splitter } from './splitter.js'
import type { Dial } from './wire.js'

/** Whether this runtime has TCP. */
export const hasTcp: boolean = true

const PORT = 7800

/** Opens `tcp://HOST:PORT` or `tls://HOST:PORT`. */
export const dialTcp: Dial = (url, options, events) => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const to = { host, port: url.port === '' ? PORT : Number(url.port) }
  const secure = url.protocol === 'tls:'
  const servername = net.isIP(host) === 0 ? host : ''
  const socket = secure ? tls.connect({ servername, ...options, ...to }) : net.connect(to)
  const splitter = new Splitter()
  let failure: Error | undefined
  socket.setNoDelay(true)
  socket.on(secure ? 'secureConnect' : 'connect', () => { events.opened() })
  socket.on('data', (chunk: Buffer) => {
    events.heard()
    for (const frame of splitter.push(chunk)) events.frame(frame)
  })
  socket.on('error', (error) => { failure = error })
  socket.on('close', () => { events.closed(failure) })
  return {
    // The frames of one turn of the event loop leave in one write.
    send: (frame) => {
      if (socket.writableCorked === 0) {
        socket.cork()
        process.nextTick(() => { socket.uncork() })
      }
      socket.write(joined([u24(frame.length), frame]))
    },
    // Destroyed when what was written has left: a server that keeps its half open holds nothing.
    close: () => {
      socket.end(() => { socket.destroy() })
    },
    get buffered () { return socket.writableLength },
    hold: (keeps) => {
      if (keeps) socket.ref()
      else socket.unref()
    }
  }
}
