/** No check of the kit is vacuous: behind a proxy that breaks a promise, the check that claims it fails. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Broken } from '#tests/support/broken/mutation.ts'
import { brokenPromises } from '#tests/support/broken/promises.ts'
import { type BrokenProxy, startBrokenProxy } from '#tests/support/broken/proxy.ts'
import { runCommand } from '#tests/support/command.ts'
import { makeStillClock, type Service, startService } from '#tests/support/service.ts'
import { makeClient } from '../../cli/conformance/client.ts'
import { serverSubjects } from '../../cli/conformance/conformance.ts'
import { examine, type Report } from '../../cli/conformance/report.ts'
import { makeSession, type ServerCheck } from '../../cli/conformance/session.ts'

let service: Service
let proxy: BrokenProxy
const keys = { developer: '', professional: '' }
before(async () => {
  service = await startService({ clock: makeStillClock(Date.now()) })
  proxy = await startBrokenProxy(service.baseUrl)
  for (const plan of ['developer', 'professional'] as const) {
    const user = await service.createUser({ plan })
    await service.link(user, 'healthy')
    keys[plan] = user.key
  }
})
after(async () => {
  proxy.close()
  await service.close()
})

const checks: readonly ServerCheck[] = serverSubjects.flatMap((subject) => subject.checks)
const isOf = ({ check }: Broken, { name }: ServerCheck) =>
  typeof check === 'string' ? check === name : check.test(name)

/** Runs one check, after a few answers of every kind for the checks that look at all of them. */
async function run(check: ServerCheck, key: string) {
  const client = makeClient({
    baseUrl: proxy.url,
    key,
    now: Date.now,
    sleep: async () => {},
    tell: () => {},
  })
  await client.ask('/v1/accounts')
  await client.ask('/v1/accounts?limit=0')
  await client.ask('/v1/accounts', { authorization: null })
  await client.ask('/v1/nothing')
  const subject = { name: 'one', checks: [check] }
  const session = makeSession(client, Date.now)
  const [finding] = await examine([subject], session, { isQuick: false, found: () => {} })
  return finding
}

test('every check has a way to fail, and every way belongs to a check', () => {
  const unclaimed = checks.filter((check) => !brokenPromises.some((broken) => isOf(broken, check)))
  assert.deepEqual(
    unclaimed.map(({ name }) => name),
    [],
  )
  const lost = brokenPromises.filter((broken) => !checks.some((check) => isOf(broken, check)))
  assert.deepEqual(
    lost.map(({ check }) => String(check)),
    [],
  )
})

for (const broken of brokenPromises) {
  for (const check of checks.filter((one) => isOf(broken, one))) {
    test(`"${check.name}" fails when ${broken.how}`, async () => {
      proxy.mutate = broken.mutate
      const finding = await run(check, keys[broken.plan ?? 'professional'])
      assert.equal(finding?.status, 'fail', JSON.stringify(finding))
      // Not because the proxy gave none.
      assert.doesNotMatch(finding.expected ?? '', /^an answer to /)
    })
  }
}

test('through a proxy that changes nothing all is well', async () => {
  proxy.mutate = () => {}
  const args = ['conformance', '--base-url', `${proxy.url}/`, '--quick']
  const environment = { TRIBUTARY_API_KEY: keys.professional }
  const { code, out } = await runCommand(args, { environment })
  assert.equal(code, 0, out)
  assert.match(out, /^ok {4}description: /)
  assert.match(out, /\n\d+ passed, 0 failed, \d+ skipped\.\n$/)
})

test('a failure is told with what was expected and seen, the key never, and the exit code is 1', async () => {
  const key = keys.professional
  proxy.mutate = (answer) => {
    if (answer.body?.error) answer.body.error = { message: `No, ${key}`, code: null }
  }
  const base = ['conformance', '--base-url', proxy.url, '--quick', '--key']
  const text = await runCommand([...base, key])
  assert.equal(text.code, 1)
  assert.match(text.out, /\nFAIL {2}errors: .*\n {6}expected {2}.*\n {6}seen {6}.*No, \[secret\]/)
  const json = await runCommand([...base, key, '--json'])
  assert.equal(json.code, 1)
  const report = JSON.parse(json.out) as Report
  assert.equal(report.status, 'fail')
  assert(report.failed > 10)
  assert(!(text.out + text.err + json.out + json.err).includes(key))
})
