// Examines an open page with axe-core: wide and narrow, in a dark and in a light theme.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'

const AXE = fs.readFileSync(path.join(import.meta.dirname, 'node_modules/axe-core/axe.min.js'), 'utf8')
export const DESKTOP = { width: 1400, scheme: 'dark' }
const LOOKS = [DESKTOP, { width: 1400, scheme: 'light' }, { width: 390, scheme: 'dark' }, { width: 390, scheme: 'light' }]

/**
 * The open page has no finding of axe, and is no wider than the window, in each of the looks. `wears` is an expression that is true once
 * the page shows a look; `fits` checks more of each.
 */
export async function examined (browser, what, { wears, fits = async () => {} }) {
  await browser.evaluate(`${AXE};0`)
  for (const look of LOOKS) {
    await browser.look(look)
    await browser.until(`${wears(look)} && innerWidth === ${look.width}`)
    const found = await browser.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) =>
      \`\${id}: \${nodes.slice(0, 3).map(({ target, failureSummary }) => \`\${target} \${failureSummary}\`).join('; ')}\`))`)
    assert.deepEqual(found, [], `${what} at ${look.width}, ${look.scheme}`)
    await browser.until(`document.documentElement.scrollWidth <= ${look.width}`)
    await fits(look)
  }
}
