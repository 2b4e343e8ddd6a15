/**
 * Formats the doctor's answer for people: a mark, what was checked, what was found, and below it what to do.
 * The verdicts come from the server.
 */
import { toPrintable } from './printable.ts'

interface Finding {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly action: string | null
}

/** One line per finding and one per action; the last line has the counts. */
export function renderDiagnosis(answer: unknown): string {
  const findings = readFindings(answer)
  const lines = findings.flatMap(({ name, status, message, action }) => [
    `${marks[status] ?? '?'} ${name}: ${message}`,
    ...(action === null ? [] : [`    → ${action}`]),
  ])
  return `${[...lines, '', summarise(findings)].join('\n')}\n`
}

/** True when a finding is an error: the command then exits with 1. */
export function isBroken(answer: unknown): boolean {
  return toRecord(answer).status === 'error'
}

const marks: Readonly<Record<string, string>> = { ok: '✓', warning: '!', error: '✗' }

function summarise(findings: readonly Finding[]): string {
  const count = (status: string, word: string) => {
    const number = findings.filter((finding) => finding.status === status).length
    return number === 0 ? [] : [`${number} ${word}${number === 1 ? '' : 's'}`]
  }
  const parts = [...count('error', 'error'), ...count('warning', 'warning')]
  return parts.length === 0 ? 'All is well.' : `${parts.join(', ')}.`
}

function readFindings(answer: unknown): readonly Finding[] {
  const { checks } = toRecord(answer)
  if (!Array.isArray(checks)) return []
  return checks.map(toRecord).map(({ name, status, message, action }) => ({
    name: toText(name),
    status: toText(status),
    message: toText(message),
    action: action === null || action === undefined ? null : toText(action),
  }))
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Names of institutions come from providers and could contain terminal control characters. */
function toText(value: unknown): string {
  return toPrintable(String(value))
}
