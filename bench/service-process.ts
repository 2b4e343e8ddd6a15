/** The service over a provider in another process. Argument: the facts of `provider.ts` as JSON. */
import { makeCreateProgram } from '#auth/programs/create-program.ts'
import { byOperator } from '#contract/actor.ts'
import { systemClock } from '#kernel/time.ts'
import { startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { access, people } = JSON.parse(process.argv[2] ?? '{}')
const { port, key, app, userId } = await startMeasured({ access, people })
const accounts = await app.store.accounts.list(userId)
const create = makeCreateProgram({ store: app.store, clock: systemClock })
const { secret: claim } = await create(byOperator, userId, {})
serveChild({
  port,
  key,
  claim,
  accounts: accounts.map(({ id, connectionId, provider }) => ({ id, connectionId, provider })),
})
