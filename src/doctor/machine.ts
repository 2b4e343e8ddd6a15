/** What the process asks of its machine: room on the disk, and time to run. */
import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Installation } from './configuration.ts'
import { type Check, fault, ok, warning } from './finding.ts'

/** What can be measured; tests stand in for it. */
export interface Machine {
  /** Bytes that this process may still write into the directory's file system. */
  freeBytes(directory: string): Promise<number>
  /** The longest of a few waits beyond its time, in milliseconds: how long a request may lie about unread. */
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
/** The embedded store's log of changes alone may take 16 MiB, and a migration as much as the store. */
const littleBytes = 1024 * mebibyte
const nothingBytes = 64 * mebibyte

export function checkDisk(machine: Machine, installation: Installation): Check {
  const { storeDir, hasDatabase } = installation
  return async () => {
    const bytes = await machine.freeBytes(storeDir)
    const message = `${Math.floor(bytes / mebibyte)} MiB are free in ${storeDir}`
    // With PostgreSQL nothing grows there.
    if (hasDatabase || bytes >= littleBytes) return [ok('disk', message)]
    const action = `Make room in ${storeDir}, or move DATA_DIR: a store that cannot write answers 503`
    return [
      bytes < nothingBytes ? fault('disk', message, action) : warning('disk', message, action),
    ]
  }
}

const noticeableMs = 200

/** What to do when there is no time to run. */
export const freeTheLoop =
  'The process or its machine has too much to do: give it a core of its own, or add processes (docs/operations.md)'

export function checkEventLoop(machine: Machine): Check {
  return async (signal) => {
    const delay = Math.round(await machine.loopDelayMs(signal))
    const message = `held up for ${delay} ms at most while it was watched`
    if (delay < noticeableMs) return [ok('event-loop', message)]
    return [warning('event-loop', message, freeTheLoop)]
  }
}
