/** What ends the use of a snapshot. None of it is a failure of the provider by itself. */

/**
 * How many attempts, whatever ended the others, a reading or an answer may have had when it begins anew after
 * one of these. `gone`: the body of a page is gone, or a cursor that was stored is not taken any more.
 * `moved`: numbered pages disagree, because rows moved while they were read. `changed`: the window would not
 * continue what was shown before. `contested`: another process saved first.
 */
const mostTimes = { gone: 3, moved: 3, changed: 8, contested: 8 } as const

export class Trouble extends Error {
  override readonly name = 'Trouble'
  readonly kind: keyof typeof mostTimes
  /** The generation of which no window can be continued, where the kind is `changed`; null: none is known. */
  readonly broken: string | null
  constructor(kind: Trouble['kind'], message: string, broken: string | null = null) {
    super(message)
    this.kind = kind
    this.broken = broken
  }
}

export const mayRepeat = (error: unknown, times: number): error is Trouble =>
  error instanceof Trouble && times < mostTimes[error.kind]
