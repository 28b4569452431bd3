// The console in a headless Chromium against the built binary, with real devices: every page, and the things that people do there.
//
// The pages are walked first, as they are filled; the tests behind change what is there.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'

import { DESKTOP, examined } from './axe.js'
import { Browser } from './browser.js'
import { Api, LONG, MARKUP, fill } from './console_scene.js'
import { Device, Server, until } from './server.js'

const BACKGROUND = { dark: 'rgb(7, 11, 18)', light: 'rgb(243, 245, 248)' }

describe('the console', () => {
  let server, api, browser, scene
  const made = async (what, promise) => { what.push(await promise); return what.at(-1) }
  const stops = []
  before(async () => {
    server = await made(stops, Server.start())
    api = Api.of(server)
    scene = await fill(api, server.url('mqtt'))
    browser = await made(stops, Browser.start())
  })
  after(async () => {
    for (const device of scene?.connected ?? []) device.client.end(true)
    for (const one of stops.reverse()) await one.stop()
  })

  const open = (where, key = api.key, look = DESKTOP) => browser.open(`${api.base}${where}#key=${key}`, look)
  const ready = () => browser.until("document.getElementById('state').dataset.state === 'ready'")
  const click = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
  const text = (selector) => browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`)
  const shows = (selector, part) => browser.until(`document.querySelector(${JSON.stringify(selector)})?.textContent.includes(${JSON.stringify(part)}) === true`)
  const rows = (id, n) => browser.until(`document.querySelectorAll('#${id} tr').length === ${n}`)
  // The script of a page has set the state in its header once it listens.
  const type = async (id, value) => {
    await browser.until("document.getElementById('state')?.dataset.state !== 'connecting'")
    await browser.evaluate(`(() => { const field = document.getElementById('${id}'); field.value = ${JSON.stringify(value)};
    field.dispatchEvent(new Event('input', { bubbles: true })); field.dispatchEvent(new Event('change', { bubbles: true })) })()`)
  }
  /** Answers the dialog that asks back, after the name is typed where it asks for one. */
  const confirm = async (name) => {
    await browser.until("document.getElementById('confirm').open")
    if (name !== undefined) {
      assert.equal(await browser.evaluate("document.getElementById('confirm-yes').disabled"), true, 'the name has to be typed first')
      await type('confirm-name', name)
    }
    await click('#confirm-yes')
  }
  const complains = (known = []) => {
    const complaints = browser.complaints.splice(0).filter((one) => !known.some((part) => one.includes(part)))
    assert.deepEqual(complaints, [])
  }

  /** The open page has no finding of axe, and fits, at each width and in each theme. */
  const looked = (what) => examined(browser, what, {
    wears: ({ scheme }) => `getComputedStyle(document.documentElement).backgroundColor === '${BACKGROUND[scheme]}'`,
    // Cells cut their text off; everything else stays within its card and the page.
    fits: async ({ width }) => {
      const outside = await browser.evaluate(`[...document.querySelectorAll('main *, header *, dialog[open] *')].filter((one) => !one.closest('.off, .scroll, pre, .skip') &&
        !one.parentElement.closest('th, td') && one.getBoundingClientRect().right > Math.min(${width}, one.closest('.card')?.getBoundingClientRect().right ?? Infinity) + 1)
        .map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)`)
      assert.deepEqual(outside, [], `${what} at ${width}: something stands out`)
    }
  })

  describe('every page is without a finding of axe, fits, and shows hostile names as text', () => {
    const pages = [
      ['/live', "document.querySelectorAll('.loop').length > 0"], ['/history', "document.querySelectorAll('#charts .card').length === 8"],
      ['/pushes', "document.querySelectorAll('#push-rows tr').length === 6"], [() => `/pushes/${scene.first}`, "document.querySelectorAll('#delivery-rows tr').length === 10"],
      ['/compose', "document.querySelectorAll('#saved option').length === 3"], ['/devices', "document.querySelectorAll('#device-rows tr').length === 25"],
      ['/devices/phone-01', "document.querySelectorAll('#newest-rows tr').length > 0"], [() => `/devices/${LONG}`, "document.querySelectorAll('#newest-rows tr').length > 0"],
      ['/audiences', "document.querySelectorAll('#audience-rows tr').length === 2"], ['/schedules', "document.querySelectorAll('#schedule-rows tr').length === 1"],
      ['/settings', "document.querySelectorAll('#feed-rows tr').length === 2"], ['/queues', "document.querySelectorAll('#queue-rows tr').length > 0"],
      ['/queues/mails', "document.querySelectorAll('#job-rows tr').length === 25"], ['/wallets', 'true'], ['/wallets/ada', 'true'],
      ['/nodes', "document.querySelectorAll('#shard-rows tr').length > 0"], ['/cluster', "!document.getElementById('alone').hidden"],
      ['/sessions', "document.querySelectorAll('#session-rows tr').length === 3"], ['/retained', "document.querySelectorAll('#retained-rows tr').length === 2"],
      ['/services', "document.querySelectorAll('#method-rows tr').length > 0"], ['/configuration', "document.querySelectorAll('#setting-rows tr').length > 100"],
      ['/keys', "document.querySelectorAll('#key-rows tr').length === 3"], ['/audit', "document.querySelectorAll('#audit-rows tr').length > 10"],
      ['/docs', "document.querySelectorAll('.operation').length > 90"]
    ]
    for (const [where, there] of pages) {
      test(typeof where === 'string' ? where : String(where).slice(7, -1), async () => {
        const at = typeof where === 'string' ? where : where()
        await open(at)
        await browser.until(`['ready', 'starting', 'lost'].includes(document.getElementById('state').dataset.state) && (${there})`)
        await looked(at)
        assert.equal(await browser.evaluate("document.getElementById('injected')"), null, 'text stays text')
        assert.notEqual(await browser.evaluate('document.title'), 'injected')
        complains()
      })
    }
  })

  test('dialogs and the log-in are without a finding of axe and fit, too', async () => {
    const dialogs = [
      ['/devices', "document.getElementById('help-open').click()", 'help'], ['/devices', "document.getElementById('go-open').click()", 'go'],
      [`/devices/${LONG}`, "document.getElementById('forget').click()", 'confirm'], ['/sessions', "document.querySelector('#session-rows .open').click()", 'session'],
      ['/queues/mails', "document.querySelector('#job-rows .open').click()", 'job']
    ]
    for (const [where, opens, id] of dialogs) {
      await open(where)
      await ready()
      await browser.until(`(() => { ${opens}; return true })()`)
      await browser.until(`document.getElementById('${id}').open`)
      await looked(`the dialog ${id}`)
    }
    await browser.open(`${api.base}/keys`, DESKTOP)
    await browser.until("!document.getElementById('login').hidden")
    await looked('the log-in')
    complains(['status of 401'])
  })

  test('keys search, go to pages, and list themselves', async () => {
    await open('/devices')
    await ready()
    await browser.press('/')
    await browser.until("document.activeElement.id === 'search'")
    await browser.press('?', 'Escape')
    assert.equal(await browser.evaluate("document.getElementById('help').open"), false, 'a field has the focus')
    await browser.press('?')
    await browser.until("document.getElementById('help').open")
    await browser.press('Escape')
    await browser.until("!document.getElementById('help').open")
    await browser.press('g', 'q')
    await browser.until("location.pathname === '/queues'")
    await ready()
    await browser.press('g', 'd')
    await browser.until("location.pathname === '/devices'")
    await ready()
    await browser.press('Ctrl+k')
    await browser.until("document.getElementById('go').open")
    await browser.press(...'audit', 'Enter')
    await browser.until("location.pathname === '/audit'")
    await ready()
    await browser.press('Ctrl+k')
    await browser.until("document.getElementById('go').open")
    await browser.press(...'phone-04', 'Enter')
    await browser.until("location.pathname === '/devices/phone-04'")
    complains()
  })

  test('where there is no page a person gets one, and a program a problem', async () => {
    const person = await fetch(`${api.base}/nowhere`, { headers: { accept: 'text/html,*/*' } })
    assert.equal(person.status, 404)
    assert.match(person.headers.get('content-type'), /text\/html/)
    assert.match(person.headers.get('content-security-policy'), /default-src 'none'/)
    for (const [where, accept] of [['/nowhere', '*/*'], ['/api/nowhere', 'text/html']]) {
      const program = await fetch(api.base + where, { headers: { accept } })
      assert.equal((await program.json()).code, 'HTTP-008')
    }
    await browser.open(`${api.base}/<b id=injected>`, DESKTOP)
    await shows('#path', '/<b id=injected>')
    await browser.press('/')
    await browser.until("document.getElementById('go').open")
    assert.equal(await browser.evaluate("document.getElementById('injected')"), null)
    complains(['status of 404'])
  })

  test('what was begun without a key goes on after the log-in', async () => {
    const { key, secret } = await api.post('/api/keys', { name: 'short', roles: ['admin'] })
    await open('/devices/phone-20', secret)
    await shows('#status', 'Away')
    await api.ask('DELETE', `/api/keys/${key.id}`)
    await click('#revoke')
    await browser.until("!document.getElementById('login-then').hidden")
    assert.match(await text('#login-then'), /POST \/api\/apps\/default\/devices\/phone-20\/revoke/)
    assert.equal((await api.get('/api/apps/default/devices/phone-20')).revoked, false)
    await type('key', api.key)
    await click('#login button')
    await shows('#status', 'Revoked')
    assert.equal((await api.get('/api/apps/default/devices/phone-20')).revoked, true)
    complains(['status of 401'])
  })

  test('pushes are found by title and state, wait for devices, and say why beside a row', async () => {
    await open('/pushes')
    await rows('push-rows', 6)
    await shows('#push-rows', 'Waiting for devices')
    await type('search', 'DOORS')
    await rows('push-rows', 1)
    assert.match(await browser.evaluate('location.search'), /search=DOORS/)
    await shows('#push-rows', 'Waiting for devices')
    await type('search', '')
    await type('filter-status', 'scheduled')
    await rows('push-rows', 1)
    await shows('#push-rows', 'Tomorrow')
    await open(`/pushes/${scene.first}`)
    await rows('delivery-rows', 10)
    const device = await text('#delivery-rows th')
    await click('#delivery-rows button')
    await shows('#delivery-rows tr:nth-child(2).reason', device)
    await click('#delivery-on')
    await shows('#delivery-says', 'Page 2')
    await click('#delivery-back')
    await shows('#delivery-says', 'Page 1')
    await click('#cancel')
    await browser.until("document.getElementById('confirm').open")
    await click('#confirm [value=no]')
    assert.equal((await api.get(`/api/apps/default/pushes/${scene.first}`)).status, 'sending', 'no means no')
    complains()
  })

  test('devices are found by any part, paged both ways, and changed together', async () => {
    await open('/devices')
    await rows('device-rows', 25)
    const first = await text('#device-rows th')
    await click('#on')
    await shows('#page-says', 'Page 2')
    await click('#back')
    await shows('#page-says', 'Page 1')
    await browser.until(`document.querySelector('#device-rows th').textContent === ${JSON.stringify(first)}`)
    await type('search', 'ADA 1')
    await rows('device-rows', 11)
    await type('search', 'user-55')
    await rows('device-rows', 1)
    await type('search', 'one-2')
    await rows('device-rows', 10)
    await type('filter-state', 'revoked')
    await rows('device-rows', 1)
    await type('filter-state', '')
    await rows('device-rows', 10)
    await click('#pick-all')
    await shows('#bulk-count', '10 devices chosen')
    await type('bulk-tag', 'picked')
    await click('#bulk-add')
    await until('the tag to be there', async () => (await api.get('/api/apps/default/devices?search=picked')).devices.length === 10)
    await click('#bulk-none')
    await type('search', 'phone-29')
    await rows('device-rows', 1)
    await click('#pick-all')
    await click('#bulk-forget')
    await confirm('1 device')
    await rows('device-rows', 0)
    assert.equal((await api.get('/api/apps/default/devices?search=phone-29')).devices.length, 0)
    complains()
  })

  test('clauses and JSON of an audience follow each other', async () => {
    await open('/audiences')
    await browser.until("document.querySelectorAll('#builder select.which').length === 2")
    const selector = { or: [{ not: { attribute: 'score', at_least: 10 } }, { and: [{ tag: MARKUP.slice(0, 64) }, { location: { latitude: 1, longitude: 2, radius_m: 3 } }] }, { last_seen: { within_s: 172_800 } }] }
    await type('selector', JSON.stringify(selector))
    await browser.until("document.querySelectorAll('#builder select.which').length === 3 && document.querySelectorAll('#builder .raw').length === 1")
    assert.equal(await browser.evaluate("document.getElementById('injected')"), null)
    // A change of one field changes that alone.
    await browser.evaluate("(() => { const field = document.querySelector('#builder [aria-label=Days]'); field.value = '3'; field.dispatchEvent(new Event('input')) })()")
    selector.or[2].last_seen.within_s = 259_200
    assert.deepEqual(JSON.parse(await browser.evaluate("document.getElementById('selector').value")), selector)
    await type('selector', '"all"')
    await browser.until("document.querySelectorAll('#builder select.which').length === 0")
    await browser.evaluate("[...document.querySelectorAll('#builder button')].find((one) => one.textContent === '+ Clause').click()")
    await browser.evaluate("(() => { const field = document.querySelector('#builder input'); field.value = 'loyalty:gold'; field.dispatchEvent(new Event('input')) })()")
    assert.deepEqual(JSON.parse(await browser.evaluate("document.getElementById('selector').value")), { tag: 'loyalty:gold' })
    const { reached } = await api.post('/api/apps/default/audiences/preview', { audience: { tag: 'loyalty:gold' } })
    await browser.until(`document.querySelector('[data-figure=Reached]')?.textContent === '${reached}'`)
    complains()
  })

  test('a push is shown with the texts that a device would get', async () => {
    await open('/compose')
    await ready()
    await type('title', 'Hello {{first_name}}, {{device}}')
    await type('body', '{{nickname|fan}} of {{score}}')
    await type('as-device', 'phone-03')
    await shows('#shown-title', 'Hello Ada 3, phone-03')
    await browser.until("document.getElementById('shown-body').textContent === 'fan of 3'")
    await type('title', 'Hello {{nickname}}')
    await shows('#rendered-note', 'it lacks a value for nickname')
    complains()
  })

  test('a key is made with its secret shown once, and revoked after its name is typed', async () => {
    await open('/keys')
    await rows('key-rows', 3)
    await type('name', MARKUP.slice(0, 50))
    await click('#roles [value=viewer]')
    await browser.evaluate("document.getElementById('new').requestSubmit()")
    await browser.until("document.getElementById('secret').open")
    const secret = await text('#secret-text')
    assert.equal((await fetch(`${api.base}/api/node`, { headers: { authorization: `Bearer ${secret}` } })).status, 200)
    await click('#secret [value=done]')
    await browser.until("document.getElementById('secret-text').textContent === ''")
    await rows('key-rows', 4)
    await click('#key-rows tr:last-child .danger')
    await browser.until("document.getElementById('confirm').open")
    await browser.evaluate("document.getElementById('confirm-name').focus()")
    await browser.press('Enter')
    assert.equal(await browser.evaluate("document.getElementById('confirm').open"), true, 'Enter alone confirms nothing')
    await type('confirm-name', MARKUP.slice(0, 50))
    await browser.press('Enter')
    await rows('key-rows', 3)
    assert.equal((await fetch(`${api.base}/api/node`, { headers: { authorization: `Bearer ${secret}` } })).status, 401)
    await open('/audit')
    await type('search', 'delete /api/keys')
    await rows('audit-rows', 2)
    complains()
  })

  test('retained messages are removed after their filter is typed, and a connection is cut after a question', async () => {
    await open('/retained')
    await rows('retained-rows', 2)
    await type('search', 'notes/#/x')
    await shows('#wrong', '#')
    await type('search', 'notes/+')
    await rows('retained-rows', 2)
    await browser.until("!document.getElementById('remove').disabled")
    await click('#remove')
    await confirm('notes/+')
    await rows('retained-rows', 0)
    await open('/sessions')
    await rows('session-rows', 3)
    await type('search', 'HONE-03')
    await rows('session-rows', 1)
    await click('#session-rows .open')
    await rows('subscription-rows', 2)
    await click('#session-close')
    await click('#session-rows .danger')
    await confirm()
    await shows('#session-rows', 'Away')
    const seats = await Promise.all(Array.from({ length: 52 }, (_, n) => Device.connect(server.url('mqtt'), { clientId: `seat-${n + 10}`, protocolVersion: 5 })))
    await type('search', 'eat-')
    await rows('session-rows', 50)
    await click('#on')
    await rows('session-rows', 2)
    await shows('#session-rows', 'seat-61')
    await click('#back')
    await rows('session-rows', 50)
    assert.equal(await browser.evaluate('location.search'), '?search=eat-')
    for (const seat of seats) seat.client.end(true)
    complains(['status of 400'])
  })

  test('the reference is searched, and an operation tried', async () => {
    await open('/docs')
    await ready()
    await type('search', 'get /api/node')
    await browser.until("[...document.querySelectorAll('.operation')].filter((one) => !one.hidden).length === 1")
    await browser.evaluate("location.hash = '#node'")
    await browser.until("document.querySelector('#node .try') !== null")
    await browser.evaluate("document.querySelector('#node .try').requestSubmit()")
    await shows('#node .try .answer', '"version"')
    await type('search', 'explain_key no such')
    await browser.until("!document.getElementById('none').hidden")
    complains()
  })

  test('the server understands each example of the reference', async () => {
    await open('/docs')
    await ready()
    const examples = await browser.evaluate(`[...document.querySelectorAll('.operation')].map((one) => [one.dataset.method.toUpperCase(),
      one.querySelector('pre.example').textContent.match(/STADIUM_URL([^"]*)"/)[1], one.querySelector('pre.example').textContent.match(/-d '([^]*)'$/)?.[1]])`)
    const sent = examples.filter(([,, body]) => body)
    assert.ok(sent.length > 40, `${sent.length}`)
    for (const [method, where, body] of sent) {
      const answer = await fetch(api.base + where, {
        method, headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' }, body: body.replaceAll("'\\''", "'"), signal: AbortSignal.timeout(20_000)
      })
      const code = answer.ok ? '' : (await answer.json()).code
      // Names may be unknown; their spelling is right.
      assert.ok(!['HTTP-004', 'HTTP-005', 'HTTP-006', 'HTTP-017'].includes(code), `${method} ${where} ${body}: ${code}`)
    }
  })

  test('the history has points of the last minutes', async () => {
    await open('/history')
    await shows('#says', 'a point every 10 s')
    const { points, step_s: step } = await api.get('/api/history?span=hour')
    assert.equal(step, 10)
    assert.ok(points.length >= 1 && points[0].connected > 0, JSON.stringify(points))
    await click('[data-span=day]')
    await browser.until("location.search === '?span=day'")
    complains()
  })
})
