import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EndpointId, newId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { makeKeep } from './keep.ts'

const endpoint = newId<EndpointId>()

/** Notes what each transaction did; one that throws is rolled back. */
function makeTransactions() {
  const committed: string[][] = []
  let begun = 0
  let current: string[] = []
  const transact: Store['transact'] = async (work) => {
    begun += 1
    current = []
    const result = await work({} as StoreRows)
    committed.push(current)
    return result
  }
  const write = (text: string) => async () => {
    current.push(text)
    return text
  }
  return { transact, write, committed, begun: () => begun }
}

test('what is answered in one turn of the event loop is kept in one transaction', async () => {
  const { transact, write, committed } = makeTransactions()
  const keep = makeKeep({ transact }, 1)
  const kept = await Promise.all(['a', 'b', 'c'].map((text) => keep(endpoint, write(text))))
  assert.deepEqual(kept, ['a', 'b', 'c'])
  assert.deepEqual(committed, [['a', 'b', 'c']])
})

test('one transaction keeps a bounded number of attempts', async () => {
  const { transact, write, committed } = makeTransactions()
  const keep = makeKeep({ transact }, 1)
  await Promise.all(Array.from({ length: 40 }, (_, index) => keep(endpoint, write(String(index)))))
  assert.deepEqual(
    committed.map(({ length }) => length),
    [16, 16, 8],
  )
})

test('an attempt that cannot be kept does not take others along', async () => {
  const { transact, write, committed } = makeTransactions()
  const keep = makeKeep({ transact }, 1)
  const results = await Promise.allSettled([
    keep(endpoint, write('a')),
    keep(endpoint, () => Promise.reject(new Error('not mine'))),
    keep(endpoint, write('c')),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(committed, [['a'], ['c']])
})

test('an unavailable store is called once, not once for each attempt', async () => {
  const away = new StoreUnavailableError('the store is away')
  const { begun, transact } = makeTransactions()
  const keep = makeKeep({ transact }, 1)
  const fail = () => Promise.reject(away)
  const results = await Promise.allSettled([keep(endpoint, fail), keep(endpoint, fail)])
  assert.deepEqual(
    results.map((result) => (result.status === 'rejected' ? result.reason : null)),
    [away, away],
  )
  assert.equal(begun(), 1)
})

test('attempts at one endpoint are kept one transaction after another, however many writers there are', async () => {
  let open = 0
  const transact: Store['transact'] = async (work) => {
    open += 1
    assert.equal(open, 1)
    const result = await work({} as StoreRows)
    open -= 1
    return result
  }
  const keep = makeKeep({ transact }, 6)
  const work = () => new Promise<void>((resolve) => setImmediate(resolve))
  await Promise.all(Array.from({ length: 40 }, () => keep(endpoint, work)))
  assert.equal(open, 0)
})
