/** The tools that an operator lists beyond those of the contract (reading R44). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'
import { emit, manyDigits, transactionText } from '../list-events/emitted.ts'

async function open(t: TestContext, env: Record<string, string>) {
  const service = await startService({ env })
  t.after(() => service.close())
  return { service, user: await service.createUser() }
}

async function ask(service: Service, user: ServiceUser, method: string, params: object) {
  const response = await fetch(`${service.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${user.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  return { text, body: JSON.parse(text) }
}

const six = [
  'list_connections',
  'list_accounts',
  'list_balances',
  'list_transactions',
  'list_holdings',
  'list_trades',
]

const namesOf = async (service: Service, user: ServiceUser) =>
  (await ask(service, user, 'tools/list', {})).body.result.tools.map(
    ({ name }: { name: string }) => name,
  )

test('R44: list_changes is listed and callable with MCP_EXTRA_TOOLS alone', async (t) => {
  const plain = await open(t, {})
  assert.deepEqual(await namesOf(plain.service, plain.user), six)
  const call = { name: 'list_changes', arguments: {} }
  const refused = await ask(plain.service, plain.user, 'tools/call', call)
  assert.equal(refused.body.error.code, -32602)
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  assert.deepEqual(await namesOf(service, user), [...six, 'list_changes'])
})

test('R44: list_changes goes on from a cursor, and ends a page before it is too large for a model', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const changes = async (args: object) => {
    const asked = { name: 'list_changes', arguments: args }
    const { text, body } = await ask(service, user, 'tools/call', asked)
    assert.equal(body.result.isError, undefined, text)
    return { text, ...body.result.structuredContent, line: body.result.content[1].text }
  }
  const first = await changes({})
  assert.deepEqual(first.data, [])
  assert.match(first.line, /^Nothing new\. Keep next/)
  const rows = Array.from({ length: 60 }, () => transactionText())
  const bodies: string[] = []
  for (let run = 0; run < 6; run += 1) {
    bodies.push(...(await emit(service.app.store, user.id, { rows })))
  }
  const ids: string[] = []
  let after = first.next
  for (let page = 0; page < 10; page += 1) {
    const { data, next, text } = await changes({ after, types: ['transactions.synced'] })
    if (data.length === 0) break
    assert.ok(data.length < bodies.length)
    assert.ok(text.length <= 90_000)
    assert.ok(text.includes(manyDigits))
    ids.push(...data.map(({ id }: { id: string }) => id))
    after = next
  }
  assert.deepEqual(
    ids,
    bodies.map((body) => JSON.parse(body).id),
  )
})

test('R44: a wrong cursor is an error with the words of REST', async (t) => {
  const { service, user } = await open(t, { MCP_EXTRA_TOOLS: 'true' })
  const call = { name: 'list_changes', arguments: { after: 'x', types: [] } }
  const { body } = await ask(service, user, 'tools/call', call)
  assert.equal(body.result.isError, true)
  assert.equal(body.result.structuredContent.error.code, 'invalid_params')
})
