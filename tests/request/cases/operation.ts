/**
 * The operation that a folder of request tests is about, with a user who may ask it and a query that it
 * answers.
 */
import { after, before } from 'node:test'
import { type Operation, type OperationName, operations } from '#contract/operations.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

export interface Asked {
  readonly operation: Operation
  readonly service: Service
  /** Professional and active. */
  readonly user: ServiceUser
  /** The operation's path with a query that it answers with 200. */
  readonly url: string
}

export function findOperation(name: OperationName): Operation {
  const operation = operations.find((one) => one.name === name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation
}

/** A service for the tests of one file; what it returns may be called inside tests only. */
export function askedOf(name: OperationName, env: Readonly<Record<string, string>> = {}) {
  let asked: Asked | null = null
  before(async () => {
    const service = await startService({ env })
    const user = await service.createUser()
    const operation = findOperation(name)
    asked = { operation, service, user, url: await toAnsweredUrl(service, user, operation) }
  })
  after(() => asked?.service.close())
  return (): Asked => {
    if (asked === null) throw new Error('the service is not started')
    return asked
  }
}

async function toAnsweredUrl(
  service: Service,
  user: ServiceUser,
  { path, name, access }: Operation,
): Promise<string> {
  if (access === 'brokerage') {
    const { connection } = await linkBroker(service, user, [{ positions: [position()] }])
    return `${path}?connectionId=${connection.id}`
  }
  if (name !== 'list_balances' && name !== 'list_transactions') return path
  const [connection] = await service.link(user, 'healthy', 'fiskil')
  const accounts = await service.accounts(user)
  const account = accounts.find(({ connectionId }) => connectionId === connection?.id)
  if (connection === undefined || account === undefined) throw new Error('nothing was linked')
  return name === 'list_balances'
    ? `${path}?accountIds=${account.id}`
    : `${path}?connectionId=${connection.id}&accountId=${account.id}`
}
