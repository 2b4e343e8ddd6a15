/**
 * Whether a folder is this user's alone: neither it, nor a folder above it, nor the `.env` in it may be
 * written by anybody else, who could otherwise choose the settings that are read, and the files that are
 * written, with the rights of this user.
 */
import { existsSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Refusal } from '../server.ts'

/** @throws Refusal which names the folder, or the `.env`, that somebody else may write. */
export function demandOwnFolder(folder: string): void {
  const me = process.getuid?.()
  // Windows has no such owners and modes.
  if (me === undefined) return
  const path = realpathSync(folder)
  const users = readAccounts('/etc/passwd')
  const groups = readAccounts('/etc/group')
  const isPrivate = (group: number) => isPrivateGroup(group, { user: me, users, groups })
  const isSafe = (one: string, isItself: boolean) =>
    isOurs(statSync(one), { user: me, isItself, isPrivate })
  const open = listUpwards(path).find((one) => !isSafe(one, one === path))
  if (open !== undefined) {
    const message = `${describe(open)} may be written by another user, who could change what setup reads and writes in ${path}: run setup as the owner of that folder, or in a folder that only you may write`
    throw new Refusal({ error: { message } })
  }
  const file = join(path, '.env')
  if (!existsSync(file) || isSafe(file, true)) return
  const message = `${describe(file)} may be written by another user, who could choose the settings that setup reads: let it belong to the user who runs setup, with mode 0600`
  throw new Refusal({ error: { message } })
}

function describe(path: string): string {
  const { uid, gid, mode } = statSync(path)
  return `${path} (owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`
}

function listUpwards(path: string): readonly string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [path, ...listUpwards(parent)]
}

interface Whose {
  readonly user: number
  readonly isItself: boolean
  /** Nobody but `user` and root is in that group. */
  readonly isPrivate: (group: number) => boolean
}

/**
 * True when only `user` and root may change what is there. In a folder above (not `isItself`) that has the
 * sticky bit others may add, but neither rename nor remove what is not theirs.
 */
export function isOurs(
  { uid, gid, mode }: Pick<Stats, 'uid' | 'gid' | 'mode'>,
  { user, isItself, isPrivate }: Whose,
): boolean {
  if (uid !== 0 && uid !== user) return false
  if (!isItself && (mode & 0o1000) !== 0) return true
  return (mode & 0o002) === 0 && ((mode & 0o020) === 0 || isPrivate(gid))
}

/** The lines of /etc/passwd or /etc/group, by field. */
export type Accounts = readonly (readonly string[])[]

/** Empty where the system has no such file. */
function readAccounts(path: string): Accounts {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(':'))
}

/**
 * The group of root or the one that is made with a user, whose numbers are equal, as long as nobody else is
 * in it: by /etc/group, or as the first group of another user.
 */
export function isPrivateGroup(
  group: number,
  { user, users, groups }: { user: number; users: Accounts; groups: Accounts },
): boolean {
  if (group !== 0 && group !== user) return false
  const isOther = ([, , id]: readonly string[]) => id !== '0' && id !== String(user)
  const members = groups
    .filter(([, , id]) => id === String(group))
    .flatMap(([, , , names = '']) => names.split(','))
  const isOurName = (name: string) =>
    name === '' || users.some((one) => one[0] === name && !isOther(one))
  const isFirstOfOther = users.some((one) => isOther(one) && one[3] === String(group))
  return !isFirstOfOther && members.every(isOurName)
}
