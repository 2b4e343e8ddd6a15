/**
 * The same accounts by both interfaces: an MCP tool called with an API key, compared with REST. It exits
 * with 1 when the two differ.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/ask-as-an-agent.ts
 */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { openClient, readArguments, run, stop } from './client.ts'

readArguments(0, 'ask-as-an-agent.ts')
const rest = openClient()

await run(async () => {
  // REST first: it reports a wrong address or key in one line.
  const { data, pagination } = await rest.accounts.list({ limit: 20 })

  const { baseUrl } = rest.toJSON()
  const headers = { authorization: `Bearer ${process.env.TRIBUTARY_API_KEY}` }
  const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
    requestInit: { headers },
  })
  const agent = new Client({ name: 'tributary-example', version: '1' })
  await agent.connect(transport).catch((error: unknown) => {
    stop(`${baseUrl}/mcp refused: ${String(error).split('\n')[0]}`)
  })
  try {
    const { tools } = await agent.listTools()
    console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`)

    const result = await agent.callTool({ name: 'list_accounts', arguments: { limit: 20 } })
    assert.notEqual(result.isError, true, JSON.stringify(result.structuredContent))
    assert.deepEqual(result.structuredContent, { data, pagination })
    console.log('list_accounts and GET /v1/accounts say the same')
  } finally {
    await agent.close()
  }
})
