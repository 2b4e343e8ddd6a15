/**
 * Rewrites docs/openapi.json from the table of operations, docs/admin-openapi.json and the tables of
 * docs/admin-api.md from the table of the admin API; with --check it only compares, and exits 1 on drift. The
 * address in the checked-in document is a placeholder: a running server writes its own.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { makeOpenApi } from '#contract/openapi.ts'
import { makeAdminOpenApi } from '#doors/admin/openapi.ts'
import manifest from '../package.json' with { type: 'json' }
import { fillAdminPage } from './admin-page.ts'

const { version } = manifest
const isCheck = process.argv.includes('--check')

const toText = (document: object) => `${JSON.stringify(document, null, 2)}\n`

write('docs/openapi.json', () => toText(makeOpenApi({ baseUrl: 'http://127.0.0.1:3000', version })))
write('docs/admin-openapi.json', () => toText(makeAdminOpenApi(version)))
write('docs/admin-api.md', (page) => fillAdminPage(page ?? ''))

function write(path: string, make: (present: string | null) => string): void {
  const url = new URL(`../${path}`, import.meta.url)
  const present = readText(url)
  const text = make(present)
  if (present === text) {
    console.log(`${path} is up to date`)
  } else if (isCheck) {
    console.error(`${path} is out of date: run \`npm run openapi\` and commit it`)
    process.exitCode = 1
  } else {
    writeFileSync(url, text)
    console.log(`${path} is written`)
  }
}

/** The checked-in text; a missing file is drift like any other. */
function readText(file: URL): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
