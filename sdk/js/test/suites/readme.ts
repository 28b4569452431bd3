// The samples of README.md, each run as a program.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { Listening, PACKAGE, program, shared, until } from '../server.js'
import { made } from './receipt.js'

const FOLDER = path.join(PACKAGE, 'build/readme')

describe('README.md', () => {
  const samples = new Map<string, string>()
  before(() => {
    fs.mkdirSync(FOLDER, { recursive: true })
    fs.copyFileSync(path.join(PACKAGE, 'build/generated/geo_pb.js'), path.join(FOLDER, 'geo_pb.js'))
    const text = fs.readFileSync(path.join(PACKAGE, 'README.md'), 'utf8')
    const sample = /^## (.*)\n(?:(?!^## )[^])*?^```js\n([^]*?)^```$/gm
    for (const [, title, code] of text.matchAll(sample)) {
      const file = path.join(FOLDER, `${title!.toLowerCase().replaceAll(' ', '-')}.js`)
      fs.writeFileSync(file, code!)
      samples.set(title!, file)
    }
  })
  const run = async (title: string, env: Record<string, string>): Promise<string> => {
    const options = { env: { ...process.env, ...env }, timeout: 60_000 }
    return (await promisify(execFile)(process.execPath, [samples.get(title)!], options)).stdout
  }

  test('a device gets the push of the sample', async () => {
    assert.deepEqual([...samples.keys()], ['A push', 'A device', 'A caller', 'Receipts'])
    const server = await shared()
    const device = spawn(process.execPath, [samples.get('A device')!],
      { env: { ...process.env, STADIUM_MQTT: server.mqtt }, stdio: ['ignore', 'pipe', 'inherit'] })
    const kill = (): void => { device.kill('SIGKILL') }
    process.once('exit', kill)
    try {
      let said = ''
      device.stdout.setEncoding('utf8').on('data', (text: string) => { said += text })
      await until('the device', () => said.includes('connected'))
      const env = { STADIUM_URL: server.url, STADIUM_KEY: server.adminKey }
      assert.equal(await run('A push', env), 'matched: 1\n')
      await until('the push', () => said.includes('push: Doors open at eight'))
    } finally {
      kill()
      process.removeListener('exit', kill)
    }
  })

  test('a caller of a service, under 30 lines', async () => {
    const file = program('STADIUM_GEO', 'geo-service')
    const geo = await Listening.start(file, ['--listen', '127.0.0.1:0'])
    try {
      assert.equal(await run('A caller', { GEO: geo.url }), 'stored: 0\n')
    } finally {
      await geo.stop()
    }
    assert.ok(fs.readFileSync(samples.get('A caller')!, 'utf8').split('\n').length < 30)
  })

  test('a receipt is checked offline', async () => {
    const file = path.join(FOLDER, 'receipt.json')
    fs.writeFileSync(file, JSON.stringify(made.receipt))
    const said = await run('Receipts', { RECEIPT: file, ROOT: made.receipt!.root })
    assert.equal(said, '@bank gave alice 1250 EUR\n')
  })
})
