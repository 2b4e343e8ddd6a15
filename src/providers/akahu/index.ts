/**
 * The adapter of Akahu (banks in New Zealand). A connection is one authorisation: one login at one
 * institution. All connections of a person share one user token, which is the login's secret, with the token
 * of the person's own app where they have one.
 */
import type { Balance } from '#contract/resources.ts'
import type { InstallationAccess } from '../credentials.ts'
import type {
  AccountRef,
  BalanceQuery,
  BalanceReading,
  BankingAdapter,
  CallContext,
  Login,
} from '../port.ts'
import { fetchAccounts } from './accounts.ts'
import { type AkahuClient, type AkahuOptions, makeClient } from './client.ts'
import { confirmEmpty, endLogin, identify, listAlive, revoke, sightLogins } from './consent.ts'
import { describeLogin } from './describe-login.ts'
import { makeLinking } from './linking.ts'
import { listen } from './listen.ts'
import { type Note, toBalance, toConnections } from './map.ts'
import { describeOwnKey } from './own-key.ts'
import { readPendingRows } from './pending.ts'
import { makeTransactionReader } from './reader.ts'
import { makeSigningKeys } from './signing-keys.ts'
import { tokensOf } from './tokens.ts'
import { makeAkahuWebhooks } from './webhook.ts'

/** Makes the adapter; it owns a connection pool until `close`. */
export function makeAkahu(options: AkahuOptions): BankingAdapter {
  const client = makeClient(options)
  const note: Note = (what) => options.report.oddity({ provider: 'akahu', what })

  const onRefused = () => note('webhooks could not be ended')

  async function discover(login: Login, call: CallContext) {
    return toConnections(await fetchAccounts(client, tokensOf(login), call), note)
  }

  /** One list covers every account of the token. A moved account is found by its former id. */
  async function balances(query: BalanceQuery, call: CallContext): Promise<BalanceReading> {
    const wanted = new Map<string, AccountRef>(
      query.accounts.map(({ account }) => [account.upstreamId, account]),
    )
    const found: Balance[] = []
    const accounts = await fetchAccounts(client, tokensOf(query.login), call)
    for (const account of accounts) {
      const id = wanted.has(account._id) ? account._id : (account._migrated ?? '')
      const ref = wanted.get(id)
      if (ref === undefined) continue
      wanted.delete(id)
      found.push(toBalance(account, ref, note))
    }
    return { balances: found, consents: sightLogins(query, accounts) }
  }

  return {
    provider: 'akahu',
    category: 'banking',
    freshness: 'reported',
    access: describeAccess(options),
    describeLogin: (login, email) => describeLogin(client, login, email),
    identify: (credentials, call) => identify(client, credentials, call),
    discover,
    revoke: (login, connection, asked, call) =>
      revoke(client, login, connection, { ...asked, call, onRefused }),
    endLogin: (login, call) => endLogin(client, login, { call, onRefused }),
    confirmEmpty: (login, connection, call) => confirmEmpty(client, login, connection, call),
    listAlive: (login, call) => listAlive(client, login, call),
    balances,
    transactions: makeTransactionReader(client, note),
    pending: (query, call) => readPendingRows(client, query, call, note),
    probe: (call) => client.probe(call),
    ...offerFullApp(client, options, note),
    close: () => client.close(),
  }
}

/** What a full app alone has: webhooks, and consent in a browser, which ends with an exchange. */
function offerFullApp(
  client: AkahuClient,
  { appToken, appSecret, oauthUrl, clock }: AkahuOptions,
  note: Note,
): Pick<BankingAdapter, 'webhooks' | 'linking'> {
  if (appToken === null || appSecret === null) return {}
  return {
    webhooks: {
      ...makeAkahuWebhooks({ keys: makeSigningKeys({ client, clock }), odd: note }),
      listen: (login, call) => listen(client, login, call),
    },
    linking: makeLinking({ client, appToken, oauthUrl }),
  }
}

const link = 'Run `tributary connections link U --provider akahu --user-token -'
const ownTokens = 'the two tokens that my.akahu.nz shows under Developers'

function describeAccess({ appToken, appSecret }: AkahuOptions): InstallationAccess {
  const ownKey = describeOwnKey({ hasApp: appToken !== null })
  if (appSecret !== null) {
    return {
      hasOwnCredentials: true,
      mode: 'full app',
      off: [],
      ownKey,
      nextStep: `People link on the page Connections. ${link}\` with the user token of a person who has authorised this app; people with personal apps add \`--app-token -\`.`,
    }
  }
  const off = ['consent page', 'webhooks', 'list of institutions']
  if (appToken === null) {
    const nextStep = `${link} --app-token -\` with ${ownTokens}.`
    return { hasOwnCredentials: false, mode: 'personal apps of people', off, nextStep, ownKey }
  }
  const nextStep = `${link}\` with the user token beside AKAHU_APP_TOKEN at my.akahu.nz, Developers; other people add \`--app-token -\` with that of their own app.`
  return { hasOwnCredentials: true, mode: 'personal app', off, nextStep, ownKey }
}
