// The data of the console's suite: devices, pushes, queues, wallets, keys and feeds with hostile names.
//
// A hostile name closes attributes and elements, turns the direction of text, or is as long as it may be. A page that sets text
// as text shows it as it is; one that does not has an element with the id `injected`.

import fs from 'node:fs'
import path from 'node:path'

import { Device, until } from './server.js'

export const MARKUP = '<script id=injected>document.title="injected"</script>'
export const RTL = '\u202Eesrever\u202C "quoted" \'single\' &amp; <b id=injected>'
export const LONG = 'long-'.padEnd(128, 'x')

/** A server's API, as the admin of its data directory. */
export class Api {
  constructor (base, key) {
    Object.assign(this, { base, key })
  }

  static of (server) {
    return new Api(`http://127.0.0.1:${server.http}`, fs.readFileSync(path.join(server.folder, 'data/admin.key'), 'utf8').trim())
  }

  async ask (method, where, body) {
    const answer = await fetch(this.base + where, {
      method, headers: { authorization: `Bearer ${this.key}`, ...(body ? { 'content-type': 'application/json' } : {}) }, body: body && JSON.stringify(body)
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${where}: ${answer.status} ${text}`)
    return text ? JSON.parse(text) : null
  }

  get (where) { return this.ask('GET', where) }
  post (where, body = {}) { return this.ask('POST', where, body) }
  put (where, body = {}) { return this.ask('PUT', where, body) }
}

/** Fills a server. Returns the pushes' ids and the connected devices. */
export async function fill (api, mqttUrl) {
  const push = (body) => api.post('/api/apps/default/pushes', body)
  const devices = Array.from({ length: 60 }, (_, n) => ({
    device: `phone-${String(n).padStart(2, '0')}`, platform: n % 3 ? 'ios' : 'android', app_version: '2.3.1', language: n % 2 ? 'de' : 'en',
    named_user: n % 5 ? undefined : `user-${n}`, tags: n % 2 ? ['vip', 'loyalty:gold'] : [], attributes: { first_name: `Ada ${n}`, score: n }
  }))
  devices.push({ device: RTL.replaceAll('/', ''), tags: [MARKUP.replaceAll('/', '')], named_user: MARKUP.slice(0, 128), attributes: { bio: MARKUP } })
  devices.push({ device: LONG, tags: ['t'.repeat(128)], attributes: { bio: 'y'.repeat(512) } })
  await api.post('/api/apps/default/devices', { devices })
  const connected = await Promise.all([1, 2, 3].map((n) => Device.connect(mqttUrl, { clientId: `phone-0${n}`, protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 3600 } })))
  await Promise.all(connected.map((device, n) => device.subscribe([`inbox/phone-0${n + 1}`, 'channels/news'])))
  await connected[0].publish(`notes/${'z'.repeat(200)}`, 'kept', { qos: 1, retain: true })
  await connected[0].publish('notes/<b id=injected>', 'kept', { qos: 1, retain: true })
  await api.put('/api/apps/default/audiences/vips', { audience: { tag: 'vip' } })
  await api.put('/api/apps/default/audiences/hostile', { audience: { or: [{ tag: MARKUP.slice(0, 128) }, { attribute: 'bio', contains: RTL }] } })
  const first = await push({ audience: { tag: 'vip' }, notification: { title: 'Doors open', body: 'At eight' } })
  await push({ audience: 'all', notification: { title: MARKUP, body: RTL }, options: { collapse_key: RTL.slice(0, 64) } })
  await push({ audience: 'all', notification: { title: 'w'.repeat(256) } })
  await push({ audience: { devices: ['phone-01', 'phone-02'] }, notification: { title: 'Reached' } })
  await push({ audience: 'all', notification: { title: 'Tomorrow' }, when: { at: new Date(Date.now() + 86_400_000).toISOString() } })
  await push({ live: true, audience: { channel: 'news' }, message: 'goal' })
  await until('the first push to be owed', async () => (await api.get(`/api/apps/default/pushes/${first.id}`)).counts.owed > 0)
  await api.put('/api/apps/default/schedules/morning', { cron: '0 9 * * *', time_zone: 'Europe/Berlin', push: { audience: 'all', notification: { title: RTL } } })
  const jobs = Array.from({ length: 30 }, (_, n) => ({ payload: { to: MARKUP, n }, key: n % 7 ? `k${n % 4}` : RTL }))
  await api.post('/api/queues/mails/jobs', { jobs })
  const { jobs: [job] } = await api.post('/api/queues/mails/reserve', { max: 1, worker: RTL, lease_ms: 600_000 })
  await api.post(`/api/leases/${job.lease}/bury`, { reason: MARKUP })
  await api.put('/api/assets/VOTE', { scale: 0 })
  await api.post('/api/wallets', { accounts: [{ wallet: '@shop', asset: 'VOTE' }, { wallet: 'ada', asset: 'VOTE' }] })
  await api.post('/api/transfers', { id: '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', debit: '@shop', credit: 'ada', asset: 'VOTE', amount: '12', reference: MARKUP.slice(0, 64) })
  const key = await api.post('/api/keys', { name: RTL.slice(0, 64), roles: ['viewer'], grants: ['queue.put:votes*'] })
  await api.post('/api/keys', { name: MARKUP.slice(0, 64), roles: ['sender'], apps: ['default'] })
  await api.put('/api/apps/default', {
    feeds: [{ name: 'crm', kinds: ['delivered', 'opened'], webhook: { url: 'http://127.0.0.1:9/%3Cscript%3E', secret: `whsec_${Buffer.alloc(32).toString('base64')}` } }, { name: 'up', kinds: ['message'], topics: ['up/<b id=injected>/#'] }]
  })
  return { first: first.id, key: key.key, connected }
}
