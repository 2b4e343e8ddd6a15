/** A return belongs to the link that it comes back to, and a session that it replaces is ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import type { Site } from '#sandbox/enablebanking/site.ts'
import { call, comeBack, goToBank, link, linkingOf, makeGround, visitBank } from './harness.ts'

const sessionsOf = ({ server }: { readonly server: { readonly site: Site } }) =>
  [...server.site.sessions.sessions.values()].map(({ status }) => status)

test('a code of another person’s link, or of a bank that was not chosen, links nothing: its session is ended', async () => {
  await using ground = await makeGround()
  const ann = { userId: newId<UserId>(), state: 'A'.repeat(43) }
  const bob = { userId: newId<UserId>(), state: 'B'.repeat(43) }
  const bank = 'FI:Pankki Kaarna'
  await goToBank(ground, bank, bob)
  const theirs = await comeBack(ground, bank, await goToBank(ground, bank, ann), bob)
  assert.deepEqual(theirs, { kind: 'failed', reason: 'different_account', code: 'other_person' })
  const chosen = 'FI:Mock ASPSP'
  const other = await comeBack(ground, chosen, await goToBank(ground, bank, bob), bob)
  assert.deepEqual(other, { kind: 'failed', reason: 'different_account', code: 'other_bank' })
  assert.deepEqual(sessionsOf(ground), ['CLOSED', 'CLOSED'])
  assert.equal((await visitBank(ground, bank, bob)).kind, 'agreed')
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

test('the session that a new one takes the place of is ended where it was opened here, and only then', async () => {
  await using ground = await makeGround()
  const { endFormer } = linkingOf(ground)
  const [former, current] = [await link(ground, 'healthy'), await link(ground, 'healthy')]
  await endFormer?.(former, former, call)
  assert.deepEqual(sessionsOf(ground), ['AUTHORIZED', 'AUTHORIZED'])
  await endFormer?.({ ...former, isOurs: false }, current, call)
  assert.deepEqual(sessionsOf(ground), ['AUTHORIZED', 'AUTHORIZED'])
  await endFormer?.(former, current, call)
  assert.deepEqual(sessionsOf(ground), ['CLOSED', 'AUTHORIZED'])
  // It may have ended by itself.
  await endFormer?.(former, current, call)
})
