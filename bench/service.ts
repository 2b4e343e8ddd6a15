/**
 * The service and the provider, each in its own process, with the requests of the benchmarks: windows of
 * transactions and trades that are not cached.
 */
import { request } from 'undici'
import type { ProviderAccess } from '#providers/adapters.ts'
import { type Child, startChild } from './child.ts'
import { controlPath } from './recorder.ts'

export interface ProviderFacts {
  readonly access: ProviderAccess
  readonly people: readonly { readonly provider: string; readonly endUserId?: string }[]
}

interface ServiceFacts {
  readonly port: number
  readonly key: string
  readonly accounts: readonly { id: string; connectionId: string; provider: string }[]
  /** Secret of a setup token of SimpleFIN. */
  readonly claim: string
}

export interface Window {
  readonly data: readonly { readonly id: string }[]
  readonly pagination: { readonly hasMore: boolean }
}

export interface MeasuredService {
  readonly child: Child<unknown>
  readonly provider: ProviderFacts
  /** What programs of the one user need. */
  readonly programs: Omit<ServiceFacts, 'port'> & { readonly origin: string }
  /** A window of transactions or trades; fails unless it is a 200 of the expected `X-Cache`. */
  window(kind: Kind, query: string, expected: 'HIT' | 'MISS'): Promise<Window>
  /** Any GET; resolves with its status once its body was read. */
  ask(path: string, key?: string): Promise<number>
  /** A `from` that was not used before, so that the answer is a miss of a new walk. */
  freshFrom(): string
  /** Sets the delay of every page of rows; resolves with the pages served since the last call. */
  reset(kind: Kind, delayMs: number): Promise<readonly string[]>
  stop(): Promise<void>
}

export type Kind = 'transactions' | 'trades'

/** Starts both; the provider shares the core of the load. */
export async function startService(core: 0 | 'any' = 0): Promise<MeasuredService> {
  const provider = await startChild<ProviderFacts>('./provider.ts', { core: 1 })
  const child = await startChild<ServiceFacts>('./service-process.ts', {
    args: [JSON.stringify(provider.facts)],
    isService: true,
    core,
  })
  const { port, key, accounts, claim } = child.facts
  const { access } = provider.facts
  let fresh = 0

  return {
    child,
    provider: provider.facts,
    programs: { key, accounts, claim, origin: `http://127.0.0.1:${port}` },
    async window(kind, query, expected) {
      const name = kind === 'trades' ? 'snaptrade' : 'fiskil'
      const account = accounts.find((one) => one.provider === name)
      const answer = await request(
        `http://127.0.0.1:${port}/v1/${kind}?connectionId=${account?.connectionId}&${query}`,
        { headers: { authorization: `Bearer ${key}` } },
      )
      const text = await answer.body.text()
      if (answer.statusCode !== 200 || answer.headers['x-cache'] !== expected) {
        const cache = answer.headers['x-cache']
        throw new Error(`not a ${expected}: ${answer.statusCode} ${cache} ${text.slice(0, 200)}`)
      }
      return JSON.parse(text) as Window
    },
    async ask(path, as = key) {
      const headers = { authorization: `Bearer ${as}` }
      const answer = await request(`http://127.0.0.1:${port}${path}`, { headers })
      await answer.body.dump()
      return answer.statusCode
    },
    freshFrom() {
      fresh += 1
      return new Date(Date.parse('2023-01-01T00:00:00Z') + fresh * 1000).toISOString()
    },
    async reset(kind, delayMs) {
      const origin = (kind === 'trades' ? access.snaptrade : access.fiskil)?.baseUrl
      const answer = await request(`${origin}${controlPath}?delayMs=${delayMs}`)
      return ((await answer.body.json()) as { served: string[] }).served
    },
    stop: async () => {
      await child.stop()
      await provider.stop()
    },
  }
}
