// The WebSocket of the browser, or of another runtime that has one.

import { overWebSocket } from './websocket.js'
import type { Dial } from './wire.js'

export const dialWebSocket: Dial = (url, _tls, events) =>
  overWebSocket(new WebSocket(url), events)
