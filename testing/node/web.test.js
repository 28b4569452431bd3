// examples/web in a real browser: the page publishes with fetch, and reads with an EventSource, from another origin.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'

import WebSocket from 'ws'

import { Device, Server, until, within } from './server.js'

const PAGE = path.resolve(import.meta.dirname, '../../examples/web/index.html')

/** A headless Chromium with one page, by its debugging protocol. */
class Browser {
  static async start () {
    const browser = new Browser()
    browser.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-chromium-'))
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync', '--disable-background-networking']
    const where = ['--remote-debugging-port=0', `--user-data-dir=${browser.profile}`, 'about:blank']
    browser.child = spawn('/usr/bin/chromium', [...flags, ...where], { stdio: 'ignore', detached: true })
    browser.child.on('error', (error) => { throw new Error(`${error}; install the Debian package chromium`) })
    // The browser's processes end with the test's, however that ends.
    browser.end = () => { try { process.kill(-browser.child.pid, 'SIGKILL') } catch {} }
    process.once('exit', browser.end)
    const file = path.join(browser.profile, 'DevToolsActivePort')
    const port = await until('the debugging port', () => fs.existsSync(file) && fs.readFileSync(file, 'utf8').split('\n')[0])
    const pages = await (await fetch(`http://127.0.0.1:${port}/json`)).json()
    browser.socket = new WebSocket(pages.find(({ type }) => type === 'page').webSocketDebuggerUrl)
    await once(browser.socket, 'open')
    browser.last = 0
    return browser
  }

  async call (method, params) {
    const id = ++this.last
    this.socket.send(JSON.stringify({ id, method, params }))
    const answered = (async () => {
      for (;;) {
        const [text] = await once(this.socket, 'message')
        const message = JSON.parse(text)
        if (message.id === id) return message.result
      }
    })()
    return within(method, answered)
  }

  async open (url) {
    await this.call('Page.navigate', { url })
    await until(url, async () => await this.see('document.readyState') === 'complete' && await this.see('location.href') === url)
  }

  /** The value of an expression in the page. */
  async see (expression) {
    const { result, exceptionDetails } = await this.call('Runtime.evaluate', { expression, returnByValue: true })
    assert.equal(exceptionDetails, undefined, expression)
    return result.value
  }

  async stop () {
    this.socket.close()
    const ended = once(this.child, 'exit')
    this.end()
    await ended
    process.removeListener('exit', this.end)
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 10 })
  }
}

describe('examples/web', () => {
  let server, files, browser, origin
  const shown = () => browser.see('[...document.querySelectorAll("li")].map((each) => each.textContent)')
  const state = () => browser.see('document.getElementById("state").textContent')
  const submit = (form, values) => browser.see(`
    for (const [id, value] of Object.entries(${JSON.stringify(values)})) document.getElementById(id).value = value
    document.getElementById('${form}').requestSubmit()`)

  before(async () => {
    files = http.createServer((request, answer) => answer.setHeader('Content-Type', 'text/html').end(fs.readFileSync(PAGE)))
    files.listen(0, '127.0.0.1')
    await once(files, 'listening')
    origin = `http://127.0.0.1:${files.address().port}`
    server = await Server.start({ settings: `[http]\ncors_origins = ["${origin}"]\n` })
    browser = await Browser.start()
  })
  after(async () => {
    await browser?.stop()
    await server?.stop()
    files?.close()
    files?.closeAllConnections()
  })

  const login = async (host) => {
    const key = fs.readFileSync(path.join(server.folder, 'data/admin.key'), 'utf8').trim()
    await browser.open(`${host}/`)
    await submit('login', { server: `http://127.0.0.1:${server.http}`, key })
  }

  test('a page of a named origin publishes and reads', async () => {
    await login(origin)
    await until('the stream', async () => await state() === 'open')
    await submit('say', { text: 'hello from the page' })
    await until('its own message', async () => (await shown()).includes('chat/lobby: hello from the page'))
    const phone = await Device.connect(server.url('mqtt'))
    await phone.publish('chat/phone', 'and from a phone', { qos: 1 })
    await until('the message of a device', async () => (await shown()).includes('chat/phone: and from a phone'))
    assert.equal((await shown()).length, 2)
    await phone.end()
  })

  test('a page of another origin gets nothing', async () => {
    await login(origin.replace('127.0.0.1', 'localhost'))
    await until('the refusal', async () => (await state()).includes('Failed to fetch'))
    assert.deepEqual(await shown(), [])
  })
})
