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
  'tests/{cluster,e2e}/*.test.ts',
]
const alone = [
  // The built-in prototypes as the runtime makes them, and the modules that a start loads.
  'src/fast/restore-string-speed.test.ts',
  'tests/request/listener/resolves.test.ts',
  // The user of the process.
  'src/store/engine/sqlite-directory.test.ts',
  // Memory.
  'tests/request/listener/{bodies,uncaught-errors}.test.ts',
  'src/doors/simplefin/row-texts.test.ts',
]
/** These begin first and alone, the longest first: at the end of a suite no core waits for another. */
const long = [
  ...[
    ...['store-postgres', 'store-copy', 'store-openings', 'stop-and-kill', 'current-answers'],
    ...[
      'store-copy-kills',
      'river',
      'restore',
      'image',
      'rolling-upgrade',
      'kills',
      'store-outage',
      'river-postgres',
    ],
    ...['kv-redis', 'redis-unavailable'],
  ].map((name) => `tests/cluster/${name}.test.ts`),
  ...['pages', 'docs', 'connections', 'linking', 'account'].map(
    (name) => `tests/e2e/${name}.test.ts`,
  ),
]
/** The files have no time limit as a whole, as in processes of their own; each test has the runner's. */
const noLimitMs = 2 ** 31 - 1

/**
 * The files to give to node:test instead of these: those that stay alone, and one for each group.
 * @param filesPerGroup few enough that every core has work until the end.
 */
export function groupFiles(files: readonly string[], filesPerGroup: number): readonly string[] {
  const apart = new Set(globSync(alone))
  const shared = new Set(globSync(together).filter((file) => !apart.has(file)))
  const first = long.filter((file) => files.includes(file))
  const grouped = files.filter((file) => shared.has(file) && !first.includes(file))
  const groups = first.map((file) => [file])
  for (let start = 0; start < grouped.length; start += filesPerGroup) {
    groups.push(grouped.slice(start, start + filesPerGroup))
  }
  return [...files.filter((file) => !shared.has(file)), ...groups.map(writeGroup)]
}

/**
 * The same files give the same path, by which node:test knows what has passed in an earlier run. It runs
 * files in the order of their paths.
 */
function writeGroup(files: readonly string[], place: number): string {
  const entries = files.map((file) => [file, resolve(file)])
  const text = `import { test } from 'node:test'
for (const [name, file] of ${JSON.stringify(entries)}) {
  test(name, { timeout: ${noLimitMs} }, () => import(file))
}
`
  const folder = join(tmpdir(), `tributary-test-groups-${userInfo().uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  const path = join(folder, `${String(place).padStart(3, '0')}-${digest}.mjs`)
  writeFileSync(path, text)
  return path
}
