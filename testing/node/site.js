// The documentation's site in a headless Chromium: a page of each kind, and its search.
// `cargo xtask test site` builds the site first.
//
// STADIUM_SITE names its folder; without it target/site is used. Links and parts from elsewhere are
// xtask's business (docs/built.rs).

import assert from 'node:assert/strict'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'

import { examined } from './axe.js'
import { Browser } from './browser.js'

const SITE = path.resolve(process.env.STADIUM_SITE ?? path.join(import.meta.dirname, '../../target/site'))
const KINDS = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml', '.png': 'image/png' }

/** The site on a port of its own, as a web server has it. */
async function serve () {
  assert.ok(fs.existsSync(path.join(SITE, 'index.html')), `${SITE} has no site: cargo xtask docs`)
  const server = http.createServer((request, response) => {
    const asked = path.join(SITE, decodeURIComponent(new URL(request.url, 'http://site').pathname))
    const file = asked.endsWith('/') ? path.join(asked, 'index.html') : asked
    const is = fs.existsSync(file) && fs.statSync(file).isFile()
    response.writeHead(is ? 200 : 404, { 'content-type': KINDS[is ? path.extname(file) : '.html'] ?? 'application/octet-stream' })
    response.end(fs.readFileSync(is ? file : path.join(SITE, '404.html')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** The theme has dressed the page. */
const wears = ({ scheme }) => `document.body.dataset.mdColorScheme === '${scheme === 'dark' ? 'slate' : 'default'}'`

/** Nothing stands out of the page, but within what scrolls. */
const fitsIn = (browser, what) => async ({ width }) => {
  const outside = await browser.evaluate(`[...document.querySelectorAll('.md-content *, .md-header *')].filter((one) => one.checkVisibility() &&
    !one.closest('pre, .md-typeset__scrollwrap, .md-search, svg') && one.getBoundingClientRect().right > ${width} + 1).map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)`)
  assert.deepEqual(outside, [], `${what} at ${width}: something stands out`)
}

describe('the site', () => {
  let server, browser, base
  before(async () => {
    server = await serve()
    base = `http://127.0.0.1:${server.address().port}`
    browser = await Browser.start()
  })
  after(async () => {
    await browser?.stop()
    server?.close()
    server?.closeAllConnections()
  })

  const open = async (where) => {
    await browser.open(base + where, { width: 1400, scheme: 'dark' })
    await browser.until("document.readyState === 'complete' && document.querySelector('.md-content h1') !== null")
  }
  const complains = (known = []) => {
    const complaints = browser.complaints.splice(0).filter((one) => !known.some((part) => one.includes(part)))
    assert.deepEqual(complaints, [])
  }

  describe('a page of each kind is without a finding of axe and fits', () => {
    const pages = {
      'the front page, with tables of links': '/',
      'what Stadium is, with pictures': '/stadium/',
      'a quickstart, with code': '/quickstart/typescript/',
      'a guide, with wide tables': '/sessions/',
      'drawings of text': '/architecture/',
      'screenshots': '/console/',
      'a reference': '/reference/rights/',
      'sections of errors': '/reference/errors/http/',
      'operations of the API': '/reference/api/devices/',
      'a format': '/formats/journal/',
      'an SDK': '/sdk/js/'
    }
    for (const [kind, where] of Object.entries(pages)) {
      test(kind, async () => {
        await open(where)
        await examined(browser, where, { wears, fits: fitsIn(browser, where) })
        complains()
      })
    }

    test('the page of an unknown address', async () => {
      await open('/no/such/page')
      assert.match(await browser.evaluate('document.body.innerText'), /404/)
      complains(['status of 404'])
    })
  })

  test('a code of an error is found by the search', async () => {
    const found = "[...document.querySelectorAll('body > *')].find((one) => one.shadowRoot?.querySelector('dialog'))?.shadowRoot"
    await open('/')
    await browser.evaluate("document.querySelector('.md-search__button').click()")
    await browser.until(`${found}?.activeElement?.role === 'combobox'`)
    await browser.press(...'QUE-022')
    await browser.until(`${found}.querySelector('[role=listbox]').textContent.includes('QUE-022')`)
    await browser.press('Enter')
    await browser.until("location.pathname === '/reference/errors/queue/'")
    complains()
  })
})
