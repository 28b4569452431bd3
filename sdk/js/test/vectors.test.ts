// The vectors of proto/vectors: what a client decides, in bytes and as scripts.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'

import { ApplicationError, Busy, DeadlineExceeded, Rejected, Unknown } from '@stadium/client/rpc'

import { answerOf } from '../dist/rpc/answers.js'
import { Connection } from '../dist/rpc/connection.js'
import { decode, encode, joined, u24, FrameError, type Frame } from '../dist/rpc/frame.js'
import * as metadata from '../dist/rpc/metadata.js'
import { Splitter } from '../dist/rpc/splitter.js'
import { Budget } from '../dist/retry.js'
import { ROOT } from './server.js'

type Fields = Record<string, never>

/** A file of vectors. Numbers that a double cannot hold are texts. */
function vectors (name: string): Fields {
  const text = fs.readFileSync(path.join(ROOT, 'proto/vectors', `${name}.json`), 'utf8')
  return JSON.parse(text.replace(/: ([0-9]{17,})/g, ': "$1"')) as Fields
}

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))
const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex')
const hexOrNull = (value: Uint8Array | null | undefined): string | null =>
  value == null ? null : hex(value)

describe('frames.json', () => {
  const plain = (frame: Frame): object => {
    switch (frame.type) {
      case 'SETUP':
        return {
          type: frame.type, major: frame.major, minor: frame.minor, keepalive_ms: frame.keepaliveMs,
          lifetime_ms: frame.lifetimeMs, lease: frame.lease,
          resume_token: hexOrNull(frame.resumeToken), metadata_mime: frame.metadataMime,
          data_mime: frame.dataMime, metadata: hexOrNull(frame.metadata), data: hex(frame.data)
        }
      case 'LEASE':
        return {
          type: frame.type, ttl_ms: frame.ttlMs, requests: frame.requests,
          metadata: hexOrNull(frame.metadata)
        }
      case 'KEEPALIVE':
        return {
          type: frame.type, respond: frame.respond, position: frame.position.toString(),
          data: hex(frame.data)
        }
      case 'ERROR':
        return {
          type: frame.type, stream: frame.stream, code: frame.code,
          text: new TextDecoder().decode(frame.data)
        }
      case 'METADATA_PUSH':
        return { type: frame.type, metadata: hex(frame.metadata) }
      case 'RESUME':
        return {
          type: frame.type, major: frame.major, minor: frame.minor, token: hex(frame.token),
          last_received_server_position: frame.received.toString(),
          first_available_client_position: frame.available.toString()
        }
      case 'RESUME_OK':
        return { type: frame.type, last_received_client_position: frame.received.toString() }
      case 'EXT':
        return {
          type: frame.type, stream: frame.stream, flags: frame.flags,
          extended_type: frame.extendedType, body: hex(frame.body)
        }
      case 'REQUEST_N':
      case 'CANCEL':
        return frame
      default: {
        const { metadata: words, data, ...others } = frame
        const n = 'initialN' in others ? { initial_n: others.initialN } : {}
        const { initialN: _, ...rest } = others as { initialN?: number }
        return { ...rest, ...n, metadata: hexOrNull(words), data: hex(data) }
      }
    }
  }
  const positions = new Set(['position', 'last_received_server_position',
    'first_available_client_position', 'last_received_client_position'])

  for (const { name, hex: text, frame } of vectors('frames').frames as unknown as Array<
    { name: string, hex: string, frame: Record<string, unknown> }>) {
    test(name, () => {
      const decoded = decode(bytes(text))!
      const wanted = Object.fromEntries(Object.entries(frame).map(([key, value]) =>
        [key, positions.has(key) ? String(value) : value]))
      assert.deepEqual(plain(decoded), wanted)
      assert.equal(hex(encode(decoded)), text)
    })
  }
})

