// The package `ws` in Node: Node 20 has no WebSocket of its own, and that of later releases takes
// no TLS options.

import type { Socket } from 'node:net'

import type { WebSocket as WsSocket } from 'ws'

import { overWebSocket } from './websocket.js'
import type { Dial, WireEvents } from './wire.js'

export const dialWebSocket: Dial = (url, tls, events) => {
  let wire: ReturnType<Dial> | undefined
  let closed = false
  void open(url, tls, events).then((opened) => {
    wire = opened
    if (closed) wire.close()
  }, (error: unknown) => { events.closed(error as Error) })
  return {
    send: (frame) => { wire?.send(frame) },
    close: () => {
      closed = true
      wire?.close()
    },
    get buffered () { return wire?.buffered ?? 0 },
    hold: (keeps) => { wire?.hold(keeps) }
  }
}

async function open (...[url, tls, events]: Parameters<Dial>): Promise<ReturnType<Dial>> {
  const { WebSocket } = await import('ws').catch((cause: unknown) => {
    throw new Error('RSocket over WebSocket needs the package `ws` in Node', { cause })
  })
  const socket: WsSocket = new WebSocket(url, { ...tls, perMessageDeflate: false })
  const hold = (keeps: boolean): void => {
    const below = (socket as unknown as { _socket?: Socket })._socket
    if (keeps) below?.ref()
    else below?.unref()
  }
  return overWebSocket(socket as Parameters<typeof overWebSocket>[0], ended(socket, events), hold)
}

/** A WebSocket that the server does not close in return is cut after this time. */
const CLOSE_MS = 1000

/** The events, with an end to a close that the server does not answer. */
function ended (socket: WsSocket, events: WireEvents): WireEvents {
  const close = socket.close.bind(socket)
  socket.close = () => {
    close()
    setTimeout(() => { socket.terminate() }, CLOSE_MS).unref()
  }
  return events
}
