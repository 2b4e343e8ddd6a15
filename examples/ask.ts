/**
 * One request to the REST API, with retries: address and key come from the environment (`BASE_URL`,
 * `API_KEY`), and it waits as long as `Retry-After` says. It contains nothing about single paths.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export const baseUrl = process.env.BASE_URL ?? 'http://127.0.0.1:3000'
export const apiKey = process.env.API_KEY ?? ''

/** Exits the program with one line that says what to do. */
export function stop(line: string): never {
  console.error(line)
  process.exit(1)
}

if (apiKey === '') stop('set API_KEY to a key, e.g. one that the sandbox printed')
if (!URL.canParse(baseUrl)) stop(`BASE_URL is no address: ${baseUrl}`)

/** The program's arguments; exits when there are too many. */
export function readArguments(most: number, usage: string): readonly string[] {
  const given = process.argv.slice(2)
  if (given.length > most || given.some((text) => text.startsWith('-'))) stop(`usage: ${usage}`)
  return given
}

/** A whole number of at least `least`; exits on anything else. */
export function readCount(name: string, text: string, least: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least) {
    stop(`${name} must be a whole number of at least ${least}, not ${JSON.stringify(text)}`)
  }
  return Number(text)
}

/**
 * The parameters of each path, from /openapi.json: the service ignores unknown ones, so a misspelt name would
 * give the answer to another request.
 */
const known: Readonly<Record<string, readonly string[]>> = {
  '/v1/connections': [],
  '/v1/accounts': ['limit', 'offset'],
  '/v1/balances': ['accountIds'],
  '/v1/transactions': ['connectionId', 'accountId', 'from', 'to', 'limit', 'offset'],
  '/v1/holdings': ['connectionId', 'accountId', 'accountIds'],
  '/v1/trades': ['connectionId', 'accountId', 'accountIds', 'from', 'to', 'limit', 'offset'],
  '/v1/categories': [],
}

function refuseUnknown(path: string): void {
  const { pathname, searchParams } = new URL(path, 'http://localhost')
  const names = known[pathname]
  if (names === undefined) stop(`the API has no path ${pathname}`)
  const strange = [...searchParams.keys()].filter((name) => !names.includes(name))
  if (strange.length > 0) stop(`${pathname} knows no parameter ${strange.join(', ')}`)
}

/** The message of an error envelope; otherwise the body as it is. */
function readMessage(text: string): string {
  try {
    return String(JSON.parse(text).error.message)
  } catch {
    // A proxy answered, not the service.
    return text.slice(0, 200).replaceAll('\n', ' ')
  }
}

const maxAttempts = 5
const maxWaitSeconds = 300
/** The service's own limit for a request is a minute. */
const answerMs = 90_000

/**
 * The parsed body of a 200. Waits and asks again after 429 and 503, the two that say when to come back.
 * Every other answer ends the program, and so does a fifth wait or a wait of more than five minutes.
 */
export async function ask<Body>(path: string): Promise<Body> {
  refuseUnknown(path)
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(baseUrl + path, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(answerMs),
    }).catch((error: unknown) => {
      const cause = error instanceof Error ? (error.cause ?? error) : error
      return stop(`${baseUrl} does not answer: ${cause instanceof Error ? cause.message : cause}`)
    })
    const text = await answer.text()
    if (answer.ok) return JSON.parse(text) as Body
    const wait = Number(answer.headers.get('retry-after') ?? Number.NaN)
    const isLater = (answer.status === 429 || answer.status === 503) && wait <= maxWaitSeconds
    if (!isLater || attempt === maxAttempts) {
      const id = answer.headers.get('x-request-id')
      const { pathname } = new URL(path, baseUrl)
      stop(`${pathname} answered ${answer.status}: ${readMessage(text)} (request ${id})`)
    }
    console.error(`${answer.status}: asking again in ${wait} s`)
    await sleep(wait * 1000)
  }
}

export interface Account {
  readonly id: string
  readonly connectionId: string
  readonly name: string
  readonly currency: string
}

interface Page<Row> {
  readonly data: readonly Row[]
  readonly pagination: {
    readonly total: number | null
    readonly limit: number
    readonly offset: number
    readonly hasMore: boolean
  }
}

/** Every row of a paged path, window by window; `total` is the service's own count of them. */
export async function askAll<Row>(
  path: string,
  limit: number,
): Promise<{ readonly rows: readonly Row[]; readonly total: number | null }> {
  const rows: Row[] = []
  for (let offset = 0; ; ) {
    const joint = path.includes('?') ? '&' : '?'
    const page = await ask<Page<Row>>(`${path}${joint}limit=${limit}&offset=${offset}`)
    rows.push(...page.data)
    // A page may be empty while there is more: only `hasMore` says when to stop.
    const { pagination } = page
    if (!pagination.hasMore) return { rows, total: pagination.total }
    // Use the answer's `limit`, not ours: a shortened page has a lower one, and no row must be skipped.
    offset = pagination.offset + pagination.limit
  }
}

/** Bank accounts only: brokerage accounts have no transactions and balances. */
export async function listBankAccounts(): Promise<readonly Account[]> {
  const { data } = await ask<{ data: readonly { id: string; category: string }[] }>(
    '/v1/connections',
  )
  const banks = new Set(data.filter(({ category }) => category === 'banking').map(({ id }) => id))
  const { rows } = await askAll<Account>('/v1/accounts', 200)
  return rows.filter(({ connectionId }) => banks.has(connectionId))
}
