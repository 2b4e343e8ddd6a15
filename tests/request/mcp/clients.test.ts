/**
 * Both official client lines with an API key: they connect, list and call all six tools, and hold every
 * result against the tool's own output schema, errors included (reading R28).
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
await service.link(user, 'healthy')
after(() => service.close())

interface Result {
  readonly isError?: boolean | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly structuredContent?: any
}

interface Agent {
  readonly version: string | undefined
  readonly instructions: string | undefined
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  call(name: string, args?: Record<string, unknown>): Promise<Result>
  close(): Promise<void>
}

const info = { name: 'test', version: '1' }
const url = () => new URL(`${service.baseUrl}/mcp`)
const requestInit = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

async function connectNew(mode: 'auto' | 'legacy', key: string): Promise<Agent> {
  const client = new Client(info, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: requestInit(key) }))
  return {
    version: client.getNegotiatedProtocolVersion(),
    instructions: client.getInstructions(),
    listTools: () => client.listTools(),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  }
}

async function connectOld(key: string): Promise<Agent> {
  const client = new OldClient(info)
  const transport = new OldTransport(url(), { requestInit: requestInit(key) })
  await client.connect(transport as Parameters<OldClient['connect']>[0])
  return {
    version: transport.protocolVersion,
    instructions: client.getInstructions(),
    listTools: () => client.listTools(),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  }
}

const lines = {
  '2.4, 2026-07-28': { connect: (key: string) => connectNew('auto', key), version: '2026-07-28' },
  '2.4, legacy': { connect: (key: string) => connectNew('legacy', key), version: '2025-11-25' },
  '1.32': { connect: connectOld, version: '2025-11-25' },
}

for (const [line, { connect, version }] of Object.entries(lines)) {
  test(`client ${line}: reaches all six tools with a key`, async () => {
    const agent = await connect(user.key)
    try {
      assert.equal(agent.version, version)
      assert.match(agent.instructions ?? '', /never instructions to follow/)
      const { tools } = await agent.listTools()
      assert.equal(tools.length, 6)
      await callAll(agent)
    } finally {
      await agent.close()
    }
  })

  test(`client ${line}: error results pass its own check of the output schema`, async () => {
    const agent = await connect(user.key)
    try {
      // The 1.x line checks results against schemas only once it has listed them.
      await agent.listTools()
      const result = await agent.call('list_accounts', { limit: 0 })
      assert.equal(result.isError, true)
      assert.equal(result.structuredContent.error.code, 'invalid_params')
    } finally {
      await agent.close()
    }
  })
}

async function callAll(agent: Agent): Promise<void> {
  const connections = await agent.call('list_connections')
  const idOf = (category: string) =>
    connections.structuredContent.data.find(
      (row: { category: string }) => row.category === category,
    ).id
  const accounts = await agent.call('list_accounts')
  const bankAccounts = accounts.structuredContent.data.filter(
    (row: { connectionId: string }) => row.connectionId === idOf('banking'),
  )
  const balances = await agent.call('list_balances', {
    accountIds: bankAccounts.slice(0, 3).map((row: { id: string }) => row.id),
  })
  const transactions = await agent.call('list_transactions', {
    connectionId: idOf('banking'),
    accountId: bankAccounts[0].id,
    limit: 5,
  })
  const holdings = await agent.call('list_holdings', { connectionId: idOf('brokerage') })
  const trades = await agent.call('list_trades', { connectionId: idOf('brokerage'), limit: 5 })
  for (const result of [connections, accounts, balances, transactions, holdings, trades]) {
    assert.equal(result.isError ?? false, false)
    assert(Array.isArray(result.structuredContent.data))
  }
}

test('every schema is valid JSON Schema 2020-12, and admits what the tool answers', async () => {
  const agent = await connectNew('auto', user.key)
  try {
    const { tools } = (await agent.listTools()) as {
      tools: { name: string; inputSchema: object; outputSchema: object; annotations: object }[]
    }
    const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true })
    addFormats.default(ajv)
    for (const tool of tools) {
      assert(ajv.validateSchema(tool.inputSchema), tool.name)
      assert(ajv.validateSchema(tool.outputSchema), tool.name)
      assert.deepEqual(
        { ...tool.annotations, title: null },
        {
          title: null,
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: true,
        },
      )
      const check = ajv.compile(tool.outputSchema)
      assert(check({ error: { message: 'no' } }), tool.name)
      assert.equal(check({ data: 7 }), false, tool.name)
    }
    const accounts = await agent.call('list_accounts')
    const check = ajv.compile(
      tools.find(({ name }) => name === 'list_accounts')?.outputSchema ?? {},
    )
    assert(check(accounts.structuredContent))
  } finally {
    await agent.close()
  }
})
