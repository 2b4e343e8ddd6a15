/**
 * The doctor's findings: one per thing that was checked, with advice. The text is for an operator; it names
 * people by e-mail address and never contains a secret or money data.
 */

export type Verdict = 'ok' | 'warning' | 'error'

export interface Finding {
  /** What was checked, e.g. `store`, `provider:fiskil`, `connection:<id>`; unique within a diagnosis. */
  readonly name: string
  readonly status: Verdict
  readonly message: string
  /** Null when nothing needs to be done. */
  readonly action: string | null
}

export interface Diagnosis {
  /** The worst verdict of the findings. */
  readonly status: Verdict
  readonly checks: readonly Finding[]
}

/** One check; must end when `signal` is aborted. An exception becomes a finding `error` of its name. */
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

/** `ok` when the list is empty. */
export function worstOf(findings: readonly Finding[]): Verdict {
  return order.findLast((verdict) => findings.some(({ status }) => status === verdict)) ?? 'ok'
}
