import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeCodeCheck, ReplacedCodeError } from './own-code.ts'

const longAgo = new Date('2026-01-01T00:00:00Z')
const now = () => Date.now()

/** A clone whose files are older than this process. */
function makeClone(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-code-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const files = ['src/main.ts', 'src/doors/door.ts', 'node_modules/.package-lock.json']
  for (const place of ['src/doors', 'node_modules'])
    mkdirSync(join(folder, place), { recursive: true })
  for (const file of files) writeFileSync(join(folder, file), '')
  for (const path of [...files, 'src/doors', 'src'])
    utimesSync(join(folder, path), longAgo, longAgo)
  return { folder, touch: (path: string) => utimesSync(join(folder, path), new Date(), new Date()) }
}

test('code that is older than the process is its own, also without a record of npm', (t) => {
  const { folder } = makeClone(t)
  const check = makeCodeCheck({ now }, folder)
  check()
  rmSync(join(folder, 'node_modules'), { recursive: true })
  check()
})

for (const path of ['src/doors/door.ts', 'node_modules/.package-lock.json']) {
  test(`a newer ${path} is refused with its name and what to do`, (t) => {
    const { folder, touch } = makeClone(t)
    const check = makeCodeCheck({ now }, folder)
    check()
    touch(path)
    const refused = (error: unknown) =>
      error instanceof ReplacedCodeError && error.message.includes(`(${path} is newer): restart`)
    assert.throws(check, refused)
  })
}

test('what an editor leaves beside a file is no code', (t) => {
  const { folder } = makeClone(t)
  writeFileSync(join(folder, 'src/doors/.door.ts.swp'), '')
  makeCodeCheck({ now }, folder)()
})

test('a clock that was set forward after the start, or is behind, makes no file newer', (t) => {
  const { folder, touch } = makeClone(t)
  touch('src/main.ts')
  makeCodeCheck({ now: () => now() + 3_600_000 }, folder)()
  makeCodeCheck({ now: () => 60_000 }, folder)()
})

test('a clock that was set back by less than the process has run makes no file of before the start newer', (t) => {
  const { folder } = makeClone(t)
  const beforeStart = new Date(performance.timeOrigin - 20)
  utimesSync(join(folder, 'src/main.ts'), beforeStart, beforeStart)
  makeCodeCheck({ now: () => now() - 40 }, folder)()
})

test('code that is replaced after the clock was set back to before the start is refused', (t) => {
  const { folder } = makeClone(t)
  const setBack = now() - 3_600_000
  const replaced = new Date(setBack - 1)
  utimesSync(join(folder, 'src/main.ts'), replaced, replaced)
  assert.throws(makeCodeCheck({ now: () => setBack }, folder), ReplacedCodeError)
})
