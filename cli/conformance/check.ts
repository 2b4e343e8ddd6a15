/**
 * What a check of the conformance kit is: a promise of the contract, where it is written, and a run that
 * throws a Failure with what was expected and seen, or Skipped with the reason. A run that ends is a promise
 * that was kept.
 */

export interface ConformanceCheck<On> {
  /** The promise in plain words. */
  readonly name: string
  /** Where it is written: a section of docs/contract.md, or a reading. */
  readonly clause: string
  /** It reads a list in many windows: `--quick` leaves it out. */
  readonly isLong?: true
  readonly run: (on: On) => Promise<void>
}

export interface CheckGroup<On> {
  readonly name: string
  readonly checks: readonly ConformanceCheck<On>[]
}

/** The promise was not kept. */
export class CheckFailure extends Error {
  override readonly name = 'Failure'
  readonly expected: string
  readonly seen: string
  constructor(expected: string, seen: string) {
    super(`expected ${expected}, saw ${seen}`)
    this.expected = expected
    this.seen = seen
  }
}

/** The promise cannot be examined here; the message is the reason. */
export class Skipped extends Error {
  override readonly name = 'Skipped'
}

/** @throws Failure unless `holds`. */
export function expect(holds: boolean, expected: string, seen: unknown): asserts holds {
  if (!holds) throw new CheckFailure(expected, show(seen))
}

/** @throws Skipped */
export function skip(reason: string): never {
  throw new Skipped(reason)
}

const maxShown = 300

/** A value of the server for the report: short. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}
