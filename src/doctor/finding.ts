/**
 * What the doctor says: one finding per thing it looked at, with what to do about it. The words are for an operator;
 * they name people by address and never hold a secret or money data.
 */

export type Verdict = 'ok' | 'warning' | 'error'

export interface Finding {
  /** What was looked at, e.g. `store`, `provider:fiskil`, `connection:<id>`; unique within a diagnosis. */
  readonly name: string
  readonly status: Verdict
  readonly message: string
  /** Null where nothing is to be done. */
  readonly action: string | null
}

export interface Diagnosis {
  /** The worst of the checks. */
  readonly status: Verdict
  readonly checks: readonly Finding[]
}

/** One look; ends when `signal` is aborted at the latest. Whatever it throws becomes an `error` under its name. */
export type Check = (signal: AbortSignal) => Promise<readonly Finding[]>

export function ok(name: string, message: string, action: string | null = null): Finding {
  return { name, status: 'ok', message, action }
}

export function warning(name: string, message: string, action: string): Finding {
  return { name, status: 'warning', message, action }
}

export function fault(name: string, message: string, action: string): Finding {
  return { name, status: 'error', message, action }
}

const order: readonly Verdict[] = ['ok', 'warning', 'error']

/** `ok` when there is nothing. */
export function worstOf(findings: readonly Finding[]): Verdict {
  return order.findLast((verdict) => findings.some(({ status }) => status === verdict)) ?? 'ok'
}
