/**
 * Shares one walk among all processes: its state is stored sealed, where every process finds it; page bodies are
 * never stored. The process that saves first determines the order of rows, and the others continue from it. When
 * sharing is unavailable, each process has its own walk.
 */
import type { SharedWalks } from '#store/ports/kv.ts'
import { adoptWalk } from './adopt-walk.ts'
import { decodeWalk, encodeWalk } from './walk-code.ts'
import type { AnyWalk } from './walk-state.ts'

export interface SharedPlace {
  readonly walks: SharedWalks
  /** Identifies user, epoch and the whole query (reading R10). */
  readonly key: string
  readonly now: () => number
}

export interface Sharing {
  /** Continues from a newer state that another process saved. */
  takeOver(): Promise<void>
  /**
   * Saves the walk for the other processes. False: another process saved first, and its state was adopted. `isWhole`:
   * the window has all rows, so nobody will request another.
   */
  save(window: { readonly isWhole: boolean }): Promise<boolean>
  expiresAt(): number
}

export function makeSharing(
  state: AnyWalk,
  options: { readonly shared: SharedPlace | null; readonly expiresAt: number },
): Sharing {
  const { shared } = options
  let { expiresAt } = options
  /** The version last saved or adopted. */
  let version: string | null = null

  async function takeOver(): Promise<void> {
    if (shared === null) return
    const found = await shared.walks.load(shared.key, version)
    if (found.kind === 'none') {
      version = null
      // The stored walk was lost, so the next answer saves it again.
      state.dirty = state.answered !== null
    }
    if (found.kind !== 'found') return
    version = found.version
    const walk = decodeWalk(found.bytes)
    // Saved by another version of this software, or expired; it will be overwritten.
    if (walk === null || walk.expiresAt <= shared.now() || !adoptWalk(state, walk)) {
      state.dirty = state.answered !== null
      return
    }
    expiresAt = Math.min(expiresAt, walk.expiresAt)
  }

  return {
    takeOver,
    async save({ isWhole }) {
      if (shared === null || !state.dirty || (isWhole && version === null)) return true
      // A restarted stream is still locating known rows, so its state is incomplete.
      if (state.streams.some((stream) => stream.before !== null || stream.unlocated > 0))
        return true
      const bytes = encodeWalk(state, expiresAt)
      const lifeMs = expiresAt - shared.now()
      const saved = await shared.walks.save(shared.key, { expected: version, bytes, ttlMs: lifeMs })
      if (saved.kind === 'saved') {
        version = saved.version
        state.dirty = false
      }
      if (saved.kind !== 'conflict') return true
      await takeOver()
      return false
    },
    expiresAt: () => expiresAt,
  }
}
