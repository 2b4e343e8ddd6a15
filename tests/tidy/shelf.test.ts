/**
 * The shelf of request tests: a folder for each operation, a file for each status that it can answer, so that
 * a listing of the folder is the audit. What belongs on it is read from the table of operations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCatalogue } from '#contract/errors.ts'
import { listErrors, type Operation, operations } from '#contract/operations.ts'
import { files } from './tree.ts'

/**
 * Held for all operations at once: tests/request/rest/500.test.ts, and tests/cluster for an unavailable
 * store.
 */
const heldElsewhere = ['internal', 'service_unavailable']

const folderOf = ({ name }: Operation) => `tests/request/${name.replaceAll('_', '-')}/`

function statusesOf(operation: Operation): number[] {
  const errors = listErrors(operation)
    .filter((name) => !heldElsewhere.includes(name))
    .map((name) => errorCatalogue[name].status)
  return [...new Set([200, ...errors])].sort()
}

for (const operation of operations) {
  test(`${operation.name} has one file of request tests for each status that it can answer`, () => {
    const folder = folderOf(operation)
    const found = files
      .filter((path) => path.startsWith(folder))
      .flatMap((path) => /\/(\d{3})\.test\.ts$/.exec(path)?.[1] ?? [])
      .map(Number)
    assert.deepEqual(found.sort(), statusesOf(operation))
  })
}

test('every folder of request tests that is named like an operation belongs to one', () => {
  const folders = new Set(
    files.flatMap((path) => /^tests\/request\/list-[a-z-]+\//.exec(path)?.[0] ?? []),
  )
  assert.deepEqual([...folders].sort(), operations.map(folderOf).sort())
})
