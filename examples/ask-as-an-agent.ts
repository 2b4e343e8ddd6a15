/**
 * The same accounts by both interfaces: an MCP tool called with an API key, compared with REST. It exits
 * with 1 when the two differ.
 *
 *   API_KEY=trib_live_… node scripts/pinned.js examples/ask-as-an-agent.ts
 */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { apiKey, ask, baseUrl, readArguments, stop } from './ask.ts'

readArguments(0, 'ask-as-an-agent.ts')
const client = new Client({ name: 'tributary-example', version: '1' })
const requestInit = { headers: { authorization: `Bearer ${apiKey}` } }
const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit })
// REST first: it reports a wrong address or key in one line.
await ask('/v1/connections')
await client.connect(transport).catch((error: unknown) => {
  stop(`${baseUrl}/mcp refused: ${String(error).split('\n')[0]}`)
})
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
