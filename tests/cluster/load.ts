/**
 * A steady load on several processes while a test breaks something beneath them: a bounded number of clients,
 * each asking one thing after another. It records every answer and every request that got none; it judges
 * nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from './server-process.ts'

export interface Sample {
  /** From `performance.now()`. */
  readonly startedAt: number
  readonly endedAt: number
  /** Null: no complete answer came. */
  readonly answer: Answer | null
  readonly error: unknown
}

export interface Load {
  /** Oldest first, growing. */
  readonly samples: readonly Sample[]
  /** Ends it when the requests in flight have ended, and throws for none of them. */
  stop(): Promise<readonly Sample[]>
}

/** Between two requests of one client, so that the machine is not the thing under test. */
const pauseMs = 5
const maxSamples = 50_000

/** Starts one client for each of `asks`; `ask` gets the number of the client's request. */
export function startLoad(asks: readonly ((index: number) => Promise<Answer>)[]): Load {
  const samples: Sample[] = []
  let stopping = false

  async function run(ask: (index: number) => Promise<Answer>): Promise<void> {
    for (let index = 0; !stopping && samples.length < maxSamples; index += 1) {
      const startedAt = performance.now()
      const outcome = await ask(index).then(
        (answer) => ({ answer, error: null }),
        (error: unknown) => ({ answer: null, error }),
      )
      samples.push({ startedAt, endedAt: performance.now(), ...outcome })
      await sleep(pauseMs)
    }
  }

  const clients = Promise.all(asks.map(run))
  return {
    samples,
    async stop() {
      stopping = true
      await clients
      return samples
    },
  }
}

/** The different outcomes of a load and how often each came, e.g. `{ '200 HIT': 12, ECONNREFUSED: 1 }`. */
export function tally(samples: readonly Sample[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { answer, error } of samples) {
    const name = answer === null ? nameOf(error) : `${answer.status} ${answer.headers['x-cache']}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? String(error.code) : error.name
}
