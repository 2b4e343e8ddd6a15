/**
 * How the `tributary` command is called on this install, for printed instructions: by npm when npm started
 * this process, by its own name when a wrapper of this install is on the path (container image, service
 * unit), else with the pinned runtime, which always works.
 */
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StartInfo } from '#src/config.ts'

export interface OwnCommand {
  readonly words: string
  /** The wrapper sets the service's environment: no variables need to be put before the command. */
  readonly knowsSettings: boolean
}

const root = fileURLToPath(new URL('../..', import.meta.url))

export function findCommand(
  { byNpm, path }: Pick<StartInfo, 'byNpm' | 'path'>,
  clone = root,
): OwnCommand {
  if (byNpm) return { words: 'npm run --silent tributary --', knowsSettings: false }
  const entry = join(clone, 'cli', 'main.ts')
  // Another project has a command with the same name.
  const isOurs = (folder: string) => readIfThere(join(folder, 'tributary')).includes(entry)
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  if (folders.some(isOurs)) return { words: 'tributary', knowsSettings: true }
  return { words: `${quoteWord(process.execPath)} ${quoteWord(entry)}`, knowsSettings: false }
}

/** Quotes the text as one word for a POSIX shell. */
export function quoteWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Empty when the file cannot be read: then it is not a wrapper of ours. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
