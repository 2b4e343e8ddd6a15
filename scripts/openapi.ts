/**
 * Rewrites docs/openapi.json from the table of operations; with --check it only compares, and exits 1 on drift. The
 * address in the checked-in document is a placeholder: a running server writes its own.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { makeOpenApi } from '#contract/openapi.ts'
import manifest from '../package.json' with { type: 'json' }

const file = new URL('../docs/openapi.json', import.meta.url)
const document = makeOpenApi({ baseUrl: 'http://127.0.0.1:3000', version: manifest.version })
const text = `${JSON.stringify(document, null, 2)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, text)
  console.log('docs/openapi.json is written')
} else if (readText() !== text) {
  console.error('docs/openapi.json is out of date: run `npm run openapi` and commit it')
  process.exitCode = 1
} else {
  console.log('docs/openapi.json is up to date')
}

/** The checked-in text; a missing file is drift like any other. */
function readText(): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
