/**
 * The file `.env` of the folder in which a process starts: one variable per line, in the runtime's syntax. It
 * refuses lines that the runtime would silently ignore; a value is never part of a message, since it may be a
 * secret.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { errorCode } from '#kernel/error-code.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface EnvironmentFile {
  readonly path: string
  readonly variables: Readonly<Record<string, string>>
  /** Users other than its owner may read it. */
  readonly isExposed: boolean
  /** The file's mode, for messages: `0644`. */
  readonly mode: string
}

/** The file exists and cannot be used; the message is one line with the place and what to do. */
export class EnvironmentFileError extends Error {
  override readonly name = 'EnvironmentFileError'
}

const maxBytes = 1_048_576

/**
 * Null when the folder has no such file.
 * @throws EnvironmentFileError
 */
export function readEnvironmentFile(folder: string): EnvironmentFile | null {
  const path = join(folder, '.env')
  const found = readIfThere(path)
  if (found === null) return null
  const lines = found.text.replace(/^\ufeff/, '').split(/\r?\n/)
  const problem = lines.map(judgeLine).findIndex((words) => words !== null)
  if (problem !== -1) {
    const words = judgeLine(lines[problem] ?? '')
    throw new EnvironmentFileError(`${path}, line ${problem + 1}: ${words}`)
  }
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(parseVariables(lines.join('\n')))) {
    if (value !== undefined) variables[name] = value
  }
  const bits = found.mode & 0o777
  return {
    path,
    variables,
    // Windows has no such mode bits: Node reports made-up ones.
    isExposed: process.platform !== 'win32' && (bits & 0o077) !== 0,
    mode: bits.toString(8).padStart(4, '0'),
  }
}

/** As the runtime reads it; but a value of blanks alone is empty here, and there it is the next line. */
export function parseVariables(text: string): NodeJS.Dict<string> {
  return parseEnv(text.replace(/=[ \t]+$/gm, '='))
}

interface Found {
  readonly text: string
  readonly mode: number
}

function readIfThere(path: string): Found | null {
  // Without O_NONBLOCK, which Windows lacks, a named pipe would be waited for without an end.
  const { O_RDONLY, O_NONBLOCK = 0 } = constants
  let file: number | null = null
  try {
    file = openSync(path, O_RDONLY | O_NONBLOCK)
    return readOpened(file, path)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    if (code === '') throw error
    throw new EnvironmentFileError(
      `${path} exists but cannot be read (${code}): make it readable for the user that runs this, or move it elsewhere`,
      { cause: error },
    )
  } finally {
    if (file !== null) closeSync(file)
  }
}

function readOpened(file: number, path: string): Found {
  const stats = fstatSync(file)
  if (!stats.isFile()) {
    throw new EnvironmentFileError(
      `${path} is not a regular file: write the settings into one of that name, or move it elsewhere`,
    )
  }
  if (stats.size > maxBytes) throw new EnvironmentFileError(`${path} is far too large for settings`)
  return { text: readFileSync(file, 'utf8'), mode: stats.mode }
}

/** Up to the value. */
const head = /^\s*(?:export\s+)?\w*\s*=?\s*/
const blank = /^[ \t]*(?:#.*)?$/
const assignment = /^[ \t]*(?:export [ \t]*)?[A-Za-z_]\w*[ \t]*=(.*)$/
const quoted = /^[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`)[ \t]*(?:[ \t]#.*)?$/
/** A `#` directly after a character would cut the value off there. */
const plain = /^[ \t]*(?:[^\s#"'`][^#]*)?(?:[ \t]#.*)?$/

/** What is wrong with the line; null when nothing is. */
function judgeLine(line: string): string | null {
  if (blank.test(line)) return null
  // The runtime would take it for a part of the name.
  if (/[^\S \t]/.test(head.exec(line)?.[0] ?? ''))
    return 'has a blank that is neither a space nor a tab, such as U+00A0 or U+FEFF; take it away'
  const value = assignment.exec(line)?.[1]
  if (value === undefined) return 'is neither NAME=value nor a comment (#)'
  if (line.includes('\0')) return 'has a NUL character'
  if (quoted.test(value) || plain.test(value)) return null
  if (/^[ \t]*["'`]/.test(value))
    return 'the value must end on its line with the quote that it begins with'
  return 'a value with # in it must be quoted'
}
