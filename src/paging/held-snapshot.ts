/** A snapshot with the bodies of its pages, as a process holds it. */
import { ageOf } from '#providers/data-age.ts'
import { makeSnapshot, type Snapshot, type SnapshotPage } from './snapshot.ts'

export interface HeldSnapshot {
  readonly snapshot: Snapshot
  /** By the names of their pages; where processes share pages, some may be there only. */
  readonly bodies: Map<string, Uint8Array>
  /** When it may be used no longer, in milliseconds since the epoch, whatever the age of its pages. */
  readonly expiresAt: number
  /** When a request last read on in it. */
  readAt: number
  /** Where processes share it: its version there, and the names of its pages that are there (place.ts). */
  version: string | null
  readonly saved: Set<string>
}

type Lists = readonly (readonly SnapshotPage[])[]

/** When it may be used no longer. */
export const endOf = ({ expiresAt }: { readonly expiresAt: number }, lists: Lists): number =>
  Math.min(expiresAt, ageOf(lists.flat()).goodUntil)

/** A copy that has these pages of it alone. */
export function copyHeld(held: HeldSnapshot, lists: Lists): HeldSnapshot {
  const names = new Set(lists.flat().map(({ name }) => name))
  const bodies = new Map([...held.bodies].filter(([name]) => names.has(name)))
  const snapshot = makeSnapshot(held.snapshot.facts, lists)
  for (const { index, pages, doubtful } of held.snapshot.lists) {
    const list = snapshot.lists[index]
    if (list?.pages.length === pages.length) list.doubtful = doubtful
  }
  return { ...held, snapshot, bodies, saved: new Set(held.saved) }
}

/** What a row takes beside the body of its page, and a snapshot without rows. */
const [bytesPerRow, bytesPerSnapshot] = [140, 2048]

export function sizeOf({ bodies, snapshot }: HeldSnapshot): number {
  const rows = snapshot.lists.reduce((sum, list) => sum + list.rows.length, 0)
  let bytes = bytesPerSnapshot + rows * bytesPerRow
  for (const body of bodies.values()) bytes += body.byteLength
  return bytes
}
