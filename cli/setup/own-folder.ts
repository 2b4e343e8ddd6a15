/**
 * Whether a folder is this user's alone: neither it nor a folder above it may be written by anybody else, who
 * could otherwise choose the settings that are read, and the files that are written, with the rights of this
 * user.
 */
import { realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Refusal } from '../server.ts'

/** @throws Refusal which names the folder that somebody else may write. */
export function demandOwnFolder(folder: string): void {
  const me = process.getuid?.()
  // Windows has no such owners and modes.
  if (me === undefined) return
  const path = realpathSync(folder)
  const group = process.getgid?.() ?? 0
  const isSafe = (one: string) => isOurs(statSync(one), { user: me, group, isItself: one === path })
  const open = listUpwards(path).find((one) => !isSafe(one))
  if (open === undefined) return
  const { uid, mode } = statSync(open)
  const place = `${open} (owner ${uid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`
  const message = `${place} may be written by another user, who could change what setup reads and writes in ${path}: run setup as the owner of that folder, or in a folder that only you may write`
  throw new Refusal({ error: { message } })
}

function listUpwards(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [path, ...listUpwards(parent)]
}

/**
 * True when only `user` and root may change what is in the folder. In a folder above (not `isItself`) that
 * has the sticky bit others may add, but neither rename nor remove what is not theirs.
 */
export function isOurs(
  { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>,
  whose: { readonly user: number; readonly group: number; readonly isItself: boolean },
): boolean {
  if (uid !== 0 && uid !== whose.user) return false
  if (!whose.isItself && (mode & 0o1000) !== 0) return true
  const isGroupOurs = (mode & 0o020) === 0 || gid === 0 || gid === whose.group
  return (mode & 0o002) === 0 && isGroupOurs
}
