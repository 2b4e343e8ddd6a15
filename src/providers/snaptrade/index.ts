/**
 * The SnapTrade adapter: brokerage connections, holdings and trades. It owns the order of calls and the
 * checks after a refusal; HTTP is in `client.ts`, shapes are in `map-*.ts`, the provider's behaviour on
 * docs/providers/snaptrade.md.
 */

import type { InstallationAccess } from '../credentials.ts'
import type { BrokerageAdapter, CallContext, ConnectionRef, Login } from '../port.ts'
import { makeClient, type SnapTradeClient, type SnapTradeOptions } from './client.ts'
import {
  confirmEmpty,
  explainRefusal,
  listAlive,
  rejectedStatus,
  toLoginFailure,
} from './consent.ts'
import { describeLogin } from './describe-login.ts'
import { discoverConnections } from './discover.ts'
import { identify } from './identify.ts'
import { type Asker, isPersonalLogin, type OwnKey, readOwnKey, toAsker } from './keys.ts'
import { isRegisteredHere, makeLinking } from './linking.ts'
import { toHoldings } from './map-holding.ts'
import { readRows } from './numbers.ts'
import { ownKey } from './own-key.ts'
import { probe } from './probe.ts'
import { makeTradeReader, theAccount } from './reader.ts'
import { makeReadyAccounts } from './ready-accounts.ts'
import { makeSnapTradeWebhooks } from './webhook.ts'

export type { SnapTradeOptions } from './client.ts'

/** Makes the adapter; `throttle` is consulted before every call, and a refusal becomes `throttled`. */
export function makeSnapTrade(options: SnapTradeOptions): BrokerageAdapter {
  const client = makeClient(options)
  const own = readOwnKey(options)
  const ready = makeReadyAccounts(options.clock)
  const onOddity = (what: string) => options.report.oddity({ provider: 'snaptrade', what })
  const asks = (login: Login, connection: ConnectionRef, call: CallContext) => ({
    client,
    asker: toAsker(own, login),
    login,
    connectionId: connection.upstreamId,
    call,
  })

  return {
    provider: 'snaptrade',
    category: 'brokerage',
    freshness: 'reported',
    access: describeAccess(own),
    describeLogin: (login, email) => describeLogin(own, login, email),
    identify: (credentials, call) => identify(client, own, credentials, call),
    discover: async (login, call) => discoverConnections(client, toAsker(own, login), call),
    async revoke(login, connection, { last, isAsked }, call) {
      // Its owner's other programs may use the connection behind a personal key.
      if (isPersonalLogin(login) && !isAsked) return
      await revoke(client, toAsker(own, login), connection, call)
      if (last && isRegisteredHere(login)) await deleteUser(client, toAsker(own, login), call)
    },
    endLogin: async (login, call) => deleteUser(client, toAsker(own, login), call),
    confirmEmpty: async (login, connection, call, asked) =>
      confirmEmpty(asks(login, connection, call), asked, ready),
    listAlive: async (login, call) => listAlive(client, toAsker(own, login), call),
    async holdings({ login, connection, account }, call) {
      const question = asks(login, connection, call)
      const body = await client
        .fetch(
          { route: '/accounts/{id}/positions/all', id: account.upstreamId },
          question.asker,
          call,
        )
        .catch((error: unknown) => explainRefusal(error, question, account))
      const { rows } = readRows(body, 'results')
      if (rows.length > 0) ready.delete(login, { what: 'holdings', accounts: [account] })
      return toHoldings(rows, account, onOddity)
    },
    trades: makeTradeReader({
      onOddity,
      onRows: ({ login, accounts }) => ready.delete(login, { what: 'transactions', accounts }),
      fetchPage: async (query, parameters, call) => {
        const question = asks(query.login, query.connection, call)
        const account = theAccount(query)
        const id = account.upstreamId
        const request = { route: '/accounts/{id}/activities', id, query: parameters }
        return client
          .fetch(request, question.asker, call)
          .catch((error: unknown) => explainRefusal(error, question, account))
      },
    }),
    callsLeft: async (login) => client.callsLeft(toAsker(own, login)),
    probe: (call) => probe(client, own, call),
    ...offerCommercial(client, own, options),
    close: () => client.close(),
  }
}

/**
 * What a commercial key alone has. Webhooks under a personal key are off: who they name as their person is
 * not documented (docs/providers/snaptrade.md, What is not confirmed). Its owner connects brokers in the
 * Dashboard.
 */
function offerCommercial(
  client: SnapTradeClient,
  own: OwnKey | null,
  { clock, report }: SnapTradeOptions,
): Pick<BrokerageAdapter, 'webhooks' | 'linking'> {
  if (own?.kind !== 'commercial') return {}
  const onOddity = (what: string) => report.oddity({ provider: 'snaptrade', what })
  const onAlert = (detail: string) => report.alert({ provider: 'snaptrade', detail })
  return {
    webhooks: makeSnapTradeWebhooks({ consumerKey: own.consumerKey, clock, odd: onOddity }),
    linking: makeLinking(client, own, { onOddity, onAlert }),
  }
}

function describeAccess(own: OwnKey | null): InstallationAccess {
  const link = 'run `tributary connections link U --provider snaptrade'
  switch (own?.kind) {
    case 'commercial':
      return {
        hasOwnCredentials: true,
        mode: 'commercial key',
        off: [],
        nextStep: `People link on the page Connections. With a user that is registered under this key, ${link} --snaptrade-user-id X --user-secret -\`.`,
      }
    case 'personal':
      return {
        hasOwnCredentials: true,
        mode: 'personal key',
        off: ['webhooks'],
        ownKey,
        nextStep: `Connect a broker in the SnapTrade Dashboard, then ${link}\`.`,
      }
    case undefined:
      return {
        hasOwnCredentials: false,
        mode: 'personal keys of people',
        off: ['webhooks'],
        nextStep: `Make a personal API key in the SnapTrade Dashboard and connect a broker there, then ${link} --client-id X --consumer-key -\`.`,
      }
  }
}

/**
 * A user that was adopted is kept even without connections: its secret is shown only once, and others may use
 * it. One that was registered here has no other use (`deleteUser`).
 */
async function revoke(
  client: SnapTradeClient,
  asker: Asker,
  connection: ConnectionRef,
  call: CallContext,
): Promise<void> {
  const request = {
    method: 'DELETE',
    route: '/connection/{id}',
    id: connection.upstreamId,
  } as const
  try {
    await client.fetch(request, asker, call)
  } catch (error) {
    // Already deleted: by an earlier call, or by someone else.
    if (rejectedStatus(error) !== 404) throw toLoginFailure(error)
  }
}

/**
 * Deletes the user with every connection, by the commercial key alone. A personal key has no user. SnapTrade
 * queues the deletion; an unknown user was deleted before.
 */
async function deleteUser(client: SnapTradeClient, asker: Asker, call: CallContext): Promise<void> {
  if (asker.kind !== 'user') return
  const request = {
    method: 'DELETE',
    route: '/snapTrade/deleteUser',
    query: [['userId', asker.userId]],
  } as const
  try {
    await client.fetch(request, { kind: 'app', key: asker.key }, call)
  } catch (error) {
    if (rejectedStatus(error) !== 404) throw error
  }
}
