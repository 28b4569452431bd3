// Requests typed by the OpenAPI description: method and path choose parameters, body and answer.

import type { CallOptions } from '../deadline.js'
import type { components, paths } from '../generated/openapi.js'
import { Transport, type ClientOptions, type Method, type RawRequest } from './transport.js'

/** The messages of the HTTP API by name, such as `Schemas['PushFields']`. */
export type Schemas = components['schemas']

/** Paths that take a method. */
export type PathsOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never
}[keyof paths]

type Operation<M extends Method, P extends PathsOf<M>> =
  paths[P] extends Record<M, infer O> ? O : never

type Content<B> = B extends { readonly content: { readonly 'application/json': infer J } } ? J
  : B extends { readonly content: infer C } ? C[keyof C] : undefined

type Responses<O> = O extends { readonly responses: infer R } ? R[keyof R] : never

/** What a request is answered with; undefined where the answer has no body. */
export type Answer<M extends Method, P extends PathsOf<M>> =
  Responses<Operation<M, P>> extends infer R
    ? R extends { readonly content: { readonly 'application/json': infer J } } ? J : undefined
    : never

type Part<O, Name extends string> = O extends { readonly parameters: infer A }
  ? A extends { readonly [N in Name]?: infer V } ? Exclude<V, undefined> : never
  : never

type PathPart<O> = [Part<O, 'path'>] extends [never] ? { path?: never }
  : { readonly path: Part<O, 'path'> }

type QueryPart<O> = [Part<O, 'query'>] extends [never] ? { query?: never }
  : {} extends Part<O, 'query'> ? { readonly query?: Part<O, 'query'> | undefined }
    : { readonly query: Part<O, 'query'> }

type HeaderPart<O> = [Part<O, 'header'>] extends [never] ? { headers?: never }
  : { readonly headers?: Part<O, 'header'> | undefined }

type BodyPart<O> = O extends { readonly requestBody: infer B } ? { readonly body: Content<B> }
  : O extends { readonly requestBody?: infer B }
    ? { readonly body?: Content<Exclude<B, undefined>> | undefined }
    : { body?: never }

/** Parameters and body of a request, and how long it may take. */
export type Request<M extends Method, P extends PathsOf<M>> = CallOptions &
  { readonly idempotent?: boolean, readonly contentType?: string } &
  PathPart<Operation<M, P>> & QueryPart<Operation<M, P>> & HeaderPart<Operation<M, P>> &
  BodyPart<Operation<M, P>>

/** Every request of the HTTP API, typed. The named methods of {@link Stadium} use it. */
export class Api {
  readonly #transport: Transport

  constructor (options: ClientOptions) {
    this.#transport = new Transport(options)
  }

  /**
   * Sends a request and returns the parsed answer.
   *
   * GET, PUT, DELETE and requests with an `Idempotency-Key` are sent again while the server is
   * busy, at most three times in all and within the client's budget.
   */
  async call<M extends Method, P extends PathsOf<M>> (
    method: M, path: P, request: Request<M, P>
  ): Promise<Answer<M, P>> {
    return await this.#transport.json(method, path, request as RawRequest) as Answer<M, P>
  }

  /** The body of an answer that is no JSON: an export, or server-sent events. */
  async stream<P extends PathsOf<'get'>> (
    path: P, request: Request<'get', P>
  ): Promise<ReadableStream<Uint8Array>> {
    return await this.#transport.stream(path, request as RawRequest)
  }
}
