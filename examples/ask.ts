/**
 * One question to the REST API, as a patient client asks it: where it is and what opens it come from the environment
 * (`BASE_URL`, `API_KEY`), and it waits as long as `Retry-After` says. It knows nothing of what is asked.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export const baseUrl = process.env.BASE_URL ?? 'http://127.0.0.1:3000'
export const apiKey = process.env.API_KEY ?? ''
if (apiKey === '') throw new Error('set API_KEY to a key, e.g. one that the sandbox printed')

const maxAttempts = 5
const maxWaitSeconds = 300
/** The service itself gives up after a minute. */
const answerMs = 90_000

/**
 * The parsed body of a 200. Waits and asks again after 429 and 503, the two that say when to come back.
 * @throws Error for every other answer, and when it is told to wait for the fifth time or for longer than five minutes.
 */
export async function ask<Body>(path: string): Promise<Body> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(baseUrl + path, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(answerMs),
    })
    const text = await answer.text()
    if (answer.ok) return JSON.parse(text) as Body
    const wait = Number(answer.headers.get('retry-after') ?? Number.NaN)
    const isLater = (answer.status === 429 || answer.status === 503) && wait <= maxWaitSeconds
    if (!isLater || attempt === maxAttempts) {
      const id = answer.headers.get('x-request-id')
      throw new Error(`${path} answered ${answer.status} (request ${id}): ${text}`)
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
    // A window may be empty while there is more: `hasMore` alone says when to stop.
    const { pagination } = page
    if (!pagination.hasMore) return { rows, total: pagination.total }
    // Its `limit`, not ours: one that was cut short says how many rows it has, and none is skipped.
    offset = pagination.offset + pagination.limit
  }
}

/** Accounts at banks, those of brokers left out: only they have transactions and balances. */
export async function listBankAccounts(): Promise<readonly Account[]> {
  const { data } = await ask<{ data: readonly { id: string; category: string }[] }>(
    '/v1/connections',
  )
  const banks = new Set(data.filter(({ category }) => category === 'banking').map(({ id }) => id))
  const { rows } = await askAll<Account>('/v1/accounts', 200)
  return rows.filter(({ connectionId }) => banks.has(connectionId))
}
