/** The service as it runs in production with sandbox data behind it. */
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const sandbox = await startSandbox({ clock: systemClock })
const { port, key, app, userId } = await startMeasured({
  access: sandbox.access,
  people: sandbox.person('healthy'),
})
const accounts = await app.store.accounts.list(userId)
const account = accounts.find((row) => row.provider === 'fiskil' && row.type === 'transaction')
const path = (limit: number) =>
  `/v1/transactions?connectionId=${account?.connectionId}&accountId=${account?.id}&from=2026-01-01&limit=${limit}`
serveChild({ port, key, small: path(3), large: path(92) })
