// The programs under test: the built binaries on loopback ports, each ended with its test.
//
// STADIUM_BIN and STADIUM_ECHO_SERVER name them; without these they are taken of target/debug.
// Nothing sleeps: every wait is for a condition, with a deadline.

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

import { DeadlineExceeded } from '@stadium/client'

export const PATIENCE_MS = 20_000
/** This package: tests run compiled, in its folder `build`. */
export const PACKAGE = path.resolve(import.meta.dirname, '..')
export const ROOT = path.resolve(PACKAGE, '../..')

const SMALL_JOURNAL = {
  STADIUM_JOURNAL__SEGMENT_BYTES: '9437184',
  STADIUM_JOURNAL__RESERVE_BYTES: '262144'
}

export function program (variable: string, name: string): string {
  const file = process.env[variable] ?? path.join(ROOT, 'target/debug', name)
  if (!fs.existsSync(file)) throw new Error(`${file} is not there: build it, or set ${variable}`)
  return file
}

/** Children that end with this process, also when a test fails. */
const children = new Set<ChildProcess>()
process.on('exit', () => { for (const child of children) child.kill('SIGKILL') })

function start (file: string, args: readonly string[], options: object = {}): ChildProcess {
  const child = spawn(file, args, options)
  children.add(child)
  child.unref()
  child.once('exit', () => { children.delete(child) })
  return child
}

async function end (child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Asks `look` until it gives something true. */
export async function until<T> (
  what: string, look: () => T | Promise<T>
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== null && found !== false) {
      return found as Exclude<T, undefined | null | false>
    }
    if (Date.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The promise, or an error that says what was waited for. */
export async function within<T> (what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Error(`waited ${PATIENCE_MS} ms for ${what}`)
    timer = setTimeout(() => { reject(error) }, PATIENCE_MS)
  })
  return await Promise.race([promise, late]).finally(() => { clearTimeout(timer) })
}

/** The error with which the promise fails. */
export async function failure<E extends Error> (
  promise: Promise<unknown>, kind: abstract new (...args: never[]) => E
): Promise<E> {
  const error = await within('a failure', promise.then(
    (value) => { throw new assert.AssertionError({ message: `no failure: ${String(value)}` }) },
    (reason: unknown) => reason))
  assert.ok(error instanceof kind, `${kind.name} was expected, not ${String(error)}`)
  return error
}

/** Attempts of {@link lateBy}: a machine that runs much else may stop this process meanwhile. */
const ATTEMPTS = 5

/**
 * The error of a call whose deadline is `ms`. It comes within 100 ms of it, in one attempt at
 * least.
 * A timer of the same length is the clock: what delays both is the machine.
 */
export async function lateBy (ms: number, call: () => Promise<unknown>): Promise<DeadlineExceeded> {
  const late: number[] = []
  while (late.length < ATTEMPTS) {
    const began = performance.now()
    const called = failure(call(), DeadlineExceeded)
    const rang = new Promise<number>((resolve) => {
      setTimeout(() => { resolve(performance.now()) }, ms)
    })
    const error = await called
    const ended = performance.now()
    assert.ok(ended - began >= ms - 5, `it ended ${ended - began} ms after its begin`)
    const over = ended - await rang
    if (over < 100) return error
    late.push(Math.round(over))
  }
  throw new assert.AssertionError({ message: `it ended ${late.join(', ')} ms after its deadline` })
}

let ids = 0

/** A name that no other test of this process uses. */
export function unique (prefix: string): string {
  ids += 1
  return `${prefix}-${process.pid}-${ids}`
}

/** Ports that the kernel chose, different ones. They are free until somebody else takes them. */
export async function freePorts (count: number): Promise<number[]> {
  const probes = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'))
  await Promise.all(probes.map((probe) => once(probe, 'listening')))
  const ports = probes.map((probe) => (probe.address() as net.AddressInfo).port)
  await Promise.all(probes.map((probe) => once(probe.close(), 'close')))
  return ports
}

export interface ServerOptions {
  /** Lines of stadium.toml. */
  readonly settings?: string
}

/** A running trial server, with MQTT, HTTP, and RSocket over TCP and WebSocket. */
export class Server {
  readonly folder: string
  readonly adminKey: string
  readonly #ports: readonly number[]
  #child: ChildProcess

  private constructor (folder: string, ports: readonly number[], child: ChildProcess, key: string) {
    this.folder = folder
    this.#ports = ports
    this.#child = child
    this.adminKey = key
  }

