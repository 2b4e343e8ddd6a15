/** Makes a folder of the data directory, readable by its owner alone, with those above it. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Not Node's recursive form, which says ENOENT on a read-only disk.
 * @throws the system's error for the first folder that cannot be made.
 */
export function makeFolder(path: string): void {
  const isThere = (one: string) => statSync(one, { throwIfNoEntry: false })?.isDirectory() === true
  if (isThere(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process made it in this moment.
    if (!isThere(path)) throw error
  }
}

/**
 * That others may read an existing directory; null: nobody, or it is not there. It may be shared on purpose,
 * so its mode is not changed.
 */
export function describeOnlookers(path: string): string | null {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  // Windows has no such permission bits; the directory's access list applies there.
  if (process.platform === 'win32' || (mode & 0o077) === 0) return null
  return `other users may read ${path}: chmod 700 it`
}
