/**
 * How many connections the listeners hold. Each takes one of the process's open files (`ulimit -n`): where
 * these are few, so are the connections, and the store, the providers and the admin listener keep theirs.
 * Each may also hold a head that is not complete, so they are fewer where the heap is small.
 */
import { readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'

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
/** A connection with the largest head that is accepted takes half of it. */
const heapPerConnection = 64 * 1024

/** `openFiles`: how many the process may have. `heapBytes`: the largest size of its heap. */
export function toConnectionLimits(
  openFiles: number,
  heapBytes: number,
): {
  readonly public: ConnectionLimits
  readonly admin: ConnectionLimits
} {
  const admin = Math.min(mostAdmin, Math.floor(openFiles / 8))
  const held = Math.min(mostPublic, Math.floor(heapBytes / heapPerConnection))
  return {
    admin: toLimits(admin),
    public: toLimits(Math.min(held, Math.floor((openFiles - admin) * 0.6))),
  }
}

/** Those of this process. */
export const readConnectionLimits = () =>
  toConnectionLimits(readOpenFiles(), getHeapStatistics().heap_size_limit)

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
