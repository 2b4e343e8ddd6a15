/**
 * Answers of providers that are no answers, through the whole service, for every provider and every reading:
 * each ends in bounded time and memory, is never taken for an empty list, and leaves nothing behind.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { EmulatorReply, Misbehaviour } from '#sandbox/emulator.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { assertSick, assertWell, makeSetting, type Reading, type Setting } from './readings.ts'

const mebibyte = 1_048_576

let service: Service
let setting: Setting
before(async () => {
  service = await startService({ env: { UPSTREAM_TIMEOUT_MS: '1500', CONCURRENCY_HEAVY: '20' } })
  setting = await makeSetting(service)
})
afterEach(() => setting.mend())
after(() => service?.close())

const text = (body: string): Misbehaviour => ({ kind: 'reply', reply: { status: 200, body } })
/** Half of what would have come, at least one byte of it, and then the line is cut. */
const cutInHalf: Misbehaviour = { kind: 'truncate', afterBytes: 150 }
const halfWithoutEnd = (reply: EmulatorReply): EmulatorReply => {
  const whole = JSON.stringify(reply.body)
  return { ...reply, body: whole.slice(0, whole.length / 2) }
}

const sicknesses: readonly (readonly [name: string, does: Misbehaviour])[] = [
  [
    'a body that ends in its middle, complete by its length',
    { kind: 'edit', edit: halfWithoutEnd },
  ],
  ['a connection reset in the middle of a page', cutInHalf],
  ['17 MiB of blanks before the answer', text(`${' '.repeat(17 * mebibyte)}{}`)],
  ['an answer without end', { kind: 'endless' }],
  ['a byte every 30 milliseconds', { kind: 'drip', everyMs: 30 }],
  ['silence', { kind: 'hang' }],
  ['a number', text('7')],
  ['a text', text('"transactions"')],
  ['true', text('true')],
  ['a list of lists', text('[[[]]]')],
  ['brackets a hundred thousand deep', text('['.repeat(100_000) + ']'.repeat(100_000))],
  ['rows that are numbers', text('{"transactions":[1],"balances":[1],"items":[1],"data":[1]}')],
  ['rows that are an object', text('{"transactions":{},"balances":{},"items":{},"data":{}}')],
  ['nothing but a prototype', text('{"__proto__":{"transactions":[],"items":[],"data":[]}}')],
  ['a success without content', { kind: 'reply', reply: { status: 204 } }],
  ['an error said with 200', text('{"success":false,"error":"internal","message":"oops"}')],
]

for (const [name, does] of sicknesses) {
  test(`R20: ${name} is 503 or nulls, at once or by the time limit, and one failure`, async () => {
    setting.breakAll(does)
    const before = memory()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, memory())
    }, 5)
    const started = performance.now()
    const answers = await Promise.all(setting.readings.map(askAnew))
    const tookMs = performance.now() - started
    clearInterval(watch)

    for (const [index, reading] of setting.readings.entries()) {
      const answer = answers[index]
      assert(answer !== undefined)
      assertSick(reading, answer)
      await assertFailures(reading, 1)
    }
    assert.ok(tookMs < 6000, `${tookMs} ms`)
    // Six answers, each read to its bound and once more as text, and as much again for the emulators' side.
    assert.ok(peak - before < 500 * mebibyte, `${Math.round((peak - before) / mebibyte)} MiB`)
    assert.deepEqual(new Set(await setting.statuses()), new Set(['active']))

    setting.mend()
    for (const reading of setting.readings) assertWell(reading, await askAnew(reading))
  })
}

function askAnew(reading: Reading) {
  return service.get(reading.nextPath(), setting.user)
}

const memory = () => process.memoryUsage().rss

/**
 * Only transactions have a breaker (reading R21); with two failures more, `count` of them must have opened
 * it.
 */
async function assertFailures(reading: Reading, count: 0 | 1): Promise<void> {
  const { breakers } = service.app.kv
  const key = `${reading.provider}:${setting.user.id}:${reading.connection.id}`
  if (!reading.name.endsWith('transactions')) return
  for (let failure = 0; failure < 2; failure += 1) await breakers.fail(key, false)
  const { kind } = await breakers.check(key)
  assert.equal(kind, count === 1 ? 'open' : 'closed', reading.name)
}
