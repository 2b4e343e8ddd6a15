/**
 * The findings of a run, and their text: one line for each check, what was expected and seen, and the counts.
 */
import { toPrintable } from '../printable.ts'
import { CheckFailure, type CheckGroup, Skipped } from './check.ts'

export interface CheckFinding {
  readonly subject: string
  readonly name: string
  readonly clause: string
  readonly status: 'ok' | 'fail' | 'skip'
  readonly expected?: string
  readonly seen?: string
  readonly reason?: string
}

export interface Report {
  readonly target: string
  readonly status: 'ok' | 'fail'
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly checks: readonly CheckFinding[]
}

/** Runs the checks one after another; `found` hears of each. */
export async function examine<On>(
  subjects: readonly CheckGroup<On>[],
  on: On,
  {
    isQuick,
    found,
  }: { readonly isQuick: boolean; readonly found: (finding: CheckFinding) => void },
): Promise<readonly CheckFinding[]> {
  const findings: CheckFinding[] = []
  for (const { name: subject, checks } of subjects) {
    for (const { name, clause, isLong, run } of checks) {
      const isLeftOut = isQuick && isLong === true
      const end = isLeftOut ? { status: 'skip' as const, reason: '--quick' } : await judge(run, on)
      const finding = { subject, name, clause, ...end }
      findings.push(finding)
      found(finding)
    }
  }
  return findings
}

type End = Omit<CheckFinding, 'subject' | 'name' | 'clause'>

async function judge<On>(run: (on: On) => Promise<void>, on: On): Promise<End> {
  try {
    await run(on)
    return { status: 'ok' }
  } catch (error) {
    if (error instanceof Skipped) return { status: 'skip', reason: error.message }
    if (!(error instanceof CheckFailure)) throw error
    return { status: 'fail', expected: error.expected, seen: error.seen }
  }
}

export function toReport(target: string, checks: readonly CheckFinding[]): Report {
  const count = (status: CheckFinding['status']) =>
    checks.filter((one) => one.status === status).length
  const failed = count('fail')
  return {
    target,
    status: failed === 0 ? 'ok' : 'fail',
    passed: count('ok'),
    failed,
    skipped: count('skip'),
    checks,
  }
}

const marks = { ok: 'ok  ', fail: 'FAIL', skip: 'skip' }

/** One line; for a failure two more. */
export function renderFinding({ status, subject, name, clause, ...rest }: CheckFinding): string {
  const reason = rest.reason === undefined ? '' : `: ${rest.reason}`
  const lines = [`${marks[status]}  ${subject}: ${name} (${clause})${reason}`]
  if (status === 'fail') {
    lines.push(`      expected  ${rest.expected}`, `      seen      ${rest.seen}`)
  }
  return `${lines.map(toPrintable).join('\n')}\n`
}

export function renderSummary({ passed, failed, skipped }: Report): string {
  return `\n${passed} passed, ${failed} failed, ${skipped} skipped.\n`
}
