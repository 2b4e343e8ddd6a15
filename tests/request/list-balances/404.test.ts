import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { upstreamId } from '#kernel/ids.ts'
import { replaceAccounts } from '#tests/contract/store/rows.ts'
import { plantBank } from '#tests/support/bank.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const own = (await plantBank(service, user, { accounts: [{}] })).accounts[0]?.id ?? ''
after(() => service.close())

const ask = (id: string) => service.get(`/v1/balances?accountIds=${own},${id}`, user)

test('an account that does not exist and another user’s get the same 404 without code, byte for byte', async () => {
  const stranger = await service.createUser()
  const foreign = (await plantBank(service, stranger, { accounts: [{}] })).accounts[0]?.id ?? ''
  const [unknown, theirs] = [await ask(randomUUID()), await ask(foreign)]
  assert.equal(unknown.status, 404)
  assert.equal(codeOf(unknown), undefined)
  assert.equal('details' in unknown.body.error, false)
  assert.equal(theirs.status, 404)
  assert.equal(theirs.text, unknown.text)
})

test('a hidden account and one of a deleting connection do not exist', async () => {
  const bank = await plantBank(service, user, {
    accounts: [{ upstreamId: upstreamId('stays') }, { upstreamId: upstreamId('leaves') }],
  })
  const leaves = bank.accounts.find((row) => row.upstreamId === 'leaves')
  const stays = bank.accounts.find((row) => row.upstreamId === 'stays')
  assert(leaves !== undefined && stays !== undefined)
  assert.equal((await ask(leaves.id)).status, 200)
  await replaceAccounts(service.app.store, bank.connection.id, [
    { ...stays, previousUpstreamId: null },
  ])
  assert.equal((await ask(leaves.id)).status, 404)
  assert.equal((await ask(stays.id)).status, 200)
  await service.app.store.connections.setStatus(bank.connection.id, 'deleting')
  assert.equal((await ask(stays.id)).status, 404)
})
