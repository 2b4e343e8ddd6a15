/**
 * Doors are loaded at their first request, from the folder that this process was started from. When an upgrade has replaced
 * that folder meanwhile, a door of the new version would run inside the old one: it is refused, until the service is restarted.
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
 * Makes the check to call before code is loaded late: it throws ReplacedCodeError when a source file, or npm's record of its last
 * install, is newer than this process.
 * @param folder the clone.
 */
export function makeCodeCheck(clock: Clock, folder: string = root): () => void {
  return () => {
    const now = clock.now()
    // By the clock of now: one that was set after the start does not make old files newer than it.
    const replaced = findChanged(folder, { from: now - process.uptime() * 1000, to: now })
    if (replaced === null) return
    throw new ReplacedCodeError(
      `the code in ${folder} was replaced after this process started (${replaced} is newer): restart the service`,
    )
  }
}

/** The first file that changed between these instants (in milliseconds). It reads directories, and no file. */
function findChanged(folder: string, { from, to }: { from: number; to: number }): string | null {
  const entries = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
  // What an editor leaves beside a file that is only looked at is no code.
  const sources = entries.filter((path) => /\.(?:ts|js|css|sql|json)$/.test(path))
  // An install that npm did not make has no such record.
  const files = ['node_modules/.package-lock.json', ...sources.map((path) => join('src', path))]
  const isNewer = (path: string) => {
    const at = statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
    // Beside a clock that is behind, as on a machine that has none of its own, every file is of the future and says nothing.
    return at > from && at <= to
  }
  return files.find(isNewer) ?? null
}
