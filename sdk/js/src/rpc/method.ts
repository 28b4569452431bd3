// Methods of services: a route and the messages, as protobuf-es describes them.

import type { DescMessage } from '@bufbuild/protobuf'

/** How requests and answers of a method follow each other. */
export type Interaction = 'unary' | 'one-way' | 'stream' | 'channel'

/** What a method promises. */
export interface MethodOptions {
  /** It may run twice with the effect of once: such a call is made again when it was Busy. */
  readonly idempotent?: boolean
}

/** A method of a service. */
export interface Method<
  K extends Interaction, Request extends DescMessage, Answer extends DescMessage | undefined
> {
  readonly interaction: K
  /** `SERVICE/METHOD`. */
  readonly route: string
  readonly request: Request
  readonly answer: Answer
  readonly idempotent: boolean
}

export type Unary<Q extends DescMessage, A extends DescMessage> = Method<'unary', Q, A>
export type OneWay<Q extends DescMessage> = Method<'one-way', Q, undefined>
export type Stream<Q extends DescMessage, A extends DescMessage> = Method<'stream', Q, A>
export type Channel<Q extends DescMessage, A extends DescMessage> = Method<'channel', Q, A>

/** A method with one answer. */
export function unary<Q extends DescMessage, A extends DescMessage> (
  route: string, request: Q, answer: A, options: MethodOptions = {}
): Unary<Q, A> {
  return { interaction: 'unary', route, request, answer, idempotent: options.idempotent ?? false }
}

/** A method that answers nothing: the caller does not learn what became of the request. */
export function oneWay<Q extends DescMessage> (
  route: string, request: Q, options: MethodOptions = {}
): OneWay<Q> {
  const idempotent = options.idempotent ?? false
  return { interaction: 'one-way', route, request, answer: undefined, idempotent }
}

/** A method that answers with a stream. A description only: this client does not call it. */
export function stream<Q extends DescMessage, A extends DescMessage> (
  route: string, request: Q, answer: A, options: MethodOptions = {}
): Stream<Q, A> {
  return { interaction: 'stream', route, request, answer, idempotent: options.idempotent ?? false }
}

/** A method with streams both ways. A description only: this client does not call it. */
export function channel<Q extends DescMessage, A extends DescMessage> (
  route: string, request: Q, answer: A, options: MethodOptions = {}
): Channel<Q, A> {
  return { interaction: 'channel', route, request, answer, idempotent: options.idempotent ?? false }
}
