/**
 * The reading paths of the Up emulator: who asks, whether the hour allows it, and which list or resource it
 * is.
 */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { applyRowFaults } from '../row-faults.ts'
import { categoryIds, categoryToWire } from './categories.ts'
import type { HourlyLimit } from './hourly-limit.ts'
import { type Placed, pageOf, readInstant, refuseQuery } from './pages.ts'
import {
  bringUpToDate,
  statusAt,
  type UpAccount,
  type UpPeople,
  type UpPerson,
  type UpRow,
} from './people.ts'
import { accountToWire, notFound, refusal, rowToWire } from './wire.ts'

const prefix = '/api/v1/'
const accountFilters = ['filter[accountType]', 'filter[ownershipType]']
const rowFilters = [
  'filter[status]',
  'filter[since]',
  'filter[until]',
  'filter[category]',
  'filter[tag]',
]

export interface Site {
  readonly people: UpPeople
  readonly clock: Clock
  readonly limit: HourlyLimit
  /** The base address in links. */
  readonly base: () => string
}

interface UserCall {
  readonly request: EmulatorRequest
  readonly site: Site
  readonly person: UpPerson
  /** What follows the first part of the path. */
  readonly path: readonly string[]
}

export async function answer(request: EmulatorRequest, site: Site): Promise<EmulatorReply> {
  if (!request.path.startsWith(prefix)) return notFound()
  const person = authenticate(request, site.people)
  if (person === null) {
    return refusal(
      401,
      'Not Authorized',
      'The request was not authenticated because no valid credential was found in the Authorization header, or the Authorization header was not present.',
    )
  }
  const { left, headers } = site.limit.count(person.customerId)
  if (left < 0) {
    const detail = `The limit of ${site.limit.perHour} requests per hour has been exceeded.`
    return { ...refusal(429, 'Too Many Requests', detail), headers }
  }
  const reply = await route(request, site, person)
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

/** The token with its prefix, as a bearer. */
function authenticate({ headers }: EmulatorRequest, people: UpPeople): UpPerson | null {
  const token = /^Bearer (up:\S+)$/.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) return null
  return Object.values(people).find((person) => person.token === token) ?? null
}

async function route(
  request: EmulatorRequest,
  site: Site,
  person: UpPerson,
): Promise<EmulatorReply> {
  const [first = '', ...path] = request.path.slice(prefix.length).split('/')
  const known = routes[first]
  if (request.method !== 'GET' || known === undefined) return notFound()
  if (request.path.endsWith('/transactions')) {
    const failure = await applyRowFaults(person)
    if (failure !== null) return failure
  }
  bringUpToDate(person.accounts, site.clock)
  return known({ request, site, person, path })
}

const routes: Readonly<Record<string, (call: UserCall) => EmulatorReply>> = {
  util: ping,
  accounts: getAccounts,
  transactions: getTransactions,
  categories: getCategories,
}

function ping({ path, person }: UserCall): EmulatorReply {
  if (path.join('/') !== 'ping') return notFound()
  return { status: 200, body: { meta: { id: person.customerId, statusEmoji: '⚡️' } } }
}

function getAccounts({ request, site, person, path }: UserCall): EmulatorReply {
  const [id, list] = path
  const now = site.clock.now()
  const base = site.base()
  const listed = person.accounts.filter(({ isClosed }) => !isClosed)
  if (id === undefined) {
    const refused = refuseQuery(request, accountFilters)
    const placed = listed.map((entry) => ({ entry, at: entry.createdAt, id: entry.id }))
    const toWire = (account: UpAccount) => accountToWire(account, base, now)
    return refused ?? pageOf(request, base, placed, toWire)
  }
  const account = listed.find((one) => one.id === id)
  if (account === undefined || path.length > 2) return notFound()
  if (list === undefined) return { status: 200, body: { data: accountToWire(account, base, now) } }
  return list === 'transactions' ? listRows(request, site, [account]) : notFound()
}

function getTransactions({ request, site, person, path }: UserCall): EmulatorReply {
  const [id] = path
  if (id === undefined) return listRows(request, site, person.accounts)
  const now = site.clock.now()
  for (const account of person.accounts) {
    const row = account.rows.find((one) => one.id === id)
    if (row === undefined || statusAt(row, now) === null) continue
    return { status: 200, body: { data: rowToWire(row, account, site.base(), now) } }
  }
  return notFound()
}

function listRows(
  request: EmulatorRequest,
  site: Site,
  accounts: readonly UpAccount[],
): EmulatorReply {
  const refused = refuseQuery(request, rowFilters)
  if (refused !== null) return refused
  const now = site.clock.now()
  const isWanted = makeFilter(request.query, now)
  const placed = accounts.flatMap((account) =>
    account.rows.filter(isWanted).map(
      (row): Placed<{ row: UpRow; account: UpAccount }> => ({
        entry: { row, account },
        // Times are whole seconds: within one, rows are in the order of their ids.
        at: Math.floor(row.createdAt / 1000) * 1000,
        id: row.id,
      }),
    ),
  )
  const base = site.base()
  return pageOf(request, base, placed, ({ row, account }) => rowToWire(row, account, base, now))
}

/** `filter[since]` includes its moment, `filter[until]` does not. */
function makeFilter(query: URLSearchParams, now: number): (row: UpRow) => boolean {
  const bound = (name: string, none: number) => {
    const text = query.get(name)
    return text === null ? none : (readInstant(text) ?? none)
  }
  const since = bound('filter[since]', Number.NEGATIVE_INFINITY)
  const until = bound('filter[until]', Number.POSITIVE_INFINITY)
  const status = query.get('filter[status]')
  const category = query.get('filter[category]')
  // Nobody here has tagged a row.
  if (query.has('filter[tag]')) return () => false
  return (row) => {
    const shown = statusAt(row, now)
    if (shown === null || (status !== null && shown !== status)) return false
    if (category !== null && row.category !== category) return false
    return row.createdAt >= since && row.createdAt < until
  }
}

function getCategories({ path, site }: UserCall): EmulatorReply {
  const [id] = path
  const base = site.base()
  if (path.length > 1) return notFound()
  if (id === undefined) {
    return { status: 200, body: { data: categoryIds.map((one) => categoryToWire(one, base)) } }
  }
  if (!categoryIds.includes(id)) return notFound()
  return { status: 200, body: { data: categoryToWire(id, base) } }
}
