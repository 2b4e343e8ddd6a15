/** Which password is hashed next when there are more sign-ins than capacity. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HashingQueueOptions, makeHashingQueue, PasswordsBusyError } from './hashing-queue.ts'

/** A queue with one at a time; `finish` ends the running one and returns whose it was. */
function open(options: Partial<HashingQueueOptions> = {}) {
  const queue = makeHashingQueue({ maxAtOnce: 1, ...options })
  const running: { readonly name: string; end(): void }[] = []
  const ask = (from: string, isKnown = false, name = from) => {
    const asked = queue.run({ from, isKnown }, () => {
      const { promise, resolve } = Promise.withResolvers<string>()
      running.push({ name, end: () => resolve(name) })
      return promise
    })
    return asked.catch((error: unknown) => {
      assert(error instanceof PasswordsBusyError)
      return 'busy'
    })
  }
  async function finish(): Promise<string | undefined> {
    const done = running.shift()
    done?.end()
    await new Promise((resolve) => setImmediate(resolve))
    return done?.name
  }
  return {
    ask,
    finish,
    async finishAll(): Promise<readonly string[]> {
      const order: string[] = []
      for (;;) {
        const name = await finish()
        if (name === undefined) return order
        order.push(name)
      }
    },
  }
}

test('one address with many sign-ins gets one turn before the others, then waits behind them', async () => {
  const { ask, finishAll } = open()
  void ask('first')
  for (let count = 0; count < 5; count += 1) void ask('many', false, `many ${count}`)
  for (const from of ['a', 'b', 'c']) void ask(from)
  const order = await finishAll()
  assert.deepEqual(order.slice(0, 5), ['first', 'many 0', 'a', 'b', 'c'])
  assert.deepEqual(order.slice(5), ['many 1', 'many 2', 'many 3', 'many 4'])
})

test('150 waiting addresses block no one: a new address is served after them, a known browser before them', async () => {
  const { ask, finishAll } = open()
  for (let count = 0; count < 150; count += 1) void ask(`attacker ${count}`)
  const [late, known] = [ask('late'), ask('known', true)]
  const order = await finishAll()
  assert.equal(order.indexOf('known'), 1)
  assert.equal(order.indexOf('late'), 151)
  assert.deepEqual(await Promise.all([late, known]), ['late', 'known'])
})

test('known browsers, however many keep signing in, leave every fourth turn to those who are not known', async () => {
  const { ask, finish, finishAll } = open()
  void ask('running')
  for (let count = 0; count < 20; count += 1) void ask(`known ${count}`, true)
  const others = ['a', 'b'].map((from) => ask(from))
  const order: (string | undefined)[] = []
  for (let turn = 0; turn < 12; turn += 1) {
    order.push(await finish())
    void ask(`again ${turn}`, true)
  }
  assert.deepEqual([order.indexOf('a'), order.indexOf('b')], [4, 8])
  await finishAll()
  assert.deepEqual(await Promise.all(others), ['a', 'b'])
})

test('the queue is bounded in addresses, and in the sign-ins of each: one with many leaves others theirs', async () => {
  const { ask, finishAll } = open({ maxAddresses: 3, maxPerAddress: 2 })
  void ask('running')
  const answers = ['a', 'a', 'a', 'b', 'a', 'b', 'c', 'd', 'e'].map((from) => ask(from))
  const known = ask('e', true)
  await finishAll()
  assert.deepEqual(await Promise.all(answers), [
    ...['a', 'a', 'busy'],
    ...['b', 'busy', 'b', 'c'],
    ...['busy', 'busy'],
  ])
  assert.equal(await known, 'e', 'known browsers have a line of their own')
})

test('a sign-in that waits too long is rejected and leaves the queue', async () => {
  const { ask, finish, finishAll } = open({ maxAddresses: 1, maxWaitMs: 20 })
  void ask('running')
  assert.equal(await ask('a'), 'busy')
  const next = ask('b')
  await finish()
  assert.deepEqual(await finishAll(), ['b'])
  assert.equal(await next, 'b')
})

test('work that fails makes room for the next', async () => {
  const queue = makeHashingQueue({ maxAtOnce: 1 })
  const turn = { from: 'a', isKnown: false }
  const broken = queue.run(turn, async () => {
    throw new Error('out of memory')
  })
  const next = queue.run(turn, async () => 'served')
  await assert.rejects(broken, /out of memory/)
  assert.equal(await next, 'served')
})
