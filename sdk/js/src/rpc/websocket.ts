// RSocket over WebSocket, in browsers and Node: one binary message for each frame.

import type { Wire, WireEvents } from './wire.js'

/** The part of a WebSocket that is used: browsers have it, and so has `ws`. */
interface Socket {
  binaryType: string
  readonly readyState: number
  readonly bufferedAmount: number
  onopen: ((event: never) => void) | null
  onmessage: ((event: never) => void) | null
  onerror: ((event: never) => void) | null
  onclose: ((event: never) => void) | null
  send (data: Uint8Array<ArrayBuffer>): void
  close (): void
}

const OPEN = 1

/** Drives a socket that is being opened. */
export function overWebSocket (
  socket: Socket, events: WireEvents, hold: (keeps: boolean) => void = () => {}
): Wire {
  let failure: Error | undefined
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => { events.opened() }
  socket.onmessage = ({ data }: { data: unknown }) => {
    events.heard()
    // A text message is no frame; an empty one is reported as a frame without a header.
    events.frame(data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(0))
  }
  socket.onerror = (event: { message?: string }) => {
    failure = new Error(event.message ?? 'the WebSocket failed')
  }
  socket.onclose = ({ code, reason }: { code: number, reason: string }) => {
    events.closed(failure ?? new Error(`the WebSocket was closed: ${code} ${reason}`.trim()))
  }
  return {
    send: (frame) => {
      if (socket.readyState === OPEN) socket.send(frame as Uint8Array<ArrayBuffer>)
    },
    close: () => { socket.close() },
    get buffered () { return socket.bufferedAmount },
    hold
  }
}
