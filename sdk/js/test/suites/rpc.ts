// Calls over RSocket on TCP and WebSocket, against the echo server and the node's own services.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  Busy, Forbidden, Rejected, RpcClient, Unavailable, Unknown, oneWay, stream, unary
} from '@stadium/client/rpc'

import { SampleSchema } from '../generated/echo_pb.js'
import { ListRequestSchema, QueueListSchema } from '../generated/stadium/v1/queue_pb.js'
import { Listening, failure, freePorts, lateBy, shared, until, within } from '../server.js'

const ECHO = unary('echo/Echo', SampleSchema, SampleSchema, { idempotent: true })
const ONCE = unary('echo/Echo', SampleSchema, SampleSchema)

const sample = (id: number, elements = 2): MessageInitShape<typeof SampleSchema> => ({
  id: BigInt(id),
  elements: Array.from({ length: elements },
    (_, at) => ({ value: BigInt(at + 1), weight: at + 1 })),
  source: 7,
  kind: 3
})

describe('RSocket over TCP', () => {
  let echo: Listening
  let client: RpcClient
  before(async () => {
    echo = await Listening.echo()
    client = new RpcClient({ url: echo.url })
  })
  after(async () => {
    await client.close()
    await echo.stop()
  })

  test('a call is answered with its message', async () => {
    const answer = await client.call(ECHO, sample(1), { key: 'phone-1' })
    assert.equal(answer.id, 1n)
    assert.deepEqual(answer.elements.map(({ value, weight }) => [value, weight]),
      [[1n, 1], [2n, 2]])
    assert.equal(client.connected, true)
  })

  test('many calls are in flight, and each gets its own answer', async () => {
    const ids = Array.from({ length: 500 }, (_, at) => at + 1)
    const answers = await Promise.all(ids.map((id) => client.call(ECHO, sample(id))))
    assert.deepEqual(answers.map(({ id }) => Number(id)), ids)
  })

  test('a message larger than a frame travels in fragments both ways', async () => {
    const answer = await client.call(ECHO, sample(5, 40_000))
    assert.equal(answer.elements.length, 40_000)
    assert.equal(answer.elements.at(-1)?.value, 40_000n)
  })

  test('a route that is not served is rejected with its code', async () => {
    const missing = unary('echo/Missing', SampleSchema, SampleSchema)
    const error = await failure(client.call(missing, sample(1)), Rejected)
    assert.equal(error.code, 'RPC-002')
    assert.equal(error.mayHaveHappened, false)
  })

  test('a one-way request is handed over', async () => {
    await client.send(oneWay('echo/Echo', SampleSchema), sample(1))
    assert.equal((await client.call(ECHO, sample(2))).id, 2n)
  })

  test('a stream is no method to call: a type error, and an error without types', async () => {
    const near = stream('echo/Echo', SampleSchema, SampleSchema)
    // @ts-expect-error: only unary methods are callable
    await assert.rejects(client.call(near, sample(1)), TypeError)
  })

  test('a deadline ends a call on time, and the later answer harms nothing', async () => {
    await echo.pause()
    const error = await lateBy(200, () => client.call(ONCE, sample(1), { deadline: 200 }))
    echo.resume()
    assert.equal(error.mayHaveHappened, true)
    assert.equal((await client.call(ECHO, sample(2))).id, 2n)
  })

  test('an abort ends a call with its reason', async () => {
    await echo.pause()
    const controller = new AbortController()
    const call = client.call(ONCE, sample(1), { signal: controller.signal })
    const reason = new Error('the page was left')
    controller.abort(reason)
    assert.equal(await call.catch((error: unknown) => error), reason)
    echo.resume()
    assert.equal((await client.call(ECHO, sample(3))).id, 3n)
  })

  test('a call beyond the bound fails at once, and later ones do not', async () => {
    const bounded = new RpcClient({ url: echo.url, pendingMax: 3 })
    const calls = Array.from({ length: 3 }, (_, at) => bounded.call(ECHO, sample(at + 1)))
    await failure(bounded.call(ECHO, sample(4)), Unavailable)
    await Promise.all(calls)
    assert.equal((await bounded.call(ECHO, sample(5))).id, 5n)
    await bounded.close()
  })

  test('an overloaded server answers Busy with the time to wait', async () => {
    const slow = await Listening.echo(['--cost-us', '4000'])
    const caller = new RpcClient({ url: slow.url })
    const results = await Promise.allSettled(Array.from({ length: 60 }, (_, at) =>
      caller.call(ONCE, sample(at + 1))))
    const busy = results.flatMap((each) =>
      each.status === 'rejected' ? [each.reason as unknown] : [])
    assert.ok(busy.length > 0, 'nobody was refused')
    for (const error of busy) {
      assert.ok(error instanceof Busy, String(error))
      assert.ok(error.retryAfter > 0)
    }
    await caller.close()
    await slow.stop()
  })
})

describe('a server that goes and returns', () => {
  test('calls under way when it is killed are unknown, and the next is unavailable', async () => {
    const echo = await Listening.echo()
    const client = new RpcClient({ url: echo.url })
    await client.call(ECHO, sample(1))
    await echo.pause()
    const calls = Array.from({ length: 50 }, (_, at) => client.call(ECHO, sample(at + 1)))
    await until('the calls to leave', () => new Promise((resolve) => setImmediate(resolve, true)))
    const failures = Promise.all(calls.map((call) => failure(call, Unknown)))
    await echo.stop()
    assert.ok((await failures).every(({ mayHaveHappened }) => mayHaveHappened))
    const gone = await failure(client.call(ECHO, sample(1)), Unavailable)
    assert.equal(gone.mayHaveHappened, false)

    const back = await Listening.echo(['--listen', echo.address])
    await until('the client to reconnect', () => client.connected)
    assert.equal((await client.call(ECHO, sample(9))).id, 9n)
    await client.close()
    await back.stop()
    await failure(client.call(ECHO, sample(1)), Unavailable)
  })

  test('nobody listens: unavailable within the grace, not at the deadline', async () => {
    const [port] = await freePorts(1)
    const client = new RpcClient({ url: `tcp://127.0.0.1:${port}`, deadline: 60_000 })
    await failure(client.call(ECHO, sample(1)), Unavailable)
    // The outage is known: a call does not wait for the grace again.
    const [first] = await Promise.all([1, 2].map((id) =>
      failure(client.call(ECHO, sample(id)), Unavailable)))
    assert.match(first!.message, /ECONNREFUSED/)
    await client.close()
  })
})

describe("RSocket over WebSocket, at the node's services", () => {
  test('a call with a key is answered, one without is forbidden', async () => {
    const list = unary('queue/List', ListRequestSchema, QueueListSchema, { idempotent: true })
    const server = await shared()
    let asked = 0
    const bearer = (): string => {
      asked += 1
      return server.adminKey
    }
    const client = new RpcClient({ url: server.rpcWebSocket, bearer })
    for (let call = 0; call < 2; call += 1) {
      const { queues } = await client.call(list, { queuesMax: 1 })
      assert.equal(queues.length, 1)
    }
    assert.equal(asked, 2)
    await within('the close', client.close())
    const stranger = new RpcClient({ url: server.rpcWebSocket })
    assert.equal((await failure(stranger.call(list, {}), Forbidden)).code, 'NODE-009')
    await stranger.close()
  })
})
