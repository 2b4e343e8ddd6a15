/**
 * Test files that share a process, one after another: loading the service takes longer than most files take
 * to run. Each file is a test named after it, with the file's own tests and hooks below it. Files that
 * measure or change their process have one of their own.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join, resolve } from 'node:path'

const together = [
  '{cli,sandbox,src}/**/*.test.ts',
  'tests/{adapters,contract,request,sandbox,syncs,tidy}/**/*.test.ts',
]
const alone = [
  // The built-in prototypes as the runtime makes them, and the modules that a start loads.
  'src/fast/restore-string-speed.test.ts',
  'tests/request/listener/resolves.test.ts',
  // Memory.
  'tests/request/listener/{bodies,uncaught-errors}.test.ts',
  'src/doors/simplefin/row-texts.test.ts',
]
/** Few enough that both cores have work until the end. */
const filesPerGroup = 16
/** The files have no time limit as a whole, as in processes of their own; each test has the runner's. */
const noLimitMs = 2 ** 31 - 1

/** The files to give to node:test instead of these: those that stay alone, and one for each group. */
export function groupFiles(files: readonly string[]): readonly string[] {
  const apart = new Set(globSync(alone))
  const shared = new Set(globSync(together).filter((file) => !apart.has(file)))
  const grouped = files.filter((file) => shared.has(file))
  const groups: string[] = []
  for (let start = 0; start < grouped.length; start += filesPerGroup) {
    groups.push(writeGroup(grouped.slice(start, start + filesPerGroup)))
  }
  return [...files.filter((file) => !shared.has(file)), ...groups]
}

/** The same files give the same path, by which node:test knows what has passed in an earlier run. */
function writeGroup(files: readonly string[]): string {
  const entries = files.map((file) => [file, resolve(file)])
  const text = `import { test } from 'node:test'
for (const [name, file] of ${JSON.stringify(entries)}) {
  test(name, { timeout: ${noLimitMs} }, () => import(file))
}
`
  const folder = join(tmpdir(), `tributary-test-groups-${userInfo().uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${createHash('sha256').update(text).digest('hex').slice(0, 16)}.mjs`)
  writeFileSync(path, text)
  return path
}
