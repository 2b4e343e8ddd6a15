/**
 * A stored row of an agent that cannot be decrypted: the agent is told to connect again, the operator is told
 * that a row is damaged, and nobody else notices.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { SealError } from '#store/seal.ts'
import { connect, getCode, redeem, refresh, revoke } from './dance.ts'
import { startWorld } from './world.ts'

const world = await startWorld()
after(() => world?.close())

/** Damages what is stored, for one test: the rows of one model, or the grants. */
function damage(what: string): void {
  const db = new DatabaseSync(join(world.dataDir, 'tributary.db'))
  const damaged =
    what === 'Grant'
      ? db.prepare('update oauth_grants set payload = zeroblob(64)').run()
      : db.prepare('update oauth_rows set payload = zeroblob(64) where model = ?').run(what)
  db.close()
  assert.ok(Number(damaged.changes) > 0)
}

/** What was reported since the last call: nothing but rows that do not open. */
function takeReports(): number {
  const reports = world.failures.splice(0)
  for (const report of reports) assert.ok(report instanceof SealError, String(report))
  return reports.length
}

async function assertConnectsAgain(): Promise<void> {
  const tokens = await connect(world, await world.addPerson())
  assert.notEqual(await world.oauth.tokens.find(tokens.access_token), null)
  assert.equal(takeReports(), 0)
}

test('an access token whose row is damaged is no token, and the agent gets another', async () => {
  const tokens = await connect(world, await world.addPerson())
  damage('AccessToken')
  assert.equal(await world.oauth.tokens.find(tokens.access_token), null)
  assert.equal(takeReports(), 1)
  const fresh = await refresh(world, tokens)
  assert.equal(fresh.status, 200)
  assert.notEqual(await world.oauth.tokens.find(String(fresh.body.access_token)), null)
})

for (const model of ['RefreshToken', 'Grant', 'Agent']) {
  test(`a refresh with a damaged ${model} is invalid_grant, and connecting again helps`, async () => {
    const tokens = await connect(world, await world.addPerson())
    damage(model)
    const refused = await refresh(world, tokens)
    assert.equal(refused.status, 400)
    assert.equal(refused.body.error, 'invalid_grant')
    assert.ok(takeReports() > 0)
    await assertConnectsAgain()
  })
}

test('a damaged code is invalid_grant', async () => {
  const code = await getCode(world, await world.addPerson())
  damage('AuthorizationCode')
  const refused = await redeem(world, code)
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_grant'])
  assert.equal(takeReports(), 1)
})

test('a damaged client is invalid_client, so that it registers again', async () => {
  const tokens = await connect(world, await world.addPerson())
  damage('Client')
  const refused = await refresh(world, tokens)
  assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_client'])
  assert.ok(takeReports() > 0)
  await assertConnectsAgain()
})

test('a damaged token is revoked like one that does not exist (RFC 7009 §2.2)', async () => {
  const tokens = await connect(world, await world.addPerson())
  damage('RefreshToken')
  assert.equal((await revoke(world, tokens.clientId, tokens.refresh_token)).status, 200)
  assert.ok(takeReports() > 0)
})

test('an agent whose grant is damaged can be disconnected', async () => {
  const person = await world.addPerson()
  const tokens = await connect(world, person)
  const facts = await world.oauth.tokens.find(tokens.access_token)
  damage('Grant')
  const [agent] = await world.oauth.agents.list(person)
  assert.equal(agent?.clientId, facts?.clientId)
  const input = { grantId: agent?.grantId }
  assert.equal(await world.oauth.agents.disconnect(byOperator, person, input), true)
  assert.equal(await world.oauth.tokens.find(tokens.access_token), null)
})
