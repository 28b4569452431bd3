// Writes the generated files: the types of the HTTP API, and the messages that the tests send.
//
// `node scripts/generate.js [FOLDER]` writes below FOLDER instead of this package; a test compares.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

import openapi, { astToString } from 'openapi-typescript'

const PACKAGE = path.resolve(import.meta.dirname, '..')
const ROOT = path.resolve(PACKAGE, '../..')
const target = path.resolve(process.argv[2] ?? PACKAGE)

/** The description without failed answers: each is a `Problem`, and they make half of the types. */
function withoutFailures (description) {
  for (const operations of Object.values(description.paths)) {
    for (const operation of Object.values(operations)) {
      if (operation.responses === undefined) continue
      const kept = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
      operation.responses = Object.fromEntries(kept)
    }
  }
  return description
}

async function types () {
  const text = fs.readFileSync(path.join(ROOT, 'docs/reference/openapi.json'), 'utf8')
  const options = { immutable: true, alphabetize: true }
  const nodes = await openapi(withoutFailures(JSON.parse(text)), options)
  const file = path.join(target, 'src/generated/openapi.ts')
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const head = '// Generated from docs/reference/openapi.json by `npm run generate`. Do not edit.'
  fs.writeFileSync(file, `${head}\n\n${astToString(nodes)}`)
}

function messages (folder, name) {
  const out = path.join(target, 'test/generated')
  fs.mkdirSync(out, { recursive: true })
  const plugin = path.join(PACKAGE, 'node_modules/.bin/protoc-gen-es')
  const flags = ['--es_opt=target=ts,import_extension=js', `--es_out=${out}`, `--plugin=${plugin}`]
  execFileSync('protoc', ['-I', path.join(ROOT, folder), ...flags, name], { stdio: 'inherit' })
}

await types()
messages('bench/proto', 'echo.proto')
messages('examples/geo/proto', 'geo.proto')
messages('proto', 'stadium/v1/queue.proto')
