/**
 * Runs one property of the fuzzer from a seed, and says of a failure what breaks, the smallest request that
 * breaks it and how to see it again.
 */
import fc from 'fast-check'
import { answerTimeoutMs, type Bursts } from './bursts.ts'
import { readDescription } from './described.ts'
import { drawnFaults, withFaults } from './faults.ts'
import { type FuzzRequest, soundRequest } from './requests.ts'
import { toShell } from './send.ts'
import { anyChoreography, playChoreography } from './sockets.ts'
import { anyVisit, playVisit } from './strangers.ts'
import type { World } from './world.ts'

export const kinds = ['requests', 'faults', 'sockets', 'strangers'] as const
export type Kind = (typeof kinds)[number]

export interface Draw {
  readonly seed: number
  readonly runs: number
  /** Leads straight to a case that failed before, as the report of the failure says. */
  readonly path?: string
}

/** Resolves with null when all held, else with the report. */
export async function tryProperty(
  kind: Kind,
  world: World,
  bursts: Bursts,
  draw: Draw,
): Promise<string | null> {
  switch (kind) {
    case 'requests':
      return report(kind, world, draw, {
        drawn: bursts.burst,
        holds: (requests) => bursts.play(requests, false),
        // Most failures need one request of the burst alone: then the others are not worth showing.
        async requestsOf(requests) {
          for (const one of requests) {
            if (await fails(() => bursts.play([one], false))) return [one]
          }
          return requests
        },
      })
    case 'faults':
      return report(kind, world, draw, {
        drawn: fc.tuple(bursts.soundBurst, drawnFaults),
        holds: ([requests, faults]) => withFaults(world, faults, () => bursts.play(requests, true)),
        requestsOf: async ([requests]) => requests,
      })
    case 'sockets':
      return report(kind, world, draw, {
        drawn: anyChoreography(soundRequest(readDescription(world.document))),
        holds: (play) => playChoreography(world, bursts.judge, play, answerTimeoutMs),
        requestsOf: async ({ requests }) => requests,
      })
    case 'strangers':
      return report(kind, world, draw, {
        drawn: fc.array(anyVisit, { minLength: 1, maxLength: 8 }),
        async holds(visits) {
          const seen = await Promise.all(
            visits.map((visit) => playVisit(world, visit, answerTimeoutMs)),
          )
          for (const [index, visit] of visits.entries()) bursts.count(visit, seen[index] ?? [])
        },
        requestsOf: async () => [],
      })
  }
}

interface Parts<Drawn> {
  readonly drawn: fc.Arbitrary<Drawn>
  readonly holds: (drawn: Drawn) => Promise<void>
  /** The requests that matter in a case that failed. */
  readonly requestsOf: (drawn: Drawn) => Promise<readonly FuzzRequest[]>
}

async function fails(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return false
  } catch {
    return true
  }
}

/** A giant request stays readable. */
const maxShown = 2000
/** Shrinking a hang costs a time-out per step: then the smallest case so far has to do. */
const shrinkMs = 120_000

async function report<Drawn>(
  kind: Kind,
  world: World,
  draw: Draw,
  parts: Parts<Drawn>,
): Promise<string | null> {
  let failedAt = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(parts.drawn, async (drawn) => {
    if (performance.now() - failedAt > shrinkMs) return
    try {
      await parts.holds(drawn)
    } catch (error) {
      failedAt = Math.min(failedAt, performance.now())
      throw error
    }
  })
  const { path } = draw
  const details = await fc.check(property, {
    seed: draw.seed,
    numRuns: draw.runs,
    ...(path === undefined ? {} : { path }),
  })
  if (!details.failed) return null
  const [drawn] = details.counterexample ?? []
  const { errorInstance } = details
  const requests = drawn === undefined ? [] : await parts.requestsOf(drawn)
  return [
    errorInstance instanceof Error ? errorInstance.message : String(errorInstance),
    `after ${details.numRuns} draws and ${details.numShrinks} steps of shrinking; the smallest case:`,
    JSON.stringify(drawn)?.slice(0, maxShown),
    ...requests.map((one) => toShell(world, one).slice(0, maxShown)),
    `again: npm run fuzz -- --kind ${kind} --seed ${draw.seed} --path ${details.counterexamplePath}`,
  ].join('\n')
}
