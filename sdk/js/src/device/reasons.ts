// Reason codes of MQTT 5.0 as errors of this package, and the times that the server gives.

import {
  Busy, DeadlineExceeded, Forbidden, Rejected, StadiumError, Unauthenticated, Unavailable, Unknown
} from '../errors.js'

/** User properties of a packet: a name may occur several times. */
export type UserProperties = Readonly<Record<string, string | readonly string[]>>

export const Reason = {
  NotAuthorised: 0x87,
  ServerBusy: 0x89,
  Banned: 0x8a,
  TakenOver: 0x8e,
  TopicNameInvalid: 0x90,
  QuotaExceeded: 0x97,
  UseAnotherServer: 0x9c,
  ServerMoved: 0x9d
} as const

const BAD_PASSWORD = 0x86
const BAD_METHOD = 0x8c
const UNSUPPORTED_VERSION = 0x84
const BAD_CLIENT_ID = 0x85
const SERVER_UNAVAILABLE = 0x88
const RATE_EXCEEDED = 0x9f
/** The wait after a refusal that names none, in milliseconds. */
const RETRY_AFTER_MS = 1000

/** The first value of a user property. */
export function userProperty (
  properties: UserProperties | undefined, name: string
): string | undefined {
  const value = properties?.[name]
  return typeof value === 'string' ? value : value?.[0]
}

function milliseconds (text: string | undefined, unit: number): number | undefined {
  const value = text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value * unit : undefined
}

/** `retry-after` of a CONNACK is seconds with their thousandths. */
export function returnsAfter (properties: UserProperties | undefined): number | undefined {
  return milliseconds(userProperty(properties, 'retry-after'), 1000)
}

/** The code of an error that has no code of Stadium. */
export function mqttCode (reason: number): string {
  return `MQTT-0x${reason.toString(16).padStart(2, '0').toUpperCase()}`
}

/**
 * Why a CONNECT was refused. Unauthenticated, Forbidden and Rejected are final: the same CONNECT
 * will be refused again.
 */
export function refusedConnect (
  reason: number, text: string | undefined, properties: UserProperties | undefined
): StadiumError {
  const code = mqttCode(reason)
  const said = text ?? `the server refused the connection with ${code}`
  switch (reason) {
    case BAD_PASSWORD:
    case BAD_METHOD:
    case Reason.NotAuthorised:
      return new Unauthenticated(said, { code })
    case Reason.Banned:
      return new Forbidden(said, { code })
    case UNSUPPORTED_VERSION:
    case BAD_CLIENT_ID:
      return new Rejected(said, { code })
    case Reason.ServerBusy:
    case SERVER_UNAVAILABLE:
    case RATE_EXCEEDED:
      return new Busy(said, { code, retryAfter: returnsAfter(properties) ?? RETRY_AFTER_MS })
    default:
      return new Unavailable(said, { code })
  }
}

/** Whether the device stays away after this error. */
export function isFinal (error: StadiumError): boolean {
  return error instanceof Unauthenticated || error instanceof Forbidden || error instanceof Rejected
}

/** The error of a PUBACK: nothing happened. */
export function refusedPublish (
  reason: number, topic: string, text: string | undefined, properties: UserProperties | undefined
): StadiumError {
  const code = mqttCode(reason)
  switch (reason) {
    case Reason.QuotaExceeded: {
      const wait = milliseconds(userProperty(properties, 'retry-after-ms'), 1)
      return new Busy(text ?? 'the server is busy', { code, retryAfter: wait ?? RETRY_AFTER_MS })
    }
    case Reason.NotAuthorised:
      return new Forbidden(text ?? `no rule lets this device publish to ${topic}`, { code })
    case Reason.TopicNameInvalid:
      return new Rejected(text ?? `nothing takes messages to ${topic}`, { code })
    default:
      return new Rejected(text ?? `the message to ${topic} was refused with ${code}`, { code })
  }
}

/** The error of an answer to a request: docs/requests.md. Undefined where it is the answer. */
export function failedRequest (properties: UserProperties | undefined): StadiumError | undefined {
  const reason = userProperty(properties, 'reason')
  const code = userProperty(properties, 'code')
  const status = userProperty(properties, 'status')
  switch (status) {
    case 'ok':
      return undefined
    case 'busy': {
      const wait = milliseconds(userProperty(properties, 'retry-after-ms'), 1)
      return new Busy(reason ?? 'the service is busy', { code, retryAfter: wait ?? RETRY_AFTER_MS })
    }
    case 'rejected':
      return new Rejected(reason ?? 'the service refused the request', { code: code ?? 'RPC' })
    case 'deadline':
      return new DeadlineExceeded(reason ?? 'the service did not answer in time', { code })
    default:
      return new Unknown(reason ?? `the outcome is ${status ?? 'not reported'}`, { code })
  }
}