describe('composite-metadata.json', () => {
  const file = vectors('composite-metadata') as Record<string, unknown>
  /** The well-known names that the file uses. */
  const names: Record<number, string> = {
    0x05: 'application/json', 0x21: 'text/plain', 0x7e: 'message/x.rsocket.routing.v0'
  }
  const ids = new Map(Object.entries(names).map(([id, name]) => [name, Number(id)]))

  for (const each of file.composite as Array<{
    name: string, hex: string, malformed: boolean,
    entries: Array<{ mime: number | string, content: string }>
  }>) {
    test(each.name, () => {
      const { entries, malformed } = metadata.decodeEntries(bytes(each.hex))
      const named = entries.map(({ mime, content }) =>
        ({ mime: typeof mime === 'number' ? names[mime] ?? mime : mime, content: hex(content) }))
      assert.deepEqual(named, each.entries)
      assert.equal(malformed, each.malformed)
      if (malformed) return
      const written = each.entries.map(({ mime, content }) =>
        metadata.encodeEntry(ids.get(String(mime)) ?? mime, bytes(content)))
      assert.equal(hex(joined(written)), each.hex)
    })
  }
  for (const each of file.routing as Array<{ name: string, hex: string, tags: string[] | null }>) {
    test(`routing: ${each.name}`, () => {
      assert.deepEqual(metadata.decodeTags(bytes(each.hex)) ?? null, each.tags)
    })
  }
  for (const each of file.authentication as Array<{
    name: string, hex: string, kind: string | null
    username?: string, password?: string, token?: string
  }>) {
    test(`authentication: ${each.name}`, () => {
      const wanted = each.kind === 'bearer' ? { bearer: each.token }
        : each.kind === 'simple' ? { username: each.username, password: each.password } : undefined
      assert.deepEqual(metadata.decodeAuthentication(bytes(each.hex)), wanted)
    })
  }
})

interface Step { do: string, expect: Record<string, unknown>, [field: string]: unknown }
interface Case { name: string, config: Record<string, unknown>, steps: Step[] }

function scripts (name: string): Case[] {
  return vectors(name).cases as unknown as Case[]
}

describe('rpc-metadata.json', () => {
  const entry = (fields: Record<string, unknown>): Uint8Array => {
    if ('route' in fields) return metadata.route(fields.route as string)
    if ('left_ms' in fields) return metadata.timeLeft(fields.left_ms as number)
    if ('key_hex' in fields) return metadata.affinityKey(bytes(fields.key_hex as string))
    if ('bearer' in fields) return metadata.bearer(fields.bearer as string)
    if ('peer' in fields) return metadata.peer()
    if ('simple' in fields) {
      const { username, password } = fields.simple as { username: string, password: string }
      return metadata.simple(username, password)
    }
    const load = fields.load as { load_factor: number, quiescing: boolean }
    return metadata.load(load.load_factor, load.quiescing)
  }
  /** What the server of the file makes of a request, with this package's reader. */
  const served = (step: Step, mime: unknown): object => {
    const refused = (code: string, error_code = 516): object => ({ code, error_code })
    const words = bytes(step.metadata_hex as string)
    const read = mime === 'message/x.rsocket.routing.v0'
      ? { route: words.length === 0 ? undefined : metadata.firstTag(words) }
      : metadata.decodeRequest(words)
    const nothing = metadata.decodeRequest(new Uint8Array(0))
    const { route, leftMs, key, authentication } = { ...nothing, ...read }
    if (route === undefined) return refused('RPC-001')
    if (route !== 'geo/Last' && route !== 'geo/Near') return refused('RPC-002')
    if ((route === 'geo/Near') !== (step.interaction === 'stream')) return refused('RPC-003')
    if (leftMs === 0) return refused('RPC-DEADLINE', 515)
    // The message is the file's own business; this package reads none.
    if (step.data_hex === 'ff') return refused('RPC-004')
    return {
      route, left_ms: Math.min(leftMs ?? 5000, 600_000), key_hex: hexOrNull(key),
      authentication: authentication ?? null
    }
  }
  const play = (step: Step, config: Record<string, unknown>): object => {
    const words = (): Uint8Array => bytes(step.hex as string)
    switch (step.do) {
      case 'encode':
        return { hex: hex(joined((step.entries as Array<Record<string, unknown>>).map(entry))) }
      case 'request':
        return served(step, config.metadata_mime)
      case 'load': {
        const load = metadata.decodeLoad(words())
        return load === undefined ? { load_factor: null }
          : { load_factor: load.factor, quiescing: load.quiescing }
      }
      default: {
        const peer = 'message/x.stadium.peer.v1'
        return { peer: metadata.decodeEntries(words()).entries.some(({ mime }) => mime === peer) }
      }
    }
  }
  for (const { name, config, steps } of scripts('rpc-metadata')) {
    test(name, () => {
      for (const step of steps) {
        assert.deepEqual(play(step, config), step.expect, JSON.stringify(step))
      }
    })
  }
})

