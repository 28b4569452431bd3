// The package in a real browser: a bundle that makes an HTTP call, a device's connection and an
// RSocket call, in a page of headless Chromium.
//
// The page's own server also passes `/api` on to Stadium, as a reverse proxy of a site does: the
// HTTP API answers pages of its own origin only.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'

import { build } from 'esbuild'

import { PACKAGE, shared, within } from '../server.js'

/** What runs in the page. It posts what it has found to its server. */
const PAGE = `
import { Stadium } from '@stadium/client'
import { Device } from '@stadium/client/device'
import { RpcClient, unary } from '@stadium/client/rpc'
import { ListRequestSchema, QueueListSchema } from './build/generated/stadium/v1/queue_pb.js'

async function run ({ key, mqtt, rpc }) {
  const stadium = new Stadium({ url: location.origin, key })
  let took
  const taken = new Promise((resolve) => { took = resolve })
  const onPush = (push) => took(push.text())
  const device = await Device.connect({ url: mqtt, id: 'page', onPush })
  await stadium.pushes.send({ audience: { device: 'page' }, message: 'from the page' })
  const client = new RpcClient({ url: rpc, bearer: key })
  const List = unary('queue/List', ListRequestSchema, QueueListSchema)
  const { queues } = await client.call(List, { queuesMax: 1 })
  let tcp
  try { new RpcClient({ url: 'tcp://127.0.0.1:1' }) } catch (error) { tcp = error.name }
  const report = { push: await taken, queues: queues.length, tcp }
  await device.close()
  await client.close()
  return report
}

run(await (await fetch('/options')).json())
  .then((report) => report, (error) => ({ failed: String(error.stack ?? error) }))
  .then((report) => fetch('/report', { method: 'POST', body: JSON.stringify(report) }))
`

/** The bundle as a site would make it: for browsers, as one module. */
async function bundle (contents: string): Promise<Uint8Array> {
  const made = await build({
    stdin: { contents, resolveDir: PACKAGE, loader: 'js' },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'silent'
  })
  return made.outputFiles[0]!.contents
}

describe('in a browser', () => {
  test('a bundle of one part carries nothing of the others', async () => {
    const http = await bundle("import { Stadium } from '@stadium/client'; window.s = Stadium")
    assert.ok(http.length < 40_000, `the HTTP client has ${http.length} bytes`)
    const text = new TextDecoder().decode(http)
    assert.ok(!text.includes('CONNACK') && !text.includes('rsocket'))
    const rpc = new TextDecoder().decode(await bundle(
      "import { RpcClient } from '@stadium/client/rpc'; window.c = RpcClient"))
    assert.ok(!rpc.includes('node:net') && !rpc.includes('/api/'))
  })

  test('a page makes an HTTP call, takes a push, and calls a service', async () => {
    const server = await shared()
    const script = await bundle(PAGE)
    let report = (_found: string): void => {}
    const reported = new Promise<string>((resolve) => { report = resolve })
    const options = { key: server.adminKey, mqtt: server.mqtt, rpc: server.rpcWebSocket }
    const site = http.createServer((request, response) => {
      const { url = '/', method, headers } = request
      if (url.startsWith('/api/')) {
        const onward = http.request(server.url + url, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode!, answer.headers)
          answer.pipe(response)
        })
        request.pipe(onward)
      } else if (url === '/report') {
        request.setEncoding('utf8').on('data', report).on('end', () => response.end())
      } else if (url === '/options') {
        response.end(JSON.stringify(options))
      } else if (url === '/page.js') {
        response.setHeader('content-type', 'text/javascript').end(script)
      } else {
        response.setHeader('content-type', 'text/html')
        response.end('<!doctype html><script type=module src=/page.js></script>')
      }
    })
    await once(site.listen(0, '127.0.0.1'), 'listening')
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-chromium-'))
    const page = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`
    const chromium = spawn('chromium', [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--no-first-run',
      '--remote-debugging-port=0', `--user-data-dir=${profile}`, page
    ], { stdio: 'ignore', detached: true })
    const kill = (): void => {
      // Its children are of its process group.
      try { process.kill(-chromium.pid!, 'SIGKILL') } catch {}
    }
    process.once('exit', kill)
    const ended = once(chromium, 'exit')
    try {
      const found = JSON.parse(await within("the page's report", reported)) as object
      assert.deepEqual(found, { push: 'from the page', queues: 1, tcp: 'TypeError' })
    } finally {
      kill()
      await ended
      process.removeListener('exit', kill)
      site.closeAllConnections()
      site.close()
      fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    }
  })
})
