/** What ends the use of a snapshot. None of it is a failure of the provider by itself. */
import type { Provider } from '#contract/resources.ts'
import { UpstreamError } from '#providers/failure.ts'

/**
 * `gone`: the body of a page is gone, or a cursor that was stored is not taken any more. `moved`: numbered
 * pages disagree, because rows moved while they were read. `changed`: the window would not continue what was
 * shown before. `contested`: another process saved first.
 */
export type TroubleKind = 'gone' | 'moved' | 'changed' | 'contested'

export class Trouble extends Error {
  override readonly name = 'Trouble'
  readonly kind: TroubleKind
  /** Of `changed`: the generation of which no window can be continued; null: not known to be one. */
  readonly broken: string | null
  constructor(kind: TroubleKind, message: string, broken: string | null = null) {
    super(message)
    this.kind = kind
    this.broken = broken
  }
}

export const kindOf = (error: unknown): TroubleKind | null =>
  error instanceof Trouble ? error.kind : null

/** How often a reading or an answer begins anew after each of them. */
export const mostTimes: Readonly<Record<TroubleKind, number>> = {
  gone: 3,
  moved: 3,
  changed: 8,
  contested: 8,
}

/**
 * The failure of numbered pages that stay inconsistent. They may come from a login that has ended (reading
 * R20b).
 */
export async function toMoved(
  provider: Provider,
  confirmEnd: () => Promise<void>,
  cause: unknown,
): Promise<UpstreamError> {
  await confirmEnd()
  const detail = 'rows moved between the pages while they were read'
  return new UpstreamError(provider, { kind: 'malformed', detail }, cause)
}
