/**
 * Messages that no client should send: the right JSON-RPC or HTTP error, never a 5xx, never a hang (JSON-RPC
 * 2.0 §5.1).
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { modern, post, rpc, toolCall } from '#tests/support/agent.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

const parseError = -32_700
const invalidRequest = -32_600
const methodNotFound = -32_601
const invalidParams = -32_602

const send = (payload: unknown, headers: Record<string, string> = {}) =>
  post(service, payload, { as: user, headers })

const noJson: Readonly<Record<string, string | Buffer>> = {
  'nothing at all': '',
  blanks: '   ',
  'half an object': '{"jsonrpc":"2.0","id":1,"method":"ping"',
  'a trailing comma': '{"jsonrpc":"2.0","id":1,"method":"ping",}',
  'two documents': '{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
  'single quotes': "{'jsonrpc':'2.0'}",
  NaN: '{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
  'a NUL byte': '{"jsonrpc":"2.0","id":1,"method":"pi\u0000ng"}',
  'a broken UTF-8 sequence': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'UTF-16': Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le'),
  'an open nest of 16,000 brackets': '['.repeat(16_000),
}
for (const [name, payload] of Object.entries(noJson)) {
  test(`${name}: a parse error, HTTP 400`, async () => {
    const answer = await send(payload)
    assert.equal(answer.status, 400)
    assert.equal(answer.body.error.code, parseError)
    assert.equal(answer.body.id, null)
  })
}

const noMessage: Readonly<Record<string, unknown>> = {
  null: 'null',
  'a number': '7',
  'a text': '"ping"',
  true: 'true',
  'an empty object': {},
  'no version': { id: 1, method: 'ping' },
  'another version': { jsonrpc: '1.0', id: 1, method: 'ping' },
  'a version that is a number': { jsonrpc: 2, id: 1, method: 'ping' },
  'a method that is a number': { jsonrpc: '2.0', id: 1, method: 5 },
  'an id that is null': { jsonrpc: '2.0', id: null, method: 'ping' },
  'an id that is an object': { jsonrpc: '2.0', id: {}, method: 'ping' },
  'parameters in a list': { jsonrpc: '2.0', id: 1, method: 'ping', params: [1] },
  'parameters that are text': { jsonrpc: '2.0', id: 1, method: 'ping', params: 'x' },
  'a nest of 8,000 brackets': `${'['.repeat(8000)}${']'.repeat(8000)}`,
  'an empty batch': [],
  'a batch with a number': [rpc('ping'), 7],
  'a batch in a batch': [[rpc('ping')]],
  'a batch of 11': Array.from({ length: 11 }, (_, id) => rpc('ping', {}, id)),
  'a batch whose ids are equal': [rpc('ping', {}, 1), toolCall('list_connections', {}, 1)],
}
for (const [name, payload] of Object.entries(noMessage)) {
  test(`${name}: an invalid request, HTTP 400`, async () => {
    const answer = await send(payload)
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.error.code, invalidRequest)
    assert.equal(answer.body.jsonrpc, '2.0')
  })
}

test('an invalid request is answered to its own id where it has one', async () => {
  const answer = await send({ jsonrpc: '2.0', id: 'seven', method: 5 })
  assert.equal(answer.body.id, 'seven')
})

test('a batch of ten runs, and answers each entry once', async () => {
  const ids = Array.from({ length: 10 }, (_, id) => id)
  const answer = await send(ids.map((id) => rpc('ping', {}, id)))
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.map((entry: { id: number }) => entry.id).sort(), ids)
})

test('a batch of one is answered as a batch', async () => {
  const answer = await send([rpc('ping', {}, 'only')])
  assert.deepEqual(answer.body, [{ jsonrpc: '2.0', id: 'only', result: {} }])
})

test('ids of different types are different ids', async () => {
  const answer = await send([rpc('ping', {}, 1), rpc('ping', {}, '1')])
  assert.equal(answer.body.length, 2)
})

for (const [name, payload] of Object.entries({
  'a notification': { jsonrpc: '2.0', method: 'notifications/initialized' },
  'a notification nobody knows': { jsonrpc: '2.0', method: 'notifications/unknown', params: {} },
  'notifications only': [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } },
  ],
  'a response to nothing': { jsonrpc: '2.0', id: 4, result: {} },
  'a cancellation of nothing': {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 1 },
  },
  'a call that was meant as a notification': {
    jsonrpc: '2.0',
    method: 'tools/call',
    params: { name: 'list_connections' },
  },
})) {
  test(`${name}: 202 without a body`, async () => {
    const answer = await send(payload)
    assert.equal(answer.status, 202, answer.text)
    assert.equal(answer.text, '')
  })
}

test('a call that its own batch cancels is answered all the same', async () => {
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  const answer = await send([toolCall('list_connections', {}, 1), cancel, rpc('ping', {}, 2)])
  assert.equal(answer.status, 200)
  assert.equal(answer.body.length, 2)
})

for (const method of [
  'no/such/method',
  'prompts/list',
  'resources/list',
  'sampling/createMessage',
  '',
]) {
  test(`the method "${method}" is not found`, async () => {
    const answer = await send(rpc(method))
    assert.equal(answer.status, 200)
    assert.equal(answer.body.error.code, methodNotFound)
    assert.equal(answer.body.id, 1)
  })
}

const badParams: Readonly<Record<string, unknown>> = {
  'a tool nobody has': rpc('tools/call', { name: 'delete_everything' }),
  'the seventh operation, which is no tool': rpc('tools/call', { name: 'list_categories' }),
  'a property of every object': rpc('tools/call', { name: 'constructor' }),
  'no name': rpc('tools/call', {}),
  'no parameters': rpc('tools/call'),
  'a name that is a number': rpc('tools/call', { name: 7 }),
  'arguments in a list': rpc('tools/call', { name: 'list_accounts', arguments: [] }),
  'arguments that are text': rpc('tools/call', { name: 'list_accounts', arguments: '{}' }),
  'arguments that are null': rpc('tools/call', { name: 'list_accounts', arguments: null }),
  'a cursor that was never given': rpc('tools/list', { cursor: 'page-2' }),
  'a cursor that is a number': rpc('tools/list', { cursor: 5 }),
  'an initialization without parameters': rpc('initialize'),
  'an initialization that says nothing': rpc('initialize', {}),
  'a protocol version that is a number': rpc('initialize', {
    protocolVersion: 5,
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }),
}
for (const [name, payload] of Object.entries(badParams)) {
  test(`${name}: invalid params`, async () => {
    const answer = await send(payload)
    assert.equal(answer.status, 200)
    assert.equal(answer.body.error?.code, invalidParams, answer.text)
    assert.equal(answer.body.id, 1)
    assert.doesNotMatch(answer.body.error.message, /[\n{[]/, 'one line, and no dump')
  })
}

test('invalid params are reported by name, in both protocol generations', async () => {
  const initialize = await send(rpc('initialize', { protocolVersion: '2025-11-25' }))
  assert.equal(
    initialize.body.error.message,
    'Invalid params: params.capabilities: expected object, received undefined; params.clientInfo: expected object, received undefined',
  )
  const args = 'Invalid params: params.arguments: expected record, received array'
  const call = { name: 'list_accounts', arguments: [1] }
  assert.equal((await send(rpc('tools/call', call))).body.error.message, args)
  const later = modern('tools/call', call)
  const answer = await send(later.payload, later.headers)
  assert.deepEqual(
    [answer.status, answer.body.error],
    [200, { code: invalidParams, message: args }],
  )
})

test('in a batch invalid params are the error of their entry, and the others run', async () => {
  const answer = await send([
    rpc('initialize', {}, 1),
    rpc('tools/call', { name: 'list_accounts', arguments: [1] }, 2),
    toolCall('list_connections', {}, 3),
  ])
  assert.equal(answer.status, 200)
  interface Entry {
    readonly id: number
    readonly error?: { readonly code: number }
    readonly result?: { readonly structuredContent: unknown }
  }
  const entries = (answer.body as readonly Entry[]).toSorted((one, other) => one.id - other.id)
  assert.deepEqual(
    entries.map(({ id, error }) => [id, error?.code]),
    [
      [1, invalidParams],
      [2, invalidParams],
      [3, undefined],
    ],
  )
  assert.deepEqual(entries[2]?.result?.structuredContent, { data: [] })
})

test('invalid params charge no bucket', async () => {
  const cost = async (payload: unknown) =>
    Number((await send(payload)).headers['x-ratelimit-remaining'])
  const malformed = rpc('tools/call', { name: 'list_accounts', arguments: [1] })
  assert.equal(await cost(malformed), await cost(malformed))
})

test('of two keys of one name the last counts, once and for all', async () => {
  const answer = await send(
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"list_holdings","name":"list_connections"}}',
  )
  assert.deepEqual(answer.body.result.structuredContent, { data: [] })
})

test('numbers beyond every bound break nothing', async () => {
  for (const number of ['1e999', '-1e999', '1e-999', '9'.repeat(400), '-0']) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_accounts","arguments":{"limit":${number}}}}`
    const answer = await send(text)
    assert.equal(answer.body.result.structuredContent.error.code, 'invalid_params', number)
  }
  const id = await send(`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`)
  assert.equal(id.status, 400)
})

test('deeply nested arguments are ignored like any unknown one', async () => {
  const nest = `${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}`
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_accounts","arguments":{"limit":1,"x":${nest}}}}`
  const answer = await send(text)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.result.isError, undefined)
})

test('a message that is nested deeply outside of its arguments is an invalid request, in both protocol generations', async () => {
  const nest = `${'{"a":'.repeat(1500)}1${'}'.repeat(1500)}`
  const later = modern('tools/call', { name: 'list_accounts', arguments: {} })
  const initialize = rpc('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  const texts = [JSON.stringify(later.payload), JSON.stringify(initialize)]
  for (const text of [...texts, `[${texts[1]}]`]) {
    const deep = text.replace(/apabilities":\{/, `apabilities":{"experimental":${nest},`)
    const answer = await send(deep.replace(',}', '}'), text === texts[0] ? later.headers : {})
    assert.equal(answer.status, 400, answer.text)
    assert.equal(answer.body.error.code, invalidRequest)
    assert.equal(answer.body.id, text.startsWith('[') ? null : 1)
  }
})

test('an error never repeats what was sent', async () => {
  const canary = 'canary-7f3a'
  for (const payload of [
    rpc('tools/call', { name: canary }),
    rpc('tools/list', { cursor: canary }),
    rpc('tools/list', { cursor: { [canary]: canary } }),
    rpc('tools/call', { name: [canary], arguments: canary, [canary]: 1 }),
    rpc('initialize', { protocolVersion: { canary }, capabilities: { [canary]: canary } }),
    rpc('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { experimental: { [canary]: canary } },
      clientInfo: { name: 'test', version: '1', icons: [{ src: 1, [canary]: canary }] },
    }),
    `{"${canary}`,
    { jsonrpc: '2.0', id: 1, method: 5, params: canary },
  ]) {
    assert.equal((await send(payload)).text.includes(canary), false, JSON.stringify(payload))
  }
})

const revisions = [
  ['1999-01-01', 400],
  ['2025-06-18', 200],
  ['2024-11-05', 200],
] as const
for (const [revision, status] of revisions) {
  test(`MCP-Protocol-Version ${revision} is answered ${status}`, async () => {
    const answer = await send(rpc('ping'), { 'mcp-protocol-version': revision })
    assert.equal(answer.status, status)
  })
}

test('2026-07-28: headers that contradict the body are refused, and so are batches', async () => {
  const call = modern('tools/call', { name: 'list_accounts', arguments: {} })
  const mismatch = { ...call.headers, 'mcp-name': 'list_connections' }
  const other = await send(call.payload, mismatch)
  assert.deepEqual([other.status, other.body.error.code], [400, -32_020])
  const without = await send(call.payload, { 'mcp-protocol-version': '2026-07-28' })
  assert.deepEqual([without.status, without.body.error.code], [400, -32_020])
  const batch = await send([call.payload], call.headers)
  assert.deepEqual([batch.status, batch.body.error.code], [400, invalidRequest])
})

test('2026-07-28: an unknown method is not found, a future revision gets the list of supported ones', async () => {
  const unknown = modern('no/such/method')
  const answer = await send(unknown.payload, unknown.headers)
  assert.equal(answer.body.error.code, methodNotFound)
  const earlier = modern('initialize')
  const gone = await send(earlier.payload, earlier.headers)
  assert.deepEqual([gone.status, gone.body.error.code], [404, methodNotFound])
  const text = JSON.stringify(modern('tools/list').payload).replaceAll('2026-07-28', '2099-01-01')
  const future = await send(text, {
    'mcp-protocol-version': '2099-01-01',
    'mcp-method': 'tools/list',
  })
  assert.equal(future.status, 400)
  assert.deepEqual(future.body.error.data.supported, ['2026-07-28'])
})

test('2026-07-28: a subscription to changes is acknowledged and closed, since nothing changes', async () => {
  const listen = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const answer = await send(listen.payload, listen.headers)
  assert.equal(answer.status, 200)
  assert.match(answer.text, /subscriptions\/acknowledged/)
})
