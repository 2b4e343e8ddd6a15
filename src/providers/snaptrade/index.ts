/**
 * The SnapTrade adapter: brokerage connections, holdings and trades. It owns the order of calls and the checks after
 * a refusal; HTTP is in `client.ts`, shapes are in `map-*.ts`, quirks of the provider in `quirks.md`.
 */

import type { Credentials } from '../credentials.ts'
import type { BrokerageAdapter, CallContext, ConnectionRef, Login } from '../port.ts'
import { makeClient, type SnapTradeClient, type SnapTradeOptions, type User } from './client.ts'
import {
  confirmEmpty,
  explainRefusal,
  listAlive,
  loseLogin,
  rejectedStatus,
  toLoginFailure,
} from './consent.ts'
import { discoverConnections } from './discover.ts'
import { fail } from './failures.ts'
import { toHoldings } from './map-holding.ts'
import { readRows } from './numbers.ts'
import { makeTradeReader, theAccount } from './reader.ts'
import { makeSnapTradeWebhooks } from './webhook.ts'
import { WireAuthorizations } from './wire.ts'

export type { SnapTradeOptions } from './client.ts'

/** Makes the adapter; `throttle` is consulted before every call, and a refusal becomes `throttled`. */
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
    freshness: 'reported',
    access: {
      hasOwnCredentials: true,
      mode: 'commercial key',
      off: [],
      nextStep:
        'Run `tributary connections link U --provider snaptrade --snaptrade-user-id X --user-secret -` with a user that is registered under this key.',
    },
    identify: (credentials, call) => identify(client, credentials, call),
    discover: async (login, call) => discoverConnections(client, toUser(login), call),
    revoke: async (login, connection, _options, call) =>
      revoke(client, toUser(login), connection, call),
    confirmEmpty: async (login, connection, call, asked) =>
      confirmEmpty(asks(login, connection, call), asked),
    listAlive: (login, call) => listAlive(client, toUser(login), call),
    async holdings({ login, connection, account }, call) {
      const question = asks(login, connection, call)
      const body = await client
        .fetch(
          { route: '/accounts/{id}/positions/all', id: account.upstreamId },
          question.user,
          call,
        )
        .catch((error: unknown) => explainRefusal(error, question, account))
      return toHoldings(readRows(body, 'results').rows, account, onOddity)
    },
    trades: makeTradeReader({
      onOddity,
      fetchPage: async (query, parameters, call) => {
        const question = asks(query.login, query.connection, call)
        const account = theAccount(query)
        const id = account.upstreamId
        const request = { route: '/accounts/{id}/activities', id, query: parameters }
        return client
          .fetch(request, question.user, call)
          .catch((error: unknown) => explainRefusal(error, question, account))
      },
    }),
    probe: (call) => client.probe(call),
    webhooks: makeSnapTradeWebhooks({
      consumerKey: options.consumerKey,
      clock: options.clock,
      odd: onOddity,
    }),
    close: () => client.close(),
  }
}

function toUser(login: Login): User {
  if (login.secret === null) throw loseLogin('the secret of this SnapTrade user is not known')
  return { userId: login.upstreamUserId, userSecret: login.secret }
}

/** SnapTrade's only data about a user are the connections: listing them proves id and secret. */
async function identify(client: SnapTradeClient, credentials: Credentials, call: CallContext) {
  if (credentials.provider !== 'snaptrade') {
    throw fail({ kind: 'rejected', status: 400, detail: 'these are not SnapTrade credentials' })
  }
  const { snaptradeUserId: userId, userSecret } = credentials
  if (userId === '' || userSecret === '') {
    throw fail({ kind: 'rejected', status: 400, detail: 'user id and user secret are both needed' })
  }
  const request = { route: '/authorizations' }
  await client.fetchParsed(WireAuthorizations, request, { userId, userSecret }, call)
  return { upstreamUserId: userId, secret: userSecret, isPersonal: false }
}

/**
 * The user is kept even without connections: the secret is shown only once, so a deleted user could not be restored.
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
    // Already deleted: by an earlier call, or by someone else.
    if (rejectedStatus(error) !== 404) throw toLoginFailure(error)
  }
}
