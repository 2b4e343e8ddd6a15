/**
 * Continues a walk from the state that another process saved. Page bodies in memory are kept, and their rows are
 * looked up in the new state.
 */
import type { RowPage } from '#providers/port.ts'
import { makeFingerprint } from './fingerprint.ts'
import { makeStream, renewCopies, type Stream } from './stream.ts'
import type { KeptWalk } from './walk-code.ts'
import { dropBodies, markAnswered, type WalkState } from './walk-state.ts'

/** False when the saved walk belongs to another query; nothing has changed then. */
export function adoptWalk<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  kept: KeptWalk,
): boolean {
  if (kept.streams.length !== state.streams.length) return false
  const { source } = state
  state.streams = kept.streams.map(({ window, ...known }, index): Stream<Page> => {
    const own = state.streams[index]
    if (own === undefined) throw new RangeError(`there is no stream ${index}`)
    const stream = Object.assign(makeStream(source, { ...own.query, window }), known)
    takeBodies(state, own, stream)
    renewCopies(source, stream)
    return stream
  })
  state.seed = kept.seed
  state.fingerprint = makeFingerprint(kept.seed)
  state.merged = kept.merged
  state.believed = kept.believed
  state.dirty = false
  markAnswered(state)
  return true
}

/** Keeps the bodies of pages that the saved walk has too; a window with other bounds has other pages. */
function takeBodies<Page extends RowPage<unknown>>(
  state: WalkState<Page>,
  own: Stream<Page>,
  stream: Stream<Page>,
): void {
  const isSame = JSON.stringify(own.query.window) === JSON.stringify(stream.query.window)
  for (const held of [...own.bodies.values()]) {
    const page = stream.pages.indexOf(held.cursor)
    if (!isSame || page < 0) continue
    own.bodies.delete(held.cursor)
    stream.bodies.set(held.cursor, { ...held, page, parsed: null, isLookedUp: false })
  }
  dropBodies(state, own)
}
