/**
 * The clock of the machine is set forwards and backwards by hours while the service runs: no caller is
 * refused for longer than the rule says, nothing is kept for longer than its life, and every number in a
 * header stays one that can be.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Answer, codeOf, type Service, startService } from '#tests/support/service.ts'
import { assertWell, makeSetting, type Reading, type Setting } from './readings.ts'

const minute = 60_000
const hour = 60 * minute
const jumps = [
  ['forwards by five hours', 5 * hour],
  ['backwards by five hours', -5 * hour],
  ['backwards by three days', -72 * hour],
] as const

let service: Service
let setting: Setting
before(async () => {
  service = await startService({
    env: { RATE_LIMIT_CHEAP: '5', RATE_LIMIT_PREAUTH: '5', CONCURRENCY_HEAVY: '20' },
  })
  setting = await makeSetting(service)
})
afterEach(() => setting.mend())
after(() => service?.close())

const ask = (reading: Reading) => service.get(reading.nextPath(), setting.user)
const transactions = () => {
  const [reading] = setting.readings
  assert(reading !== undefined)
  return reading
}

/** No age below nothing, no wait beyond the rule. */
function assertSane(answer: Answer): void {
  const reset = Number(answer.headers['x-ratelimit-reset']) * 1000 - service.clock.now()
  assert.ok(reset > -1000 && reset <= minute + 1000, `reset in ${reset} ms`)
  const remaining = Number(answer.headers['x-ratelimit-remaining'])
  const limit = Number(answer.headers['x-ratelimit-limit'])
  assert.ok(remaining >= 0 && remaining <= limit, `${remaining} of ${limit}`)
  const wait = answer.headers['retry-after']
  if (wait !== undefined) assert.ok(Number(wait) >= 1 && Number(wait) <= 60, `wait ${wait}`)
}

for (const [name, ms] of jumps) {
  test(`R7: a used-up window ends within a minute after a jump ${name}`, async () => {
    const user = await service.createUser()
    const get = () => service.get('/v1/categories', user)
    for (let count = 0; count < 6; count += 1) await get()
    assert.equal((await get()).status, 429)
    service.clock.advance(ms)
    assertSane(await get())
    service.clock.advance(minute)
    const next = await get()
    assert.equal(next.status, 200)
    assertSane(next)
    for (let count = 0; count < 4; count += 1) await get()
    const refused = await get()
    assert.equal(refused.status, 429, 'and the limit still holds')
    assertSane(refused)
  })

  test(`R6: guesses are counted, and expire, after a jump ${name}`, async () => {
    const guess = () => service.get('/v1/categories', `Bearer guess-${ms}`)
    for (let count = 0; count < 6; count += 1) await guess()
    assert.equal((await guess()).status, 429)
    service.clock.advance(ms)
    service.clock.advance(minute)
    for (let count = 0; count < 5; count += 1) assert.equal((await guess()).status, 401)
    assertSane(await guess())
  })

  test(`a cached answer is not served beyond its life after a jump ${name}`, async () => {
    for (const reading of setting.readings) {
      const path = reading.nextPath()
      await service.get(path, setting.user)
      assert.equal((await service.get(path, setting.user)).headers['x-cache'], 'HIT')
      service.clock.advance(ms)
      const jumped = await service.get(path, setting.user)
      assert.equal(jumped.headers['x-cache'], 'MISS', `${reading.name}: its age cannot be known`)
      assertSane(jumped)
      assert.equal((await service.get(path, setting.user)).headers['x-cache'], 'HIT')
      service.clock.advance(31 * minute)
      assert.equal((await service.get(path, setting.user)).headers['x-cache'], 'MISS')
    }
  })

  test(`R21: an open breaker lets its probe through within a minute after a jump ${name}`, async () => {
    const reading = transactions()
    const { emulator, when } = reading
    emulator.addFault({ when, does: { kind: 'reply', reply: { status: 500 } } })
    for (let count = 0; count < 3; count += 1) await ask(reading)
    assert.equal(codeOf(await ask(reading)), 'upstream_breaker_open')
    emulator.clearFaults()
    service.clock.advance(ms)
    assertSane(await ask(reading))
    service.clock.advance(minute)
    assertWell(reading, await ask(reading))
  })

  test(`R21: failures of another time do not add up after a jump ${name}`, async () => {
    const reading = transactions()
    const { emulator, when } = reading
    emulator.addFault({ when, does: { kind: 'reply', reply: { status: 500 } } })
    await ask(reading)
    await ask(reading)
    service.clock.advance(ms)
    assert.equal(codeOf(await ask(reading)), undefined)
    assert.equal(codeOf(await ask(reading)), undefined, 'two in this minute do not open it')
    emulator.clearFaults()
    assertWell(reading, await ask(reading))
  })

  test(`R27: a revoked key is refused at once after a jump ${name}`, async () => {
    const user = await service.createUser()
    assert.equal((await service.get('/v1/categories', user)).status, 200)
    service.clock.advance(ms)
    await service.app.store.keys.revoke(user.keyId, service.clock.now())
    const refused = await service.get('/v1/categories', user)
    assert.deepEqual([refused.status, codeOf(refused)], [401, 'invalid_token'])
  })

  test(`R19: a walk goes on or is refused, and a new one is whole, after a jump ${name}`, async () => {
    const reading = transactions()
    const base = reading.nextPath()
    const window = (offset: number) => service.get(`${base}&limit=2&offset=${offset}`, setting.user)
    assertWell(reading, await window(0))
    const asked = reading.emulator.requests.filter(reading.when).length
    assertWell(reading, await window(2))
    assert.equal(reading.emulator.requests.filter(reading.when).length, asked, 'it is shared')
    service.clock.advance(ms)
    const jumped = await window(4)
    // Rows that were shown may not be there any more, or not yet; then the walk is refused.
    const isRefused = jumped.text.includes('start again at offset 0')
    assert.equal(jumped.status, isRefused ? 503 : 200)
    assert.ok(reading.emulator.requests.filter(reading.when).length > asked, 'and read anew')
    for (const offset of [0, 2]) assertWell(reading, await window(offset))
  })

  test(`the tokens of Fiskil are used no longer than Fiskil accepts them, after a jump ${name}`, async () => {
    const reading = transactions()
    assertWell(reading, await ask(reading))
    service.clock.advance(ms)
    service.sandbox.fiskil.forgetTokens()
    assertWell(reading, await ask(reading))
  })
}

test('our own budget of SnapTrade calls comes back within a minute after the clock was set back', async () => {
  const reading = setting.readings.find(({ name }) => name === 'snaptrade holdings')
  assert(reading !== undefined)
  const askUntilRefused = async () => {
    for (let count = 0; count < 250; count += 1) {
      if ((await ask(reading)).status === 503) return
    }
    assert.fail('the budget never ended')
  }
  await askUntilRefused()
  service.clock.advance(-5 * hour)
  service.clock.advance(minute)
  assertWell(reading, await ask(reading))
})
