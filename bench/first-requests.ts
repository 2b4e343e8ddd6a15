/**
 * The first request to each part that is loaded at its first use, each in a new process that has been quiet
 * for a while.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Figure } from './figures.ts'
import { startAsInstalled } from './installed-process.ts'
import { median } from './turns.ts'

const rounds = 7
/** After the first collection of a quiet process (`src/app/settle-memory.ts`). */
const quietMs = 3500
const goalMs = 150

/** What is asked for, with the status that answers it. */
const firsts = {
  'a page': { path: '/sign-in', status: 200 },
  'the authorization server': { path: '/authorize?client_id=unknown', status: 400 },
  'the agents’ endpoint, without a key': { path: '/mcp', method: 'POST', status: 401 },
  'the reference': { path: '/doc', status: 200 },
  'the OpenAPI document': { path: '/openapi.json', status: 200 },
} as const

export async function measureFirstRequests(
  env: Readonly<Record<string, string>>,
): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const [what, first] of Object.entries(firsts)) {
    const times: number[] = []
    // The first one fills the compile cache.
    for (let round = 0; round <= rounds; round += 1) times.push(await askOnce(env, first))
    const later = times.slice(1)
    const ms = median(later)
    const [least, most] = [Math.min(...later), Math.max(...later)]
    figures.push({
      bench: 'start',
      what: `first request to ${what}`,
      figure: `${ms.toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)})`,
      anchor: '',
      ratio: '',
      goal: `≤ ${goalMs} ms`,
      met: ms <= goalMs,
    })
  }
  return figures
}

async function askOnce(
  env: Readonly<Record<string, string>>,
  first: { readonly path: string; readonly method?: 'POST'; readonly status: number },
): Promise<number> {
  const { base, stop } = await startAsInstalled(env)
  await sleep(quietMs)
  const started = performance.now()
  const { statusCode, body } = await request(base + first.path, { method: first.method ?? 'GET' })
  await body.dump()
  const ms = performance.now() - started
  await stop()
  if (statusCode !== first.status) throw new Error(`${first.path} was answered ${statusCode}`)
  return ms
}
