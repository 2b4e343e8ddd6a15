/** A snapshot with the bodies of its pages, as a process holds it. */
import { isPacked, pack } from '#kernel/packed.ts'
import { oldestOf } from '#providers/data-age.ts'
import type { DataAge } from '#providers/port.ts'
import { makeSnapshot, type Snapshot, type SnapshotPage } from './snapshot.ts'

/** A shorter body stays as it came: a compressor's memory costs more than it saves. */
const leastBytes = 512

/** Compresses the bodies that are not, outside the main thread. Returns those as they came. */
export async function packBodies({ bodies }: HeldSnapshot, names = [...bodies.keys()]) {
  const given = names.map((name) => [name, bodies.get(name) ?? new Uint8Array()] as const)
  const raw = given.filter(([, body]) => body.length >= leastBytes && !isPacked(body))
  await Promise.all(raw.map(async ([name, body]) => bodies.set(name, await pack(body))))
  return raw.map(([, body]) => body)
}

export interface HeldSnapshot {
  readonly snapshot: Snapshot
  /** By the names of their pages; where processes share pages, some may be there only. */
  readonly bodies: Map<string, Uint8Array>
  /** When it may be used no longer, in milliseconds since the epoch, whatever the age of its pages. */
  readonly expiresAt: number
  /** Where processes share it: its version there, and the names of its pages that are there (place.ts). */
  version: string | null
  readonly saved: Set<string>
}

type Lists = readonly (readonly SnapshotPage[])[]

/**
 * The age of what its pages have: the oldest of them, and the earliest end; neither where each was read for
 * the query (reading R36).
 */
export function ageOf(lists: Lists): Pick<DataAge, 'goodUntil'> & Partial<DataAge> {
  const ages = lists.flat().flatMap(({ age }) => age ?? [])
  const goodUntil = Math.min(...ages.map((age) => age.goodUntil))
  return ages.length === 0
    ? { goodUntil }
    : { asOf: oldestOf(ages.map((age) => age.asOf)), goodUntil }
}

/** When it may be used no longer. */
export const endOf = ({ expiresAt }: { readonly expiresAt: number }, lists: Lists): number =>
  Math.min(expiresAt, ageOf(lists).goodUntil)

/** A copy that has these pages of it alone. */
export function copyHeld(held: HeldSnapshot, lists: Lists): HeldSnapshot {
  const names = new Set(lists.flat().map(({ name }) => name))
  const bodies = new Map([...held.bodies].filter(([name]) => names.has(name)))
  const snapshot = makeSnapshot(held.snapshot.facts, lists)
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
