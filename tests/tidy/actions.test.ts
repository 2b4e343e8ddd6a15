/**
 * A change that a person or an operator can make is an action of a room, with its actor and its audit row in
 * one transaction. Doors, the sandbox, the composition root and the command line call actions and read; this
 * keeps them from writing past those.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFiles, findLines, isTest, readText } from './tree.ts'

const callers = codeFiles.filter((path) => /^(?:src\/doors|sandbox)\//.test(path) && !isTest(path))

/** Windows that limit are counted, not changed by anybody: their port is no business of actions. */
const portImport =
  /import\s+(type\s+)?(?:\{([^}]*)\}|\S+(?:\s+as\s+\w+)?)\s+from\s+'#store\/ports\/(?!kv\.ts)[\w-]+\.ts'/g
/** A row as it was read, or the part of the store that only reads. */
const readable = /^(?:\w+Row|StoreReader)$/

function namesWrongly(text: string): string[] {
  return [...text.matchAll(portImport)].flatMap(([whole, type, names]) => {
    if (type === undefined || names === undefined) return [whole]
    const all = names.split(',').map((name) => name.trim())
    return all.filter((name) => name !== '' && !readable.test(name))
  })
}

test('doors and the sandbox know the types of rows and the reading part of the store, nothing else of its ports', () => {
  const bad = callers.flatMap((path) =>
    namesWrongly(readText(path)).map((name) => `${path}: ${name}`),
  )
  assert.deepEqual(bad, [])
})

const writing = /\bstore\??\.\w+\.(?!(?:list|find|get|count|has)[A-Z(])\w+\(/
/** A repository under a name of its own, with which a write would not show. */
const aliasing = /[}\]]\s*=\s*(?:\w+\.)*store\b(?!\.)|=\s*(?:\w+\.)*store\.\w+$/
const recording = /\.(?:audit|auditExtension|transact)\(|\brecordAction\b/
const opening = /#store\/(?:open-store|sql\/)/

/** Those lines of a text that match, with calls that the formatter broke into several lines put together. */
function findCalls(text: string, pattern: RegExp): string[] {
  const joined = text.replace(/\n\s*(\??\.)/g, '$1')
  return joined.split('\n').filter((line) => pattern.test(line))
}

test('doors, the sandbox, the composition root and the command line neither write to the store nor record an action', () => {
  const all = [
    ...callers,
    ...codeFiles.filter((path) => /^(?:src\/app|cli)\//.test(path) && !isTest(path)),
  ]
  const bad = all.flatMap((path) =>
    [writing, aliasing, recording].flatMap((pattern) =>
      findCalls(readText(path), pattern).map((line) => `${path}: ${line.trim()}`),
    ),
  )
  assert.deepEqual(bad, [])
})

test('only the composition root opens a store', () => {
  const others = codeFiles.filter(
    (path) => /^(?:src\/doors|sandbox|cli)\//.test(path) && !isTest(path),
  )
  assert.deepEqual(findLines(others, opening), [])
})

test('outside a transaction no audit row is written but that of a refused sign-in, which changes nothing', () => {
  const rooms = codeFiles.filter((path) => path.startsWith('src/') && !isTest(path))
  const alone = findLines(rooms, /\bstore\.audit\(/)
  assert.deepEqual(
    alone.filter((line) => !line.includes('refusedSignIn')),
    [],
  )
  assert.equal(alone.length, 1)
})

test('the measure sees a door that writes or records, and lets one that reads pass', () => {
  const port = "from '#store/ports/"
  assert.deepEqual(namesWrongly(`import type { Store, UserRow } ${port}store.ts'`), ['Store'])
  assert.equal(namesWrongly(`import { openAudit } ${port}audit.ts'`).length, 1)
  assert.deepEqual(namesWrongly(`import type { KeyRow } ${port}keys.ts'`), [])
  assert.deepEqual(namesWrongly(`import type { WindowStore } ${port}kv.ts'`), [])
  assert.match('await store.keys.revoke(id, at)', writing)
  assert.match('deps.store.users.setPlan(id, plan)', writing)
  assert.doesNotMatch('await deps.store.users.listPage({ after })', writing)
  assert.doesNotMatch('await store.users.find(id)', writing)
  assert.match('await store.audit({ at })', recording)
  assert.match('await store.auditExtension({ at })', recording)
  assert.equal(findCalls('await deps.store.keys\n  .revoke(id)', writing).length, 1)
  assert.equal(findCalls('await deps.store\n  .transact(work)', recording).length, 1)
  assert.match('const { keys } = deps.store', aliasing)
  assert.match('const keys = store.keys', aliasing)
  assert.doesNotMatch('const { store } = deps', aliasing)
  assert.doesNotMatch('const rows = await store.keys.list(id)', aliasing)
})
