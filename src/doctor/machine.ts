/** What the process needs from its machine: free disk space, and CPU time for the event loop. */
import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Installation } from './configuration.ts'
import { type Check, fault, ok, warning } from './finding.ts'

/** The measurements; tests replace them. */
export interface Machine {
  /** Bytes that this process may still write into the directory's file system. */
  freeBytes(directory: string): Promise<number>
  /** The longest delay of a few timers, in milliseconds: how long a request may wait before it is read. */
  loopDelayMs(signal: AbortSignal): Promise<number>
}

const naps = 25
const napMs = 20

export const realMachine: Machine = {
  async freeBytes(directory) {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  },
  async loopDelayMs(signal) {
    let longest = 0
    for (let nap = 0; nap < naps; nap += 1) {
      const started = performance.now()
      await sleep(napMs, undefined, { signal })
      longest = Math.max(longest, performance.now() - started - napMs)
    }
    return longest
  },
}

const mebibyte = 1024 * 1024
/** The embedded store's write-ahead log alone may take 16 MiB, and a migration as much as the store. */
const littleBytes = 1024 * mebibyte
const nothingBytes = 64 * mebibyte

export function checkDisk(machine: Machine, installation: Installation): Check {
  const { storeDir, hasDatabase } = installation
  return async () => {
    // With a database server nothing grows on this machine, and the directory may not exist.
    if (hasDatabase)
      return [ok('disk', 'not examined: the store is in PostgreSQL, not on this disk')]
    const bytes = await machine.freeBytes(storeDir)
    const message = `${Math.floor(bytes / mebibyte)} MiB are free in ${storeDir}`
    if (bytes >= littleBytes) return [ok('disk', message)]
    const action = `Free disk space in ${storeDir}, or move DATA_DIR: a store that cannot write answers 503`
    return [
      bytes < nothingBytes ? fault('disk', message, action) : warning('disk', message, action),
    ]
  }
}

const noticeableMs = 200

/** The advice when the event loop is delayed. */
export const eventLoopRemedy =
  'The process or its machine is overloaded: give it a CPU core of its own, or add processes (docs/operations/scale.md)'

export function checkEventLoop(machine: Machine): Check {
  return async (signal) => {
    const delay = Math.round(await machine.loopDelayMs(signal))
    const message = `delayed by at most ${delay} ms during the measurement`
    if (delay < noticeableMs) return [ok('event-loop', message)]
    return [warning('event-loop', message, eventLoopRemedy)]
  }
}
