/**
 * The SnapTrade adapter: brokerage connections, holdings and trades behind the port of the house.
 * It owns the order of calls and the questions asked after a refusal; HTTP is `client.ts`, shapes
 * are `map-*.ts`, habits are `quirks.md`.
 */

import type { BrokerageAdapter, CallContext, ConnectionRef, Credentials, Login } from '../port.ts'
import { makeClient, type SnapTradeClient, type SnapTradeOptions, type User } from './client.ts'
import {
  checkEmptyAccount,
  checkEmptyConnection,
  explainRefusal,
  loseLogin,
  rejectedStatus,
  toLoginFailure,
} from './consent.ts'
import { discoverConnections } from './discover.ts'
import { fail } from './failures.ts'
import { toHoldings } from './map-holding.ts'
import { readRows } from './numbers.ts'
import { makeTradeReader, theAccount } from './trade-reader.ts'
import { WireAuthorizations } from './wire.ts'

export type { SnapTradeOptions } from './client.ts'

/** Opens the adapter; `throttle` is asked before every call and a refusal becomes `throttled`. */
export function makeSnapTrade(options: SnapTradeOptions): BrokerageAdapter {
  const client = makeClient(options)
  const onOddity = (what: string) => options.report.oddity({ provider: 'snaptrade', what })
  const asks = (login: Login, connection: ConnectionRef, call: CallContext) => ({
    client,
    user: toUser(login),
    connectionId: connection.upstreamId,
    call,
  })

  return {
    provider: 'snaptrade',
    category: 'brokerage',
    identify: (credentials, call) => identify(client, credentials, call),
    discover: async (login, call) => discoverConnections(client, toUser(login), call),
    revoke: async (login, connection, _options, call) =>
      revoke(client, toUser(login), connection, call),
    confirmEmpty: async (login, connection, call) =>
      checkEmptyConnection(asks(login, connection, call)),
    async holdings({ login, connection, account }, call) {
      const question = asks(login, connection, call)
      const body = await client
        .fetch(
          { route: '/accounts/{id}/positions/all', id: account.upstreamId },
          question.user,
          call,
        )
        .catch((error: unknown) => explainRefusal(error, question))
      const { rows } = readRows(body, 'results')
      if (rows.length === 0) await checkEmptyAccount(question, account.upstreamId, 'holdings')
      return toHoldings(rows, account, onOddity)
    },
    trades: makeTradeReader({
      onOddity,
      fetchPage: async (query, parameters, call) => {
        const question = asks(query.login, query.connection, call)
        const id = theAccount(query).upstreamId
        const request = { route: '/accounts/{id}/activities', id, query: parameters }
        return client
          .fetch(request, question.user, call)
          .catch((error: unknown) => explainRefusal(error, question))
      },
      checkEmpty: async (query, call) =>
        checkEmptyAccount(
          asks(query.login, query.connection, call),
          theAccount(query).upstreamId,
          'transactions',
        ),
    }),
    probe: (call) => client.probe(call),
    close: () => client.close(),
  }
}

function toUser(login: Login): User {
  if (login.secret === null) throw loseLogin('the secret of this SnapTrade user is not known')
  return { userId: login.upstreamUserId, userSecret: login.secret }
}

/**
 * SnapTrade tells nothing about a user but their connections: listing them proves id and secret.
 */
async function identify(client: SnapTradeClient, credentials: Credentials, call: CallContext) {
  if (credentials.provider !== 'snaptrade') {
    throw fail({ kind: 'rejected', status: 400, detail: 'these are no SnapTrade credentials' })
  }
  const { snaptradeUserId: userId, userSecret } = credentials
  if (userId === '' || userSecret === '') {
    throw fail({ kind: 'rejected', status: 400, detail: 'user id and user secret are both needed' })
  }
  const request = { route: '/authorizations' }
  await client.fetchParsed(WireAuthorizations, request, { userId, userSecret }, call)
  return { upstreamUserId: userId, secret: userSecret }
}

/**
 * The user stays, even without connections: their secret is shown once, so a deleted one could
 * not come back.
 */
async function revoke(
  client: SnapTradeClient,
  user: User,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const request = {
    method: 'DELETE',
    route: '/connection/{id}',
    id: connection.upstreamId,
  } as const
  try {
    await client.fetch(request, user, call)
  } catch (error) {
    // Gone already: the deletion was repeated, or somebody else was first.
    if (rejectedStatus(error) !== 404) throw toLoginFailure(error)
  }
}
