/**
 * Whether a folder is this user's alone: neither it, nor a folder above it, nor a link that leads to it, nor
 * the `.env` in it may be written by anybody else, who could otherwise choose the settings that are read, and
 * the files that are written, with the rights of this user.
 */
import {
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { Refusal } from '../server.ts'

/** @throws Refusal which names the folder, or the `.env`, that somebody else may write. */
export function demandOwnFolder(folder: string): void {
  const advice = 'run setup as the owner of that folder, or in a folder that only you may write'
  demandOwnWay(resolve(folder), toRisk(realpathSync.native(folder), advice))
  const file = join(resolve(folder), '.env')
  if (!existsSync(file)) return
  const risk =
    'who could choose the settings that setup reads: let .env be a file of the user who runs setup, with mode 0600'
  demandOwnWay(file, risk)
}

/**
 * Looks at the data directory, or at the folder in which it would be made.
 * @throws Refusal which names the folder that somebody else may write.
 */
export function demandOwnData(dataDir: string): void {
  const advice =
    'start the service, then run setup again, or run setup as the owner of that folder, or set a DATA_DIR that only you may write'
  demandOwnWay(findNearest(resolve(dataDir)), toRisk(dataDir, advice))
}

/** The folder, or the nearest one above it that is there, since it would be made in that one. */
function findNearest(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : findNearest(dirname(path))
}

function toRisk(folder: string, advice: string): string {
  return `who could change what setup reads and writes in ${folder}: ${advice}`
}

/** @throws Refusal which says what somebody else may write, and the risk. */
function demandOwnWay(path: string, risk: string): void {
  const me = process.getuid?.()
  // Windows has no such owners and modes.
  if (me === undefined) return
  const users = readAccounts('/etc/passwd')
  const groups = readAccounts('/etc/group')
  const isPrivate = (group: number) => isPrivateGroup(group, { user: me, users, groups })
  // Node's own form reads `..` in a link as text.
  const itself = realpathSync.native(path)
  const open = listWay('/', path.split('/')).find((one) => {
    const stats = lstatSync(one)
    // Everybody may write a link by its mode, but nobody changes it except in its folder.
    if (stats.isSymbolicLink()) return stats.uid !== 0 && stats.uid !== me
    return !isOurs(stats, { user: me, isItself: one === itself, isPrivate })
  })
  if (open === undefined) return
  const message = `${describe(open, lstatSync(open))} may be written by another user, ${risk}`
  throw new Refusal({ error: { message } })
}

function describe(path: string, { uid, gid, mode }: Stats): string {
  return `${path} (owner ${uid}, group ${gid}, mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`
}

/**
 * Every link and every folder that the system passes on the way to the last of `names`, beginning at `from`,
 * in which no name is a link. Their text alone would not do: `..` in a link leads out of the folder that is
 * there, which another link may have led to.
 */
function listWay(from: string, [name, ...rest]: readonly string[]): readonly string[] {
  if (name === undefined) return [from]
  const path = join(from, name)
  if (!lstatSync(path).isSymbolicLink()) return [from, ...listWay(path, rest)]
  const target = readlinkSync(path)
  const names = [...target.split('/'), ...rest]
  return [from, path, ...listWay(isAbsolute(target) ? '/' : from, names)]
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
