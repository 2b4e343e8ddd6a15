import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EndpointId, newId } from '#kernel/ids.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { Store, StoreRows } from '#store/ports/store.ts'
import { makeBatch } from './batch.ts'

const endpointId = newId<EndpointId>()

interface Named {
  readonly endpointId: EndpointId
  readonly name: string
}

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
  /** Items are the names of what is written; `bad` fails. */
  const work = async (_tx: StoreRows, items: readonly Named[]) => {
    for (const { name } of items) {
      if (name === 'bad') throw new Error('not mine')
      current.push(name)
    }
    return items.map(({ name }) => name)
  }
  return { transact, work, committed, begun: () => begun }
}

test('what is answered in one turn of the event loop is kept in one transaction', async () => {
  const { transact, work, committed } = makeTransactions()
  const keep = makeBatch({ transact }, { writers: 1, work })
  const kept = await Promise.all(['a', 'b', 'c'].map((name) => keep({ endpointId, name })))
  assert.deepEqual(kept, ['a', 'b', 'c'])
  assert.deepEqual(committed, [['a', 'b', 'c']])
})

test('one transaction keeps a bounded number of attempts', async () => {
  const { transact, work, committed } = makeTransactions()
  const keep = makeBatch({ transact }, { writers: 1, work })
  const names = Array.from({ length: 140 }, (_, index) => String(index))
  await Promise.all(names.map((name) => keep({ endpointId, name })))
  assert.deepEqual(
    committed.map(({ length }) => length),
    [64, 64, 12],
  )
  // Those of one endpoint are kept in the order in which they came.
  assert.deepEqual(committed.flat(), names)
})

test('a transaction may be lost only when each of its items may be', async () => {
  const lost: unknown[] = []
  const transact: Store['transact'] = async (work, options) => {
    lost.push(options?.mayBeLost)
    return work({} as StoreRows)
  }
  const work = async (_tx: StoreRows, items: readonly Named[]) => items.map(({ name }) => name)
  const mayBeLost = ({ name }: Named) => name === 'light'
  const keep = makeBatch({ transact }, { writers: 1, work, mayBeLost })
  const all = (...names: string[]) => Promise.all(names.map((name) => keep({ endpointId, name })))
  await all('light', 'light')
  await all('light', 'heavy', 'light')
  await makeBatch({ transact }, { writers: 1, work })({ endpointId, name: 'light' })
  assert.deepEqual(lost, [true, false, false])
})

test('an attempt that cannot be stored does not affect others', async () => {
  const { transact, work, committed } = makeTransactions()
  const keep = makeBatch({ transact }, { writers: 1, work })
  const results = await Promise.allSettled(
    ['a', 'bad', 'c'].map((name) => keep({ endpointId, name })),
  )
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(committed, [['a'], ['c']])
})

test('an unavailable store is called once, not once for each attempt', async () => {
  const away = new StoreUnavailableError('the store is away')
  const { begun, transact } = makeTransactions()
  const work = () => Promise.reject(away)
  const keep = makeBatch<Named, string>({ transact }, { writers: 1, work })
  const results = await Promise.allSettled(['a', 'b'].map((name) => keep({ endpointId, name })))
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
  const work = async (_tx: StoreRows, items: readonly Named[]) => {
    await new Promise<void>((resolve) => setImmediate(resolve))
    return items
  }
  const keep = makeBatch<Named, Named>({ transact }, { writers: 6, work })
  await Promise.all(Array.from({ length: 140 }, () => keep({ endpointId, name: 'a' })))
  assert.equal(open, 0)
})
