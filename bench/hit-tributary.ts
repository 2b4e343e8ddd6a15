/** The service as it runs in production. Argument: the facts of `hit-provider.ts` as JSON. */
import { addKey, startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { port, key, app, userId } = await startMeasured(JSON.parse(process.argv[2] ?? '{}'))
const accounts = await app.store.accounts.list(userId)
const account = accounts.find((row) => row.provider === 'fiskil' && row.type === 'transaction')
const path = (limit: number) =>
  `/v1/transactions?connectionId=${account?.connectionId}&accountId=${account?.id}&from=2026-01-01&limit=${limit}`
const narrowKey = await addKey(app, userId, {
  accountIds: account === undefined ? [] : [account.id],
  addresses: ['127.0.0.0/8'],
})
serveChild({ port, key, narrowKey, userId, small: path(3), large: path(92) })
