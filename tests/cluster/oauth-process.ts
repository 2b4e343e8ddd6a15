/**
 * One more authorization server for the cluster tests: a process of its own on the given PostgreSQL. It
 * prints where it listens and ends with its standard input.
 */
import { startWorld } from '#tests/request/oauth/world.ts'

const [databaseUrl = '', origin = ''] = process.argv.slice(2)

const world = await startWorld({
  databaseUrl,
  origins: { base: origin, mcp: origin, auth: origin },
})
console.log(world.url)
process.stdin.resume()
process.stdin.once('end', async () => {
  await world.close()
  process.exit(world.failures.length === 0 ? 0 : 1)
})
