/**
 * The same accounts by both doors: a tool of the agent interface (MCP) called with an API key, held against REST. It ends
 * with 1 when the two differ.
 *
 *   API_KEY=trib_live_… node scripts/pinned.js examples/ask-as-an-agent.ts
 */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { apiKey, ask, baseUrl } from './ask.ts'

const client = new Client({ name: 'tributary-example', version: '1' })
const requestInit = { headers: { authorization: `Bearer ${apiKey}` } }
await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit }))
try {
  const { tools } = await client.listTools()
  console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`)

  const result = await client.callTool({ name: 'list_accounts', arguments: { limit: 20 } })
  assert.notEqual(result.isError, true, JSON.stringify(result.structuredContent))
  assert.deepEqual(result.structuredContent, await ask('/v1/accounts?limit=20'))
  console.log('list_accounts and GET /v1/accounts say the same')
} finally {
  await client.close()
}