test('time left is rounded up to milliseconds', () => {
  assert.deepEqual(metadata.timeLeft(1499.2), metadata.timeLeft(1500))
  assert.notDeepEqual(metadata.timeLeft(1500.1), metadata.timeLeft(1500))
})

describe('rpc-answers.json', () => {
  const read = (code: number, data: Uint8Array): Record<string, unknown> => {
    const error = answerOf(code, data)
    const words = { code: error.code, reason: error.reason }
    if (error instanceof Busy) {
      return { answer: 'busy', reason: error.reason, retry_after_ms: error.retryAfter }
    }
    if (error instanceof Rejected) return { answer: 'rejected', ...words }
    if (error instanceof DeadlineExceeded) return { answer: 'deadline' }
    if (error instanceof ApplicationError) {
      return { answer: 'application', error_code: error.number, text: error.reason }
    }
    assert.ok(error instanceof Unknown)
    return error.code === 'CANCELED' ? { answer: 'cancelled' } : { answer: 'unknown', ...words }
  }
  const data = (step: Step): Uint8Array => step.data_hex === undefined
    ? new TextEncoder().encode(step.text as string) : bytes(step.data_hex as string)

  for (const { name, steps } of scripts('rpc-answers')) {
    test(name, () => {
      for (const step of steps) {
        const about = JSON.stringify(step)
        if (step.do === 'read') {
          const { instance: _, ...wanted } = step.expect
          const got = read(step.error_code as number, data(step))
          const shown = Object.fromEntries(Object.keys(wanted).map((key) => [key, got[key]]))
          const numbers = Object.fromEntries(Object.entries(wanted).map(([key, value]) =>
            [key, key === 'retry_after_ms' ? Number(value) : value]))
          assert.deepEqual(shown, numbers, about)
        } else if (step.do === 'write') {
          // A service writes it; a client reads the service's refusal out of it.
          const { error_code: code, text } = step.expect as { error_code: number, text: string }
          const got = read(code, new TextEncoder().encode(text))
          if (step.refusal !== 'application') assert.equal(got.answer, step.refusal, about)
          if (step.code !== undefined) assert.equal(got.code, step.code, about)
          if (step.reason !== undefined) assert.equal(got.reason, step.reason, about)
        } else {
          // What a service passes on promises no more than what it was told.
          const { error_code: code, text } = step.expect as { error_code: number, text?: string }
          const told = answerOf(step.error_code as number, data(step))
          const passed = text ?? `UNKNOWN ${String(step.expect.code)}: it failed`
          const got = answerOf(code, new TextEncoder().encode(passed))
          assert.equal(got.mayHaveHappened, told.mayHaveHappened, about)
        }
      }
    })
  }
})

describe('budget.json', () => {
  const number = (config: Record<string, unknown>, name: string, otherwise: number): number =>
    (config[name] as number | undefined) ?? otherwise
  for (const { name, config, steps } of scripts('budget')) {
    test(name, () => {
      const budget = new Budget({
        share: number(config, 'share', 0.2),
        perSecondMin: number(config, 'per_second_min', 10),
        savedMax: number(config, 'saved_max', 100)
      })
      for (const step of steps) {
        const [at, times] = [Number(step.at_us), Number(step.times ?? 1)]
        if (step.do === 'called') for (let call = 0; call < times; call += 1) budget.called()
        if (step.do === 'left') assert.equal(budget.left(at), step.expect, JSON.stringify(step))
        if (step.do === 'take') {
          const taken = Array.from({ length: times }, () => budget.take(at)).filter(Boolean)
          assert.equal(taken.length, step.expect, JSON.stringify(step))
        }
      }
    })
  }
})

