/**
 * Two processes of one service: while one deletes a user, the other links, makes keys, sets passwords and
 * plans.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fleet, startFleet } from './fleet.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet()
})
after(() => fleet?.close())

/** The status of an admin call; one that says anything but that the user is gone fails the test. */
async function statusOf(work: Promise<{ readonly status: number }>): Promise<number> {
  try {
    return (await work).status
  } catch (error) {
    assert.match(String(error), /user_not_found/)
    return 404
  }
}

test('everything that another process adds to a user who is being deleted is refused or deleted', async () => {
  const { one, two, sandbox } = fleet
  const { consents } = sandbox.fiskil.people.healthy
  const credentials = sandbox.person('healthy').find(({ provider }) => provider === 'fiskil')
  const outcomes = new Set<number>()
  for (let round = 0; round < 12; round += 1) {
    sandbox.fiskil.faultControls.consent.renew('healthy')
    const { id, key } = await fleet.createUser()
    // From a deletion that is over before the link saves anything to one that begins behind it.
    const path = `/users/${id}`
    const linking = statusOf(two.admin('POST', `${path}/connections`, { ...credentials }))
    await sleep(round * 4)
    const [deleted, linked, ...others] = await Promise.all([
      statusOf(one.admin('DELETE', path)),
      linking,
      statusOf(two.admin('POST', `${path}/keys`)),
      statusOf(two.admin('PUT', `${path}/plan`, { plan: 'developer', status: 'active' })),
      statusOf(two.admin('PUT', `${path}/password`, { password: 'long enough for anybody' })),
    ])
    assert.equal(deleted, 204)
    outcomes.add(linked)
    assert.ok([linked, ...others].every((status) => [200, 201, 204, 404].includes(status)))
    if (linked === 201) assert.ok(consents.every(({ active }) => !active))
    for (const server of [one, two]) {
      assert.equal(await statusOf(server.admin('GET', path)), 404)
      assert.equal((await server.get('/v1/connections', key)).status, 401)
    }
  }
  assert.ok(outcomes.has(404))
})
