/**
 * How many connections the listeners hold. Each takes one of the process's open files (`ulimit -n`): where
 * these are few, so are the connections, and the store, the providers and the admin listener keep theirs.
 */
import { readFileSync } from 'node:fs'

export interface ConnectionLimits {
  /** From this many on, each new connection evicts the one that has been idle longest. */
  readonly evictAbove: number
  /** From this many on, new connections are refused. */
  readonly refuseAbove: number
}

/** Sixty are open after the start; the store, the providers and a few clients need as many again. */
const fewestOpenFiles = 256

const mostPublic = 10_000
/** The admin listener's bound: operators and monitoring use it. */
const mostAdmin = 1000

/** `openFiles`: how many the process may have. */
export function toConnectionLimits(openFiles: number): {
  readonly public: ConnectionLimits
  readonly admin: ConnectionLimits
} {
  const admin = Math.min(mostAdmin, Math.floor(openFiles / 8))
  return {
    admin: toLimits(admin),
    public: toLimits(Math.min(mostPublic, Math.floor((openFiles - admin) * 0.6))),
  }
}

function toLimits(refuseAbove: number): ConnectionLimits {
  return { evictAbove: Math.floor(refuseAbove * 0.9), refuseAbove }
}

/** The process may open too few files to serve anybody. */
export class FewFilesError extends Error {
  override readonly name = 'FewFilesError'
}

/** @throws FewFilesError */
export function demandFiles(openFiles: number): void {
  if (openFiles >= fewestOpenFiles) return
  throw new FewFilesError(
    `this process may open ${openFiles} files and needs ${fewestOpenFiles}: raise the limit (\`ulimit -n 1024\` in a shell, LimitNOFILE of a unit, ulimits of a container)`,
  )
}

/** Infinity where the system has no limit, or does not show it in this file (it is one of Linux). */
export function readOpenFiles(path = '/proc/self/limits'): number {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return Number.POSITIVE_INFINITY
  }
  const soft = /^Max open files +(\d+)/m.exec(text)?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}
