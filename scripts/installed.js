/**
 * Which packages `node_modules` contains and which process runs from it: plain JavaScript that any Node 20
 * can run, for the starter. It only reads.
 */
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'

/**
 * Compares npm's record of its last install with the lock file. `complete`: everything; `production`:
 * everything but the development packages, which were left out; `stale`: something is missing or has another
 * version; `none`. `omitsDev` tells how the last install was made, so that the next one is made alike.
 */
export function judgeInstall(root, runtime) {
  const held = readPackages(join(root, 'node_modules/.package-lock.json'))
  if (held === null) return { kind: 'none', omitsDev: existsSync(join(root, omissionFile)) }
  const wanted = Object.entries(readPackages(join(root, 'package-lock.json')) ?? {})
  const omitsDev = !Object.values(held).some(({ dev }) => dev === true)
  const fits = ([name, { version, integrity }]) =>
    held[name]?.version === version && held[name]?.integrity === integrity
  // Optional packages of other platforms may be missing; an installed one must have the right version, the
  // runtime above all.
  const isNeeded = ([name, { optional }]) => name !== '' && (!optional || name in held)
  const needed = wanted.filter(isNeeded)
  const production = needed.filter(([, { dev }]) => !dev)
  const isWhole = isWholeProgram(runtime) && findGap(root) === null
  if (!isWhole || !production.every(fits)) return { kind: 'stale', omitsDev }
  if (needed.every(fits)) return { kind: 'complete', omitsDev: false }
  return { kind: omitsDev ? 'production' : 'stale-development', omitsDev }
}

/**
 * In the clone, while packages are installed without those for development, and after such an install was cut
 * off.
 */
export const omissionFile = '.tributary-omits-dev'

/**
 * The path of a package that npm's record has and the disk has not, or of the record; null when nothing is
 * missing.
 */
export function findGap(root) {
  const record = 'node_modules/.package-lock.json'
  const held = readPackages(join(root, record))
  if (held === null) return record
  const isThere = (name) => existsSync(join(root, name, 'package.json'))
  return Object.keys(held).find((name) => !isThere(name)) ?? null
}

/**
 * False when the program is missing, may not be run, or is not there as a whole: a machine that lost its
 * power may leave it empty or cut off. An empty one would end at once as if all were well.
 */
export function isWholeProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    const { size } = statSync(path)
    return size > 0 && size >= endOfElf(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(error.code)) return false
    throw error
  }
}

/** Where the table of sections ends, the last part of a program of Linux; 0 for other formats. */
function endOfElf(path) {
  const head = Buffer.alloc(64)
  const file = openSync(path)
  readSync(file, head)
  closeSync(file)
  if (head.readUInt32BE(0) !== 0x7f454c46) return 0
  return Number(head.readBigUInt64LE(40)) + head.readUInt16LE(58) * head.readUInt16LE(60)
}

/** Null when there is no such file, or it was not written by npm. */
function readPackages(path) {
  try {
    const { packages } = JSON.parse(readFileSync(path, 'utf8'))
    return Object.keys(packages ?? {}).length > 0 ? packages : null
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error instanceof SyntaxError)
      return null
    throw error
  }
}

/** The id of a process that runs a program in this folder's `node_modules`; null when there is none. */
export function findLiveProcess(root) {
  const modules = join(root, 'node_modules')
  if (!existsSync(modules)) return null
  const folders = [...new Set([modules, realpathSync(modules)])].map((path) => join(path, '/'))
  const isInside = (program) => folders.some((folder) => program.startsWith(folder))
  return process.platform === 'linux' ? findInProc(isInside) : findByPs(isInside)
}

function findInProc(isInside) {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    if (isInside(programOf(name)) || isInside(commandOf(name))) return Number(name)
  }
  return null
}

/**
 * The program's path; empty for another user's process (only its command line can be read) and for one that
 * has ended.
 */
function programOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
  } catch {
    return ''
  }
}

/** Windows has no `ps`: there no process is found, and the system itself protects files that are in use. */
function findByPs(isInside) {
  const { stdout, error } = spawnSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' })
  if (error !== undefined) return null
  for (const line of stdout.split('\n')) {
    const [, pid, program] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    if (program !== undefined && Number(pid) !== process.pid && isInside(program))
      return Number(pid)
  }
  return null
}
