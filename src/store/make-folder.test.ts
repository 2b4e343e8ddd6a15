/** The folders of the data directory, and why one cannot be made. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from './make-folder.ts'

test('folders are made with those above them, for their owner alone, and may be there already', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-folder-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const _ of [1, 2]) makeFolder(join(folder, 'a', 'b'))
  assert.deepEqual(
    ['a', 'a/b'].map((name) => statSync(join(folder, name)).mode & 0o777),
    [0o700, 0o700],
  )
  writeFileSync(join(folder, 'file'), '')
  assert.throws(() => makeFolder(join(folder, 'file', 'c')), { code: 'EEXIST' })
})

test('where none can be made, the error is that of the first missing folder, whatever is asked for below it', () => {
  assert.throws(() => makeFolder('/proc/tributary/data/secrets'), /mkdir '\/proc(?:\/tributary)?'$/)
})
