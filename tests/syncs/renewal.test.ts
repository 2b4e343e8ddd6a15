/**
 * A consent of Fiskil that expired and was given anew, with another id and other account ids: the connection
 * and its accounts keep ours, before and after the accounts arrive, and rows that kept their ids are not
 * announced again.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { SandboxConsent } from '#sandbox/fiskil/world.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

const day = 86_400_000

interface Linked {
  readonly service: Service
  readonly user: ServiceUser
  readonly id: ConnectionId
  readonly consent: SandboxConsent
}

/** A person whose rows were read once, with a ledger. */
async function linkWattle(t: TestContext): Promise<Linked> {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  await service.app.store.ledgers.begin(user.id)
  const rows = await service.link(user, 'healthy', 'fiskil')
  const row = rows.find(({ institutionId }) => institutionId === '22')
  const { consents } = service.sandbox.fiskil.people.healthy ?? assert.fail('nobody is healthy')
  const consent = consents.find(({ institutionId }) => institutionId === '22')
  assert(row && consent)
  const first = await service.app.syncs.runSync(byOperator, row.id)
  assert.ok(first.newCount > 0)
  return { service, user, id: row.id, consent }
}

async function refresh({ service, id }: Linked): Promise<void> {
  await service.app.connections.refreshConnection(byOperator, id, { priority: 'user' })
}

const idsByName = async ({ service, user, id }: Linked) => {
  const rows = await service.app.store.accounts.listByConnection(user.id, id)
  return Object.fromEntries(rows.map((row) => [row.name, row.id]))
}

const statusOf = async ({ service, id }: Linked) =>
  (await service.app.store.connections.find(id))?.status

/** The bank gives the consent and its accounts new ids; what the accounts are stays. */
function renewWithNewIds(consent: SandboxConsent, nowMs: number): void {
  consent.arrangementId = randomUUID()
  consent.createdAtMs = nowMs
  consent.expiresAtMs = nowMs + 365 * day
  for (const { body } of consent.accounts) {
    body.account_id = randomUUID()
    body.fiskil_id = `bank_acc_${randomUUID().slice(0, 8)}`
  }
}

test('an expired consent that is given anew keeps all ids, also when its accounts arrive later', async (t) => {
  const linked = await linkWattle(t)
  const { service, consent } = linked
  const before = await idsByName(linked)
  assert.ok(Object.keys(before).length > 2)
  consent.expiresAtMs = service.clock.now()
  service.clock.advance(1000)
  await refresh(linked)
  assert.equal(await statusOf(linked), 'invalidated')
  renewWithNewIds(consent, service.clock.now())
  consent.synced = false
  await refresh(linked)
  assert.equal(await statusOf(linked), 'active')
  assert.deepEqual(await idsByName(linked), before)
  consent.synced = true
  await refresh(linked)
  assert.deepEqual(await idsByName(linked), before)
  const again = await service.app.syncs.runSync(byOperator, linked.id)
  assert.equal(again.newCount, 0)
})

test('an ordinary refresh gives no account the id of another one that closed the same day', async (t) => {
  const linked = await linkWattle(t)
  const before = await idsByName(linked)
  const account = linked.consent.accounts[0] ?? assert.fail('there is no account')
  account.body.account_id = randomUUID()
  account.body.display_name = 'Another Account'
  delete account.body.nickname
  await refresh(linked)
  const after = await idsByName(linked)
  const old = new Set(Object.values(before))
  assert.equal(Object.values(after).filter((id) => !old.has(id)).length, 1)
})

test('accounts that arrive one after the other after a renewal with new ids keep ours, by their numbers', async (t) => {
  const linked = await linkWattle(t)
  const { service, consent } = linked
  const before = await idsByName(linked)
  const all = [...consent.accounts]
  renewWithNewIds(consent, service.clock.now())
  for (const count of [1, 2, all.length]) {
    consent.accounts.splice(0, consent.accounts.length, ...all.slice(0, count))
    await refresh(linked)
    service.clock.advance(60_000)
  }
  assert.deepEqual(await idsByName(linked), before)
})
