/** The service over a provider in another process. Argument: the facts of `provider.ts` as JSON. */
import { startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { access, people } = JSON.parse(process.argv[2] ?? '{}')
const { port, key, app, userId } = await startMeasured({ access, people })
const accounts = await app.store.accounts.list(userId)
serveChild({
  port,
  key,
  accounts: accounts.map(({ id, connectionId, provider }) => ({ id, connectionId, provider })),
})
