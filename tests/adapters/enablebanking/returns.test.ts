/** A return belongs to the link that it comes back to, and a session that it replaces is ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoginId, newId, type UserId } from '#kernel/ids.ts'
import type { Login } from '#providers/login.ts'
import type { Site } from '#sandbox/enablebanking/site.ts'
import {
  call,
  comeBack,
  dayMs,
  failureOf,
  goToBank,
  link,
  linkingOf,
  makeGround,
  visitBank,
} from './harness.ts'

const sessionsOf = ({ server }: { readonly server: { readonly site: Site } }) =>
  [...server.site.sessions.sessions.values()].map(({ status }) => status)

/** A login of ours that holds this secret alone. */
const toLeft = (secret: string): Login => {
  return { id: newId<LoginId>(), upstreamUserId: 'left', secret, version: 0, isOurs: true }
}

test('a code of another person’s link, or of a bank that was not chosen, links nothing, and its session can be ended', async () => {
  await using ground = await makeGround()
  const kept: string[] = []
  const keep = async (secret: string) => void kept.push(secret)
  const ann = { userId: newId<UserId>(), state: 'A'.repeat(43), keep }
  const bob = { userId: newId<UserId>(), state: 'B'.repeat(43), keep }
  const bank = 'FI:Pankki Kaarna'
  await goToBank(ground, bank, bob)
  const theirs = await comeBack(ground, bank, await goToBank(ground, bank, ann), bob)
  assert.deepEqual(theirs, { kind: 'failed', reason: 'different_account', code: 'other_person' })
  const chosen = 'FI:Mock ASPSP'
  const other = await comeBack(ground, chosen, await goToBank(ground, bank, bob), bob)
  assert.deepEqual(other, { kind: 'failed', reason: 'different_account', code: 'other_bank' })
  assert.equal(kept.length, 2)
  for (const secret of kept) await ground.adapter.endLogin?.(toLeft(secret), call)
  assert.deepEqual(sessionsOf(ground), ['CLOSED', 'CLOSED'])
  assert.equal((await visitBank(ground, bank, { ...bob, keep: async () => {} })).kind, 'agreed')
})

test('R38: a session is stored before anything is asked with it', async () => {
  await using ground = await makeGround()
  const before: (readonly string[])[] = []
  const keep = async () => void before.push([...ground.exchanges])
  await visitBank(ground, 'FI:Pankki Kaarna', { keep })
  assert.deepEqual(
    before.map((exchanges) => exchanges.at(-1)),
    ['200 POST /sessions'],
  )
})

test('where the provider does not name the person of a session, the link is not judged by it', async () => {
  await using ground = await makeGround()
  const bank = 'FI:Pankki Kaarna'
  const ann = { userId: newId<UserId>(), state: 'A'.repeat(43) }
  const query = await goToBank(ground, bank, ann)
  assert.equal(
    (await comeBack(ground, bank, query, { ...ann, state: 'N'.repeat(43) })).kind,
    'agreed',
  )
})

test('of a session that a new one takes the place of, no more is left than ends it, where it was opened here', async () => {
  await using ground = await makeGround()
  const { leftBy } = linkingOf(ground)
  const [former, current] = [await link(ground, 'healthy'), await link(ground, 'healthy')]
  assert.equal(leftBy?.({ ...former, isOurs: false }), null)
  const left = toLeft(leftBy?.(former) ?? assert.fail())
  assert.doesNotMatch(left.secret ?? '', /sha256:|Pankki/)
  // Nothing is read with it.
  assert.equal((await failureOf(ground.adapter.discover(left, call))).kind, 'consent_lost')
  await ground.adapter.endLogin?.({ ...left, isOurs: false }, call)
  assert.deepEqual(sessionsOf(ground), ['AUTHORIZED', 'AUTHORIZED'])
  await ground.adapter.endLogin?.(left, call)
  assert.deepEqual(sessionsOf(ground), ['CLOSED', 'AUTHORIZED'])
  // It may have ended by itself, and one that has run out needs no call.
  await ground.adapter.endLogin?.(left, call)
  ground.exchanges.length = 0
  ground.clock.ms += 200 * dayMs
  await ground.adapter.endLogin?.(toLeft(leftBy?.(current) ?? ''), call)
  assert.deepEqual(ground.exchanges, [])
})
