// A headless Chromium, driven over its debugging protocol: opens pages at a width and a theme, evaluates, presses keys.
//
// The browser and its profile are gone once `stop` has run. It complains about what the page complains about.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

import WebSocket from 'ws'

import { PATIENCE_MS, until, within } from './server.js'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--hide-scrollbars', '--remote-debugging-port=0'
]

export class Browser {
  static async start () {
    if (!fs.existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is not there: install the Debian package \`chromium\` (apt-get install chromium)`)
    const browser = new Browser()
    browser.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-chromium-'))
    // A process group of its own: Chromium is several processes.
    browser.child = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${browser.profile}`, 'about:blank'], { stdio: 'ignore', detached: true })
    const file = path.join(browser.profile, 'DevToolsActivePort')
    const [port, place] = await until('chromium to open its debugging port', () => {
      const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : []
      return lines[1] && lines
    })
    browser.socket = new WebSocket(`ws://127.0.0.1:${port}${place}`, { perMessageDeflate: false })
    await within('the debugging port', once(browser.socket, 'open'))
    browser.asked = new Map()
    browser.complaints = []
    browser.ids = 0
    browser.socket.on('message', (data) => browser.#came(JSON.parse(data)))
    return browser
  }

  #came (message) {
    const waiting = this.asked.get(message.id)
    if (waiting) {
      this.asked.delete(message.id)
      return waiting(message)
    }
    const { method, params } = message
    const complains = method === 'Runtime.exceptionThrown' || (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) ||
      (method === 'Log.entryAdded' && params.entry.level === 'error')
    if (complains) this.complaints.push(JSON.stringify(params))
  }

  async #ask (method, params = {}) {
    this.ids += 1
    const id = this.ids
    const answer = new Promise((resolve) => this.asked.set(id, resolve))
    this.socket.send(JSON.stringify({ id, method, params, ...(this.session ? { sessionId: this.session } : {}) }))
    return within(method, answer)
  }

  async #call (method, params) {
    const answer = await this.#ask(method, params)
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }

  /** Opens a page in a tab of its own; the tab before is closed. */
  async open (url, look) {
    const before = this.target
    this.session = undefined
    this.target = (await this.#call('Target.createTarget', { url: 'about:blank' })).targetId
    if (before) await this.#call('Target.closeTarget', { targetId: before })
    const { sessionId } = await this.#call('Target.attachToTarget', { targetId: this.target, flatten: true })
    this.session = sessionId
    for (const domain of ['Page', 'Runtime', 'Log']) await this.#call(`${domain}.enable`)
    await this.look(look)
    // Keys go to the tab in front alone.
    await this.#call('Page.bringToFront')
    await this.#call('Page.navigate', { url })
  }

  /** Changes how the open page is looked at. */
  async look ({ width, height = 900, scheme }) {
    await this.#call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 })
    await this.#call('Emulation.setEmulatedMedia', { features: [
      { name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }
    ] })
  }

  /** The value of an expression in the page. */
  async evaluate (expression) {
    const { result, exceptionDetails } = await this.#call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
    return result.value
  }

  /** Waits until an expression is true. One that fails, since the page is not there yet, is not true. */
  async until (expression) {
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      const answer = await this.#ask('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })
      if (answer.result?.result?.value === true) return
      if (Date.now() > deadline) {
        const text = await this.evaluate('`${location}\\n${document.body.innerText.slice(0, 2000)}`').catch(String)
        throw new Error(`waited ${PATIENCE_MS} ms for ${expression}\n${text}\n${this.complaints.join('\n')}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** Presses keys as a person does, one after the other. */
  async press (...keys) {
    for (const key of keys) {
      const [modifiers, name] = key.startsWith('Ctrl+') ? [2, key.slice(5)] : [0, key]
      const isText = [...name].length === 1 && !modifiers
      const code = { Enter: 13, Escape: 27, Tab: 9, ArrowDown: 40, ArrowUp: 38 }[name]
      const press = { key: name, modifiers, ...(code ? { windowsVirtualKeyCode: code } : {}), ...(isText ? { text: name } : name === 'Enter' ? { text: '\r' } : {}) }
      await this.#call('Input.dispatchKeyEvent', { type: 'keyDown', ...press })
      await this.#call('Input.dispatchKeyEvent', { type: 'keyUp', key: name, modifiers })
    }
  }

  /** Writes a picture of the page as it is seen, or of all of it. */
  async picture (file, whole = false) {
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: whole })
    fs.writeFileSync(file, Buffer.from(data, 'base64'))
  }

  async stop () {
    this.socket?.close()
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit')
      process.kill(-this.child.pid, 'SIGKILL')
      await ended
    }
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
