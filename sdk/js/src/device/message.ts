// A message that a device received: a push, or a message of a channel.

import type { UserProperties } from './reasons.js'

/** A received message. */
export interface Message {
  readonly topic: string
  readonly payload: Uint8Array
  /** Such as `application/json`; absent where the sender named none. */
  readonly contentType: string | undefined
  readonly userProperties: UserProperties
  /** The payload as text. */
  text (): string
  /** The payload as JSON. Throws a SyntaxError where it is none. */
  json (): unknown
}

/** A push of the inbox. */
export interface Push extends Message {
  /** The fields of a notification; undefined for a push that was sent as a `message`. */
  readonly notification: Notification | undefined
}

/** What a notification shows. Fields without a value are left out. */
export interface Notification {
  /** The push's id: report it by {@link Device.opened} and {@link Device.clicked}. */
  readonly push: string
  readonly title?: string
  readonly body?: string
  readonly data?: unknown
}

/** What arrived, as the MQTT library has it. */
export interface Received {
  readonly topic: string
  readonly payload: Uint8Array
  readonly contentType: string | undefined
  readonly userProperties: UserProperties
}

export function message (received: Received): Message {
  // A copy: the payload is a view of the buffer of a whole chunk.
  const payload = received.payload.slice()
  const text = (): string => new TextDecoder().decode(payload)
  return { ...received, payload, text, json: () => JSON.parse(text()) as unknown }
}

export function push (received: Received): Push {
  const made = message(received)
  return { ...made, notification: notificationOf(made) }
}

function notificationOf (received: Message): Notification | undefined {
  if (received.contentType !== 'application/json') return undefined
  try {
    const fields = received.json()
    const isOne = typeof fields === 'object' && fields !== null &&
      typeof (fields as { push?: unknown }).push === 'string'
    return isOne ? fields as Notification : undefined
  } catch {
    return undefined
  }
}
