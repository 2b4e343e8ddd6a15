/** What a process remembers of failed calls, for its doctor. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import { UpstreamError } from './failure.ts'
import { toUpstreamApiError } from './guard.ts'
import { makeRecentFailures } from './recent-failures.ts'

const refusal = new UpstreamError('akahu', {
  kind: 'rejected',
  status: 403,
  detail: 'not from here',
})

test('a failure is remembered with its sentence until the next success, also behind a public error', () => {
  const failures = makeRecentFailures({ now: () => 5 })
  const id = newId<ConnectionId>()
  for (const error of [refusal, toUpstreamApiError(refusal)]) {
    failures.note(id, error)
    assert.deepEqual(failures.find(id), { kind: 'rejected', detail: 'not from here', at: 5 })
    assert.deepEqual([failures.list(5), failures.list(6)], [[id], []])
    // A mistake of ours says nothing of the provider.
    failures.note(id, new TypeError('ours'))
    assert.equal(failures.find(id)?.at, 5)
    failures.note(id, null)
    assert.equal(failures.find(id), null)
  }
})

test('a thousand connections are remembered at most, those that failed last', () => {
  const failures = makeRecentFailures({ now: () => 1 })
  const ids = Array.from({ length: 1001 }, () => newId<ConnectionId>())
  for (const id of ids) failures.note(id, refusal)
  assert.equal(failures.find(ids[0] as ConnectionId), null)
  assert.deepEqual(failures.list(0), ids.slice(1).toReversed())
})