  static async start (options: ServerOptions = {}): Promise<Server> {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-js-'))
    const ports = await freePorts(4)
    fs.writeFileSync(path.join(folder, 'stadium.toml'), options.settings ?? '')
    const child = Server.#launch(folder, ports)
    await Server.#ready(child, ports, folder)
    const key = fs.readFileSync(path.join(folder, 'data/admin.key'), 'utf8').trim()
    return new Server(folder, ports, child, key)
  }

  static #launch (folder: string, [mqtt, http, rpc, ws]: readonly number[]): ChildProcess {
    const log = fs.openSync(path.join(folder, 'log'), 'a')
    const flags = ['--mqtt', `127.0.0.1:${mqtt}`, '--http', `127.0.0.1:${http}`,
      '--rpc', `127.0.0.1:${rpc}`, '--set', `rpc.websocket_listen=127.0.0.1:${ws}`,
      '--loops', '1', '--config', path.join(folder, 'stadium.toml')]
    return start(program('STADIUM_BIN', 'stadium'),
      ['serve', '--trial', '--data', path.join(folder, 'data'), ...flags],
      { stdio: ['ignore', log, log], env: { ...SMALL_JOURNAL, ...process.env } })
  }

  static async #ready (
    child: ChildProcess, ports: readonly number[], folder: string
  ): Promise<void> {
    await until('the server to be ready', async () => {
      if (child.exitCode !== null) {
        throw new Error(`the server ended: ${fs.readFileSync(path.join(folder, 'log'), 'utf8')}`)
      }
      return await fetch(`http://127.0.0.1:${ports[1]}/readyz`).then(({ ok }) => ok, () => false)
    })
  }

  get url (): string { return `http://127.0.0.1:${this.#ports[1]}` }
  get mqtt (): string { return `ws://127.0.0.1:${this.#ports[1]}/mqtt` }
  get mqttTcp (): string { return `mqtt://127.0.0.1:${this.#ports[0]}` }
  get rpc (): string { return `tcp://127.0.0.1:${this.#ports[2]}` }
  get rpcWebSocket (): string { return `ws://127.0.0.1:${this.#ports[3]}/rpc` }

  async kill (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await end(this.#child, signal)
  }

  /** Starts it again on the same data and ports. */
  async restart (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.kill(signal)
    this.#child = Server.#launch(this.folder, this.#ports)
    await Server.#ready(this.#child, this.#ports, this.folder)
  }

  async stop (): Promise<void> {
    await this.kill()
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A program whose first line ends with the address that it listens on. */
export class Listening {
  readonly address: string
  readonly #child: ChildProcess

  private constructor (address: string, child: ChildProcess) {
    this.address = address
    this.#child = child
  }

  static async start (file: string, args: readonly string[] = []): Promise<Listening> {
    const child = start(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await within(`${file} to listen`, once(createInterface(child.stdout!), 'line'))
    const address = /[0-9.]+:[0-9]+$/.exec(String(line))?.[0] ?? assert.fail(`no address: ${line}`)
    return new Listening(address, child)
  }

  /** The echo server: `echo/Echo` answers a Sample with itself. */
  static async echo (args: readonly string[] = []): Promise<Listening> {
    return await Listening.start(program('STADIUM_ECHO_SERVER', 'examples/echo_server'), args)
  }

  get url (): string { return `tcp://${this.address}` }

  /** The process takes no turn until {@link Listening.resume}: calls stay under way. */
  async pause (): Promise<void> {
    this.#child.kill('SIGSTOP')
    await until('the process to stop', () =>
      / T /.test(fs.readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8').replace(/^.*\)/, '')))
  }

  resume (): void { this.#child.kill('SIGCONT') }

  async stop (): Promise<void> {
    await end(this.#child, 'SIGKILL')
  }
}

let running: Promise<[Server, Listening]> | undefined

async function startShared (): Promise<[Server, Listening]> {
  const echo = await Listening.echo()
  // Pages of any origin may open a WebSocket: the page of the browser's test is of another port.
  const settings = [
    '[server]', 'allowed_origins = ["*"]', '[wallet]', 'seal_after_s = 1',
    '[discovery]', 'backend = "static"', `services = ["echo/1=${echo.address}"]`
  ].join('\n')
  return [await Server.start({ settings }), echo]
}

/** The server that suites share which leave it running. Devices may ask the echo service there. */
export async function shared (): Promise<Server> {
  running ??= startShared()
  return (await running)[0]
}

/** Ends the shared server. */
export async function stopShared (): Promise<void> {
  if (running !== undefined) await Promise.all((await running).map((each) => each.stop()))
}
