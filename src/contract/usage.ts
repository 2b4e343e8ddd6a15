/** Under what requests are counted: what became of them, and which operation was asked for. */
import type { OperationName } from './operations.ts'

/**
 * What became of a request: `HIT`, `MISS`, `BYPASS` as in the header `X-Cache` of an answer; `limited`: 429;
 * `refused`: another 4xx; `failed`: 5xx; `disconnected`: the client left before its answer (499).
 */
export const usageResults = [
  'HIT',
  'MISS',
  'BYPASS',
  'limited',
  'refused',
  'failed',
  'disconnected',
] as const

export type UsageResult = (typeof usageResults)[number]

/**
 * `other`: a message of an agent that calls no tool (it connects, it lists the tools), or an answer by
 * SimpleFIN, which is made of several operations.
 */
export type UsageOperation = OperationName | 'other'

/** Through which door a request came; `dashboard`: a person's own reads on the pages. */
export const usageDoors = ['rest', 'mcp', 'simplefin', 'dashboard'] as const

export type UsageDoor = (typeof usageDoors)[number]
