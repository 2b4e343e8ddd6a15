/**
 * The paths of Akahu's API v1 and what each answers. As strict as the documentation says the real one is:
 * other paths and methods are 404, a wrong credential 401, a missing app id 403.
 */
import nzfcc from '#providers/akahu/nzfcc.data.json' with { type: 'json' }
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { applyRowFaults } from '../row-faults.ts'
import { authenticateApp, authenticateUser } from './auth.ts'
import { type AuthorisationSite, answerAuthorisation, authorisationPath } from './authorise.ts'
import { closedInstitutions, institutions } from './factories.ts'
import { type AkahuAccount, type AkahuPerson, bringUpToDate, loginOf } from './people.ts'
import { type PersonalApp, refuseByApp } from './personal-app.ts'
import { toPendingWire, toWire, transactionsPage } from './transactions.ts'
import { tellAccount } from './webhooks.ts'
import { itemReply, itemsReply, numberToken, refusal } from './wire.ts'

export type Site = AuthorisationSite

const notFound = () => refusal(404, 'Not found')
const maxIdsPerLookup = 100

/** Answers one request. */
export async function answer(request: EmulatorRequest, site: Site): Promise<EmulatorReply> {
  if (request.path === authorisationPath) return answerAuthorisation(request, site)
  if (!request.path.startsWith('/v1/')) return notFound()
  const parts = request.path.slice('/v1/'.length).split('/')
  const what = `${request.method} ${parts[0]}`
  if (what === 'POST token' && parts.length === 1) return site.tokens.exchange(request.body)
  if (what === 'GET connections' || what === 'GET categories') {
    return authenticateApp(request, site.app) ?? answerApp(parts)
  }
  if (what === 'GET keys' || what === 'GET webhook-events') {
    const refused = authenticateApp(request, site.app)
    return refused ?? site.webhooks.answerApp(request, parts) ?? notFound()
  }
  const known = userRoutes[what]
  if (known === undefined) return notFound()
  const caller = authenticateUser(request, site.app, site.people)
  if ('refused' in caller) return caller.refused
  const { person, app } = caller
  const refused = app === null ? null : refuseByApp(app, request, site.clock.now())
  if (refused !== null) return refused
  if (parts.includes('transactions')) {
    const failure = await applyRowFaults(person)
    if (failure !== null) return failure
  }
  bringUpToDate(person.accounts, site.clock)
  return known({ request, site, person, app, path: parts.slice(1) })
}

interface UserCall {
  readonly request: EmulatorRequest
  readonly site: Site
  readonly person: AkahuPerson
  /** Null: the full app. */
  readonly app: PersonalApp | null
  /** What follows the first part of the path. */
  readonly path: readonly string[]
}

const userRoutes: Readonly<Record<string, (call: UserCall) => EmulatorReply>> = {
  'GET me': ({ person, path }) => (path.length === 0 ? itemReply(person.user) : notFound()),
  'GET accounts': getAccounts,
  'DELETE accounts': deleteAccount,
  'GET transactions': getTransactions,
  'POST transactions': lookUpTransactions,
  'DELETE authorisations': deleteAuthorisation,
  'DELETE token': deleteToken,
  'GET webhooks': answerWebhooks,
  'POST webhooks': answerWebhooks,
  'DELETE webhooks': answerWebhooks,
  'POST refresh': ({ person, path }) => {
    const [id] = path
    const known = person.accounts.some((one) => one._id === id || one.connection._id === id)
    if (path.length > 1 || (id !== undefined && !known)) return notFound()
    return { status: 200, body: { success: true } }
  },
}

function answerApp(parts: readonly string[]): EmulatorReply {
  const [kind, id] = parts
  if (parts.length > 2) return notFound()
  const all: readonly { readonly _id: string }[] =
    kind === 'connections'
      ? Object.values(institutions).map((one) => ({
          ...one,
          new_connections_enabled: !closedInstitutions.has(one._id),
        }))
      : nzfcc.rows.map(({ _id, name, group_id, group }) => ({
          _id,
          name,
          groups: { personal_finance: { _id: group_id, name: group } },
        }))
  if (id === undefined) return itemsReply(all)
  const one = all.find((candidate) => candidate._id === id)
  return one === undefined ? notFound() : itemReply(one)
}

