/** Under what requests are counted: what became of them, and which operation was asked for. */
import type { OperationName } from './operations.ts'

/**
 * What became of a request: `HIT`, `MISS`, `BYPASS` as in the header `X-Cache` of an answer; `limited`: 429; `refused`:
 * another 4xx, also when the client disconnected; `failed`: 5xx.
 */
export type UsageResult = 'HIT' | 'MISS' | 'BYPASS' | 'limited' | 'refused' | 'failed'

/** `other`: a message of an agent that calls no tool (it connects, it lists the tools). */
export type UsageOperation = OperationName | 'other'
