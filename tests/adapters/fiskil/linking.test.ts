/**
 * Consent in a browser through the adapter, against the emulator's pages: banks, end user, session, return.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { newId, type UserId } from '#kernel/ids.ts'
import type { Linking, LinkingFailure } from '#providers/linking.ts'
import type { Login } from '#providers/port.ts'
import { failureOf, link, loginOf, makeCall, openSetting, type Setting } from './harness.ts'

const returnUrl = 'https://here.example/providers/fiskil/callback?state=abc'

function linkingOf({ adapter }: Setting): Linking {
  assert(adapter.linking !== undefined)
  return adapter.linking
}

const user = () => ({ userId: newId<UserId>(), email: 'mia@example.test', name: 'Mia' })

/** Opens a session and takes a decision on the emulator's page; where the browser is sent. */
async function decide(
  setting: Setting,
  login: Login,
  decision: 'allow' | 'deny',
  renews = null as ReturnType<typeof link>['connection'] | null,
): Promise<URL> {
  const asked = { user: user(), login, institutionId: '41', renews, state: 'abc', returnUrl }
  const { address } = await linkingOf(setting).begin(asked, makeCall())
  const page = new URL(address)
  const answer = await request(page, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      sess_id: page.searchParams.get('sess_id') ?? '',
      decision,
    }).toString(),
  })
  await answer.body.dump()
  return new URL(String(answer.headers.location))
}

for (const version of ['v1', 'v3']) {
  test(`the banks are listed by name with their health, energy left out (${version})`, async () => {
    await using setting = await openSetting({ version })
    const { institutions } = linkingOf(setting)
    const list = await institutions?.(makeCall())
    assert(list !== undefined && list.length >= 4)
    assert.deepEqual(
      list.map(({ name }) => name),
      list.map(({ name }) => name).sort(),
    )
    const wattle = list.find(({ id }) => id === '22')
    assert.deepEqual(wattle, { id: '22', name: 'Wattle Bank', health: 'healthy', isOpen: true })
    assert.ok(!list.some(({ name }) => name === 'Banksia Energy'))
  })
}

test('a person becomes an end user, agrees, and the new consent is found with its end', async () => {
  await using setting = await openSetting()
  const linking = linkingOf(setting)
  const identity = await linking.register?.(user(), makeCall())
  assert(identity !== undefined)
  assert.deepEqual([identity.secret, identity.isPersonal], [null, false])
  const login = loginOf(identity.upstreamUserId)
  assert.deepEqual(await setting.adapter.discover(login, makeCall()), [])
  const back = await decide(setting, login, 'allow')
  assert.equal(back.origin + back.pathname, 'https://here.example/providers/fiskil/callback')
  assert.equal(back.searchParams.get('state'), 'abc')
  const finishing = { login, query: back.searchParams, returnUrl, renews: null }
  assert.deepEqual(await linking.finish(finishing, makeCall()), { kind: 'agreed', identity })
  const [found] = await setting.adapter.discover(login, makeCall())
  assert.deepEqual([found?.institutionId, found?.status], ['41', 'active'])
  assert.ok(Date.parse(found?.consentExpiresAt ?? '') > setting.clock.ms)
})

test('a renewal keeps the arrangement and moves its end', async () => {
  await using setting = await openSetting()
  const { login, connection } = link(setting, 'expired')
  const before = await setting.adapter.discover(login, makeCall())
  assert.equal(before[0]?.status, 'invalidated')
  await decide(setting, login, 'allow', connection)
  const [after] = await setting.adapter.discover(login, makeCall())
  assert.deepEqual([after?.upstreamId, after?.status], [connection.upstreamId, 'active'])
})

const expected: readonly (readonly [string, LinkingFailure])[] = [
  ['AUTH_SESSION_INVALID', 'expired'],
  ['AUTH_SESSION_CANCELLED', 'cancelled'],
  ['CONSENT_UPSTREAM_PROCESSING_ERROR', 'unavailable'],
  ['CONSENT_ENDUSER_DENIED', 'cancelled'],
  ['CONSENT_OTP_FAILURE', 'sign_in_refused'],
  ['CONSENT_ENDUSER_INELIGIBLE', 'ineligible'],
  ['CONSENT_TIMEOUT', 'expired'],
  ['CONSUMERDATA_PROCESSING_ERROR', 'unavailable'],
]

test('every error of a return has its reason; an unknown one is counted and its text is not kept', async () => {
  await using setting = await openSetting()
  const linking = linkingOf(setting)
  const finish = (fields: Record<string, string>) => {
    const query = new URLSearchParams(fields)
    return linking.finish({ login: loginOf('eu_1'), query, returnUrl, renews: null }, makeCall())
  }
  for (const [type, reason] of expected) {
    const end = await finish({ error: 'x', error_type: type })
    assert.deepEqual(end, { kind: 'failed', reason, code: type })
  }
  assert.deepEqual(setting.oddities, [])
  const odd = await finish({ error: 'x', error_type: '<b>secret</b>' })
  assert.deepEqual(odd, { kind: 'failed', reason: 'unavailable', code: null })
  assert.deepEqual(setting.oddities, ['unknown error of a return'])
  const login = loginOf('eu_1')
  const declined = await decide(setting, { ...login, ...link(setting, 'healthy').login }, 'deny')
  assert.deepEqual(await finish(Object.fromEntries(declined.searchParams)), {
    kind: 'failed',
    reason: 'cancelled',
    code: 'CONSENT_ENDUSER_DENIED',
  })
})

test('an end user is made with one call, also when the provider fails', async () => {
  await using setting = await openSetting()
  const made = () => setting.exchanges.filter(({ route }) => route === 'POST /v1/end-users').length
  const refused = linkingOf(setting).register?.({ ...user(), email: 'nobody' }, makeCall())
  assert(refused !== undefined)
  assert.equal((await failureOf(refused)).kind, 'rejected')
  assert.equal(made(), 1)
  await linkingOf(setting).register?.(user(), makeCall())
  assert.equal(made(), 2)
})