function getAccounts(call: UserCall): EmulatorReply {
  const { person, path, request, site } = call
  const [id, list, pending] = path
  if (id === undefined) return itemsReply(person.accounts.map(accountToWire))
  const account = person.accounts.find((candidate) => candidate._id === id)
  if (account === undefined) return refusal(404, 'Account not found')
  if (path.length === 1) return itemReply(accountToWire(account))
  if (list !== 'transactions' || path.length > 3) return notFound()
  if (pending === undefined) return transactionsPage(request, person, [account], site.clock.now())
  return pending === 'pending' ? pendingReply(call, [account]) : notFound()
}

function getTransactions(call: UserCall): EmulatorReply {
  const { person, path, request, site } = call
  if (path.length === 0) {
    return transactionsPage(request, person, person.accounts, site.clock.now())
  }
  return path.join('/') === 'pending' ? pendingReply(call, person.accounts) : notFound()
}

function pendingReply(
  { person, site }: UserCall,
  accounts: readonly AkahuAccount[],
): EmulatorReply {
  const now = new Date(site.clock.now()).toISOString()
  return itemsReply(
    accounts.flatMap((account) => {
      const notBooked = account.rows.filter(
        ({ seenFrom, date }) => seenFrom !== undefined && seenFrom <= now && date > now,
      )
      return [...account.pending, ...notBooked].map((row) => toPendingWire(row, account, person))
    }),
  )
}

/** `POST /transactions/ids`: a JSON array of ids gives those rows. */
function lookUpTransactions({ person, path, request }: UserCall): EmulatorReply {
  if (path.join('/') !== 'ids') return notFound()
  const ids = readJson(request.body)
  if (!Array.isArray(ids) || ids.length > maxIdsPerLookup) {
    return refusal(400, 'The body must be an array of transaction ids')
  }
  return itemsReply(
    person.accounts.flatMap((account) =>
      account.rows
        .filter((row) => ids.includes(row._id))
        .map((row) => toWire(row, account, person)),
    ),
  )
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Invalid JSON is treated like a wrong value; the caller refuses both.
    return undefined
  }
}

/** Deprecated: 400 for accounts of official connections. */
function deleteAccount({ person, path }: UserCall): EmulatorReply {
  const account = person.accounts.find((candidate) => candidate._id === path[0])
  if (account === undefined || path.length !== 1) return notFound()
  if (account.connection.connection_type === 'official') {
    return refusal(400, 'Accounts of official connections cannot be removed one by one')
  }
  person.accounts = person.accounts.filter((candidate) => candidate !== account)
  return { status: 200, body: { success: true } }
}

function answerWebhooks({ request, site, person, path }: UserCall): EmulatorReply {
  return site.webhooks.answerPerson(request, person, path)
}

function deleteAuthorisation({ site, person, path }: UserCall): EmulatorReply {
  const left = person.accounts.filter((account) => loginOf(account) !== path[0])
  const gone = person.accounts.filter((account) => loginOf(account) === path[0])
  if (path.length !== 1 || left.length === person.accounts.length) {
    return refusal(404, 'Authorisation not found')
  }
  person.accounts = left
  for (const { _id } of gone) tellAccount(site.webhooks, person, 'DELETE', { item_id: _id })
  return { status: 200, body: { success: true } }
}

function deleteToken({ site, person, app, path }: UserCall): EmulatorReply {
  if (path.length > 0) return notFound()
  if (app !== null) {
    app.userToken = null
    return { status: 200, body: { success: true } }
  }
  const fields = { item_id: person.userToken }
  person.userToken = null
  site.webhooks.send(person, { type: 'TOKEN', code: 'DELETE', fields })
  site.webhooks.cancel(person)
  return { status: 200, body: { success: true } }
}

function accountToWire(account: AkahuAccount): unknown {
  const { rows: _rows, pending: _pending, growth: _growth, balance, ...plain } = account
  if (balance === null) return { ...plain, meta: {} }
  const token = (text: string | undefined) => (text === undefined ? undefined : numberToken(text))
  return {
    ...plain,
    balance: {
      currency: balance.currency,
      current: numberToken(balance.current),
      available: token(balance.available),
      limit: token(balance.limit),
      overdrawn: balance.current.startsWith('-'),
    },
    meta: { holder: 'A Person' },
  }
}
