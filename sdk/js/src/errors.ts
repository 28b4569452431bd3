// The outcomes of requests that have no answer, the same for HTTP, MQTT and RPC.
//
// `Busy` and `Rejected` promise that nothing happened. `mayHaveHappened` is true where the request
// may have been carried out, whole or in part: send it again with the same id, or read the state.

/** Details of a {@link StadiumError}. */
export interface ErrorDetails {
  /** The server's stable code, such as `PSH-025`. */
  readonly code?: string | undefined
  /** Overrides what the class says, for requests that change nothing. */
  readonly mayHaveHappened?: boolean | undefined
  /** The failure below, such as that of a socket. */
  readonly cause?: unknown
}

/** A request that failed. Every failure of this package is one, but an abort by the caller. */
export class StadiumError extends Error {
  override readonly name: string = 'StadiumError'
  /** The server's stable code, such as `PSH-025`; absent where the failure has none. */
  readonly code: string | undefined
  /** The text for people, without the code. Compare `code` in programs. */
  readonly reason: string
  /** Whether the request may have been carried out, whole or in part. */
  readonly mayHaveHappened: boolean

  constructor (reason: string, details: ErrorDetails = {}) {
    const text = details.code === undefined ? reason : `${reason} (${details.code})`
    super(text, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = details.code
    this.reason = reason
    this.mayHaveHappened = details.mayHaveHappened ?? false
  }
}

/** The server is busy. Nothing happened: send the request again after `retryAfter`. */
export class Busy extends StadiumError {
  override readonly name = 'Busy'
  /** Milliseconds after which a repeat makes sense. */
  readonly retryAfter: number

  constructor (reason: string, details: ErrorDetails & { readonly retryAfter: number }) {
    super(reason, details)
    this.retryAfter = details.retryAfter
  }
}

/** The request will never work. Nothing happened: do not send it again unchanged. */
export class Rejected extends StadiumError {
  override readonly name = 'Rejected'
  declare readonly code: string
  /** The field or parameter that is wrong, such as `to.devices[2]`. */
  readonly path: string | undefined

  constructor (
    reason: string,
    details: ErrorDetails & { readonly code: string, readonly path?: string | undefined }
  ) {
    super(reason, details)
    this.path = details.path
  }
}

/** The key, token or credential is missing, unknown, expired or revoked. Nothing happened. */
export class Unauthenticated extends StadiumError {
  override readonly name = 'Unauthenticated'
}

/** The caller is known and has no right to this. Nothing happened. */
export class Forbidden extends StadiumError {
  override readonly name = 'Forbidden'
}

/** The server could not be reached. Nothing happened. */
export class Unavailable extends StadiumError {
  override readonly name = 'Unavailable'
}

/** The deadline passed. It may have happened, unless the request only reads or was not sent. */
export class DeadlineExceeded extends StadiumError {
  override readonly name = 'DeadlineExceeded'

  constructor (reason: string, details: ErrorDetails = {}) {
    super(reason, { mayHaveHappened: true, ...details })
  }
}

/** The outcome is not known: the connection broke, or the server failed on the request. */
export class Unknown extends StadiumError {
  override readonly name = 'Unknown'

  constructor (reason: string, details: ErrorDetails = {}) {
    super(reason, { mayHaveHappened: true, ...details })
  }
}

/** An error of a service's own: the service defines its meaning. */
export class ApplicationError extends StadiumError {
  override readonly name = 'ApplicationError'
  /** The RSocket error code: 0x201, or the service's own from 0x301 to 0xFFFFFFFE. */
  readonly number: number

  constructor (reason: string, number: number) {
    super(reason, { mayHaveHappened: true })
    this.number = number
  }
}
