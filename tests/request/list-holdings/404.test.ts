import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const broker = await linkBroker(service, user, [{ positions: [position()] }])
const other = await linkBroker(service, user, [{ positions: [position()] }])
const foreign = await linkBroker(service, await service.createUser(), [{ positions: [position()] }])
after(() => service.close())

for (const path of ['/v1/holdings', '/v1/trades']) {
  test(`R12: ${path}: an unknown, another user’s and a malformed connection id get the same 404, byte for byte`, async () => {
    const texts = new Set<string>()
    for (const id of [randomUUID(), foreign.connection.id, 'nonsense', '%00', '../..', '%F0%9F']) {
      const answer = await service.get(`${path}?connectionId=${id}`, user)
      assert.equal(answer.status, 404)
      assert.equal(codeOf(answer), 'connection_not_found')
      texts.add(answer.text)
    }
    assert.equal(texts.size, 1)
  })

  test(`R12: ${path}: any bad account id is the same 404, among good ones too`, async () => {
    const good = broker.accounts[0]?.id ?? ''
    const texts = new Set<string>()
    for (const bad of [
      randomUUID(),
      foreign.accounts[0]?.id,
      other.accounts[0]?.id,
      'nonsense',
      `${good}0`,
      `%20${good}`,
    ]) {
      for (const query of [`accountId=${bad}`, `accountIds=${bad}`, `accountIds=${good},${bad}`]) {
        const url = `${path}?connectionId=${broker.connection.id}&${query}`
        const answer = await service.get(url, user)
        assert.equal(answer.status, 404, query)
        assert.equal(codeOf(answer), 'account_not_found')
        texts.add(answer.text)
      }
    }
    assert.equal(texts.size, 1)
  })

  test(`${path}: an account that left the connection is not found, and the connection still works`, async () => {
    const own = await linkBroker(service, user, [
      { positions: [position()] },
      { positions: [position()] },
    ])
    const [connection] = own.person.connections
    const [stays, leaves] = own.accounts
    assert(connection !== undefined && stays !== undefined && leaves !== undefined)
    connection.accounts = connection.accounts.filter(({ id }) => id === stays.upstreamId)
    await service.app.connections.refreshConnection(byOperator, own.connection.id, {
      priority: 'user',
    })
    const url = `${path}?connectionId=${own.connection.id}`
    assert.equal(
      codeOf(await service.get(`${url}&accountId=${leaves.id}`, user)),
      'account_not_found',
    )
    assert.equal((await service.get(url, user)).status, 200)
  })
}
