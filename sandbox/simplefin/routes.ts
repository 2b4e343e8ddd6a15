/** The paths of the SimpleFIN emulator: information, the page for people, claims and account sets. */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { applyRowFaults } from '../row-faults.ts'
import { dayMs, type SimplefinPeople, type SimplefinPerson, toAccessUrl } from './people.ts'
import type { Quota } from './quota.ts'
import { toAccountSet, type Window } from './wire.ts'

export const prefix = '/simplefin'

export interface Site {
  readonly people: SimplefinPeople
  readonly clock: Clock
  readonly quota: Quota
  readonly base: () => string
  /** Setup tokens that were used. */
  readonly claimed: Set<string>
}

const page = { 'content-type': 'text/html; charset=utf-8' }
const forbidden = (): EmulatorReply => {
  return { status: 403, headers: page, body: '<!doctype html><title>Forbidden</title>' }
}

export async function answer(request: EmulatorRequest, site: Site): Promise<EmulatorReply> {
  const { method, path } = request
  if (path === `${prefix}/info` && method === 'GET') {
    return { status: 200, body: { versions: ['1.0'] } }
  }
  if (path === `${prefix}/create` && method === 'GET') {
    return { status: 200, headers: page, body: '<!doctype html><title>Create a token</title>' }
  }
  const token = path.startsWith(`${prefix}/claim/`) ? path.slice(`${prefix}/claim/`.length) : null
  if (token !== null && method === 'POST') return claim(site, token)
  if (path !== `${prefix}/accounts` || method !== 'GET')
    return { status: 404, headers: page, body: '' }
  const person = authenticate(request, site.people)
  return person === null ? forbidden() : readAccounts(request, site, person)
}

/** Each token works once. Its answer is plain text. */
function claim({ people, claimed, base }: Site, token: string): EmulatorReply {
  const name = /^(\w+)-\d+$/.exec(token)?.[1] ?? ''
  const person = Object.hasOwn(people, name) ? people[name] : undefined
  if (person === undefined || claimed.has(token)) return { ...forbidden(), body: 'Forbidden' }
  claimed.add(token)
  const headers = { 'content-type': 'text/plain' }
  return { status: 200, headers, body: toAccessUrl(base(), name) }
}

function authenticate({ headers }: EmulatorRequest, people: SimplefinPeople) {
  const encoded = /^Basic (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
  const [user = '', password = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  const person = Object.values(people).find((one) => one.user === user)
  return person !== undefined && person.password === password ? person : null
}

async function readAccounts(
  request: EmulatorRequest,
  site: Site,
  person: SimplefinPerson,
): Promise<EmulatorReply> {
  const { query } = request
  if (person.isUnpaid === true) {
    return { status: 402, body: { errors: ['Payment required.'], accounts: [] } }
  }
  const failure = await applyRowFaults(person)
  if (failure !== null) return failure
  const accounts = query.getAll('account')
  const counted = [person.user, ...accounts].join(' ')
  const allowance = site.quota.count(counted)
  if (allowance === 'disabled') {
    person.password = null
    return forbidden()
  }
  const now = site.clock.now()
  const version = query.get('version') === '2' ? 2 : 1
  const { window, warnings } = readWindow(query, now)
  return {
    status: 200,
    body: toAccountSet(person, {
      version,
      window: query.has('balances-only') ? null : window,
      hasPending: query.has('pending'),
      accounts,
      baseUrl: site.base(),
      now,
      warnings,
      oldWarnings:
        allowance === 'warned' ? [`Too many requests: at most ${site.quota.perDay} a day.`] : [],
    }),
  }
}

const tooLong = 'Requested date range exceeds limit of 90 days and was capped.'
const long =
  'Requested date range exceeds recommended range of 45 days. In the future, this may be capped.'

/** Half-open; without a start almost nothing is sent. */
function readWindow(
  query: URLSearchParams,
  now: number,
): { readonly window: Window; readonly warnings: readonly string[] } {
  const read = (name: string) => {
    const text = query.get(name)
    return text === null || !/^\d+$/.test(text) ? null : Number(text) * 1000
  }
  const end = read('end-date')
  const start = read('start-date') ?? now - dayMs
  const days = Math.floor(((end ?? now) - start) / dayMs)
  if (days >= 90) {
    return { window: { start: (end ?? now) - 90 * dayMs, end }, warnings: [tooLong] }
  }
  return { window: { start, end }, warnings: days >= 45 ? [long] : [] }
}
