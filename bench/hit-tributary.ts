/** The service as it runs in production. Argument: the facts of `hit-provider.ts` as JSON. */
import { startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { port, key, app, userId } = await startMeasured(JSON.parse(process.argv[2] ?? '{}'))
const accounts = await app.store.accounts.list(userId)
const account = accounts.find((row) => row.provider === 'fiskil' && row.type === 'transaction')
const path = (limit: number) =>
  `/v1/transactions?connectionId=${account?.connectionId}&accountId=${account?.id}&from=2026-01-01&limit=${limit}`
serveChild({ port, key, userId, small: path(3), large: path(92) })