describe('hostile.json, heard by a client', () => {
  interface Hostile {
    name: string, side: string, after_setup: boolean, hex: string, open?: unknown,
    expect: { closes?: number, ignored?: boolean, error?: { stream: number, code: number } }
  }
  const closes = { closes: 0x101 }
  const ignored = { ignored: true }
  /**
   * Cases of a server whose bytes mean something else to a client: it opens its connection itself,
   * is asked on even streams only, has no bound below the longest length, and serves nothing.
   */
  const client: Record<string, object> = {
    'HTTP instead of SETUP': ignored,
    'TLS instead of SETUP': ignored,
    'SETUP on stream 1': ignored,
    'SETUP of version 0.2': ignored,
    'SETUP of version 2.0': ignored,
    'SETUP without a keep-alive interval': ignored,
    'SETUP without a lifetime': ignored,
    'SETUP of 16 MiB': ignored,
    'SETUP that asks for leases where there are none': ignored,
    'SETUP that asks for resumption where there is none': ignored,
    'RESUME where there is no resumption': ignored,
    'a late RESUME': ignored,
    'a frame longer than allowed': ignored,
    'a frame of 16 MiB where 1 MiB is allowed': ignored,
    'a request on an even stream to a server': { error: { stream: 2, code: 0x204 } },
    'a request for nothing': closes,
    'a request for 2^31': closes,
    'credit of nothing': closes,
    'credit without end': closes,
    'more values on a channel than were asked for': closes,
    'more streams than are allowed': closes,
    'a request larger than is gathered': closes,
    // It opens no streams of values: none is known that could bring too many.
    'more values on a stream than were asked for': ignored
  }
  const cases = vectors('hostile').hostile as unknown as Hostile[]

  for (const each of cases) {
    test(`${each.side}: ${each.name}`, () => {
      const sent: Frame[] = []
      let over = false
      const connection = new Connection(
        { keepAlive: 20_000, lifetime: 90_000, payloadBytesMax: 1024 },
        {
          send: (frame) => { sent.push(decode(frame)!) },
          answered: () => {},
          draining: () => {},
          ended: () => { over = true }
        })
      connection.start(0)
      sent.length = 0
      for (const frame of new Splitter().push(bytes(each.hex))) connection.received(frame)
      const error = sent.find((frame) => frame.type === 'ERROR')
      const got = error === undefined ? ignored
        : error.stream === 0 ? { closes: error.code }
          : { error: { stream: error.stream, code: error.code } }
      assert.deepEqual(got, client[each.name] ?? (each.after_setup ? each.expect : closes))
      assert.equal(over, 'closes' in got)
    })
  }

  test('the differences name cases of the file', () => {
    const names = new Set(cases.map(({ name }) => name))
    assert.deepEqual(Object.keys(client).filter((name) => !names.has(name)), [])
  })

  test('no bytes make the reader fail in another way than by FrameError', () => {
    let state = 0x2545f491
    const random = (below: number): number => {
      state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9 | 0
      return (state >>> 8) % below
    }
    const frames = vectors('frames').frames as unknown as Array<{ hex: string }>
    for (let round = 0; round < 3000; round += 1) {
      const frame = bytes(frames[random(frames.length)]!.hex)
      for (let change = random(4); change >= 0; change -= 1) {
        frame[random(frame.length)] = random(256)
      }
      const cut = frame.subarray(0, random(frame.length + 1))
      for (const each of [frame, cut]) {
        try {
          decode(each)
        } catch (error) {
          assert.ok(error instanceof FrameError, `${hex(each)}: ${String(error)}`)
        }
      }
    }
  })

  test('frames are found however TCP cuts them', () => {
    const frames = [new Uint8Array(0), bytes('00'), new Uint8Array(70_000).fill(7), bytes('0102')]
    const stream = joined(frames.flatMap((frame) => [u24(frame.length), frame]))
    for (const size of [1, 2, 3, 7, 65_536, stream.length]) {
      const splitter = new Splitter()
      const got: Uint8Array[] = []
      for (let at = 0; at < stream.length; at += size) {
        got.push(...splitter.push(stream.subarray(at, at + size)))
      }
      assert.deepEqual(got.map(({ length }) => length), frames.map(({ length }) => length))
      assert.ok(got.every((frame, at) => Buffer.compare(frame, frames[at]!) === 0))
    }
  })
})
