// The package: generated files are fresh, dependencies may be used, it packs what it names.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import { PACKAGE } from './server.js'

const run = promisify(execFile)

/** Licences that an Apache-2.0 package may depend on. */
const PERMISSIVE = new Set([
  'MIT', 'ISC', '0BSD', 'Apache-2.0', 'BSD-3-Clause', '(Apache-2.0 AND BSD-3-Clause)',
  '(MIT OR CC0-1.0)', 'Python-2.0'
])

test('generated files are what the generator writes now', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stadium-generated-'))
  try {
    await run(process.execPath, [path.join(PACKAGE, 'scripts/generate.js'), folder])
    const files = ['src/generated', 'test/generated'].flatMap((each) =>
      fs.readdirSync(path.join(PACKAGE, each), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts')).map((name) => path.join(each, name)))
    assert.equal(files.length, 4)
    for (const file of files) {
      const [kept, fresh] = [PACKAGE, folder].map((base) => fs.readFileSync(path.join(base, file)))
      assert.ok(kept!.equals(fresh!), `${file} is stale: npm run generate`)
    }
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test('every dependency has a permissive licence', () => {
  const lock = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package-lock.json'), 'utf8')) as
    { packages: Record<string, { license?: string }> }
  const others = Object.entries(lock.packages).filter(([, { license }]) =>
    license === undefined || !PERMISSIVE.has(license))
  assert.deepEqual(others, [])
})

test('the package has the files that its exports name, and no tests', async () => {
  const flags = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = await run('npm', flags, { cwd: PACKAGE })
  const parsed = JSON.parse(stdout) as unknown
  const [packed] = Object.values(parsed as Record<string, { files: Array<{ path: string }> }>)
  const files = new Set(packed!.files.map((file) => file.path))
  const described = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8')) as
    Record<'exports' | 'imports', Record<string, string | Record<string, string>>>
  const named = [...Object.values(described.exports), ...Object.values(described.imports)]
    .flatMap((each) => typeof each === 'string' ? [each] : Object.values(each))
  for (const each of [...named, './LICENSE', './README.md']) {
    assert.ok(files.has(each.replace('./', '')), `${each} is not packed`)
  }
  assert.deepEqual([...files].filter((file) => /test|build|scripts/.test(file)), [])
})
