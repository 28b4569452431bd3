// The actor of the TypeScript SDK: obeys orders, a line of JSON each, on its standard input.
//
// The orders are in testing/sdk/README.md; this SDK calls one server, and one message at a time. The
// SDK and the generated messages are found below the folder that STADIUM_ACTOR names.

import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'

const folder = process.env.STADIUM_ACTOR
const load = (file) => import(pathToFileURL(path.join(folder, file)).href)
const {
  ApplicationError, Busy, DeadlineExceeded, Rejected, RpcClient, Unavailable, Unknown, unary
} = await load('node_modules/@stadium/client/dist/rpc/index.js')
const { AskSchema, Refusal, ReplySchema } = await load('conformance_pb.js')
const { conformance } = await load('conformance_stadium.js')

const clients = new Map()
const underWay = new Map()

function askOf (fields = {}) {
  return {
    text: fields.text ?? '',
    sleepMs: fields.sleep_ms ?? 0,
    refusal: Refusal[fields.refusal ?? 'NONE'],
    refusals: fields.refusals ?? 0,
    replies: fields.replies ?? 0,
    paddingBytes: fields.padding_bytes ?? 0,
    padding: new Uint8Array(fields.send_padding_bytes ?? 0)
  }
}

function replyOf (reply) {
  return {
    text: reply.text,
    instance: reply.instance,
    key: reply.key,
    bearer: reply.bearer,
    time_left_ms: reply.timeLeftMs,
    attempt: reply.attempt,
    padding_bytes: reply.paddingBytes,
    number: reply.number,
    received_padding_bytes: reply.padding.length
  }
}

function failure (error, signal) {
  if (signal.aborted && error === signal.reason) return { outcome: 'cancelled' }
  const { code, reason: text } = error
  if (error instanceof Busy) return { outcome: 'busy', text, retry_after_ms: error.retryAfter }
  if (error instanceof Rejected) return { outcome: 'rejected', text, code }
  if (error instanceof ApplicationError) {
    return { outcome: 'application', text, number: error.number }
  }
  if (error instanceof DeadlineExceeded) return { outcome: 'deadline', text }
  if (error instanceof Unavailable) return { outcome: 'unavailable', text }
  // One type for both: an outcome that a service reports has a code.
  if (error instanceof Unknown && code === undefined) return { outcome: 'broken', text }
  if (error instanceof Unknown) return { outcome: 'unknown', text, code }
  throw error
}

const known = { Echo: conformance.echo, Once: conformance.once }

async function call (order) {
  const began = performance.now()
  const controller = new AbortController()
  underWay.set(order.id, controller)
  const method = known[order.method] ??
    unary(`conformance/${order.method}`, AskSchema, ReplySchema)
  const options = { signal: controller.signal }
  if (order.deadline_ms !== undefined) options.deadline = order.deadline_ms
  if (order.key !== undefined) options.key = order.key
  let answer
  try {
    const reply = await clients.get(order.client).call(method, askOf(order.ask), options)
    answer = { outcome: 'ok', reply: replyOf(reply) }
  } catch (error) {
    answer = failure(error, controller.signal)
  } finally {
    underWay.delete(order.id)
  }
  return { ...answer, took_ms: Math.floor(performance.now() - began) }
}

const orders = {
  call,
  client: async ({ client, settings }) => {
    const url = `tcp://${settings.instances[0]}`
    clients.set(client, new RpcClient({ url, bearer: settings.bearer }))
    return {}
  },
  close: async ({ client }) => {
    await clients.get(client).close()
    clients.delete(client)
    return {}
  },
  cancel: async ({ of }) => {
    underWay.get(of)?.abort()
    return {}
  },
  note: async ({ client, ask }) => {
    await clients.get(client).send(conformance.note, askOf(ask))
    return {}
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  const obeyed = orders[order.do]?.(order) ?? Promise.reject(new Error(`no order ${order.do}`))
  obeyed
    .catch((error) => ({ error: String(error.stack ?? error) }))
    .then((answer) => console.log(JSON.stringify({ ...answer, id: order.id })))
}
process.exit(0)
