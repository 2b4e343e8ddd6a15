/**
 * Doors are loaded at their first request, from the folder that this process was started from. When an
 * upgrade has replaced that folder meanwhile, a door of the new version would run inside the old one: it is
 * refused, until the service is restarted.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clock } from '#kernel/time.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What this process would load is not what it was started from. */
export class ReplacedCodeError extends Error {
  override readonly name = 'ReplacedCodeError'
}

/**
 * Makes the check to call before code is loaded late: it throws ReplacedCodeError when a source file, or
 * npm's record of its last install, is newer than this process.
 * @param folder the clone.
 */
export function makeCodeCheck(clock: Clock, folder: string = root): () => void {
  return () => {
    const now = clock.now()
    const replaced = findChanged(folder, { from: startedAt(now), to: now })
    if (replaced === null) return
    throw new ReplacedCodeError(
      `the code in ${folder} was replaced after this process started (${replaced} is newer): restart the service`,
    )
  }
}

/**
 * The later of two readings of the start: by the clock of then, and by the clock of now. A clock that was set
 * since, in either direction, does not make the files of before the start newer than it. One that is now
 * behind the start has one reading only.
 */
function startedAt(now: number): number {
  const byNow = now - process.uptime() * 1000
  const byThen = performance.timeOrigin
  return byThen > now ? byNow : Math.max(byNow, byThen)
}

/**
 * The first file that changed between these instants (in milliseconds). It reads directories, and no file.
 */
function findChanged(folder: string, { from, to }: { from: number; to: number }): string | null {
  const entries = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
  // Editors leave other files beside the sources.
  const sources = entries.filter((path) => /\.(?:ts|js|css|sql|json)$/.test(path))
  // An install that npm did not make has no such record.
  const files = ['node_modules/.package-lock.json', ...sources.map((path) => join('src', path))]
  const isNewer = (path: string) => {
    const at = statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
    // If the clock is behind, every file looks newer; ignore that.
    return at > from && at <= to
  }
  return files.find(isNewer) ?? null
}
