// Error frames of calls as errors of this package: the table of docs/rpc-guards.md.

import {
  ApplicationError, Busy, DeadlineExceeded, Forbidden, Rejected, Unknown, type StadiumError
} from '../errors.js'

export const ErrorCode = {
  InvalidSetup: 0x001,
  UnsupportedSetup: 0x002,
  RejectedSetup: 0x003,
  ConnectionError: 0x101,
  ApplicationError: 0x201,
  Rejected: 0x202,
  Canceled: 0x203,
  Invalid: 0x204
} as const

const BUSY = 'BUSY retry_after_ms='
const NUMBER = /^\+?[0-9]{1,40}$/
const CODE = /^[A-Z0-9-]{1,40}$/
const UNKNOWN = 'UNKNOWN '
/** The wait of a Busy that names none, in milliseconds. */
const RETRY_AFTER_MS = 100
/** The code of a caller that is not known or has no right: docs/reference/configuration.md. */
const NO_RIGHT = 'NODE-009'

/** The error of an ERROR frame on the stream of a unary call. */
export function answerOf (number: number, data: Uint8Array): StadiumError {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(data)
  switch (number) {
    case ErrorCode.Rejected:
      return busy(text)
    case ErrorCode.Canceled:
      return text.startsWith('RPC-DEADLINE') ? new DeadlineExceeded(text, { code: 'RPC-DEADLINE' })
        : new Unknown(text, { code: 'CANCELED' })
    case ErrorCode.ApplicationError: {
      const unknown = text.startsWith(UNKNOWN) ? coded(text.slice(UNKNOWN.length)) : undefined
      if (unknown !== undefined) return new Unknown(unknown.reason, { code: unknown.code })
      const rejected = coded(text)
      if (rejected === undefined) return new ApplicationError(text, number)
      return rejected.code === NO_RIGHT ? new Forbidden(rejected.reason, rejected)
        : new Rejected(rejected.reason, rejected)
    }
    case ErrorCode.Invalid: {
      const { code, reason } = coded(text) ?? { code: '0x00000204', reason: text }
      return new Rejected(reason, { code })
    }
    default:
      return new ApplicationError(text, number)
  }
}

function busy (text: string): Busy {
  const end = text.indexOf(': ')
  if (end < 0 || !text.startsWith(BUSY)) return new Busy(text, { retryAfter: RETRY_AFTER_MS })
  const number = text.slice(BUSY.length, Math.max(end, BUSY.length))
  const fits = NUMBER.test(number) && BigInt(number.replace('+', '')) < 1n << 64n
  const retryAfter = fits ? Number(number) : RETRY_AFTER_MS
  return new Busy(text.slice(end + 2), { retryAfter })
}

/** The code before the first colon and space, and the rest; undefined where there is no code. */
function coded (text: string): { code: string, reason: string } | undefined {
  const end = text.indexOf(': ')
  const code = text.slice(0, end)
  return end < 0 || !CODE.test(code) ? undefined : { code, reason: text.slice(end + 2) }
}
