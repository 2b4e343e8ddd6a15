/**
 * Adds variables to the `.env` that the service reads at its start. What a person wrote stays as it is: lines
 * are added for variables that are not set, and replaced for those that were asked for again. The file is
 * replaced as a whole, readable by its owner alone. Everything is done by descriptor and through no link, so
 * that nobody who may write to the folder leads it to another file.
 */
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import { errorCode } from '#kernel/error-code.ts'
import { parseVariables } from '#settings/environment-file.ts'
import { plainFileFlags } from '#store/plain-file.ts'
import { Refusal } from '../server.ts'

export interface Written {
  readonly path: string
  /** The variables that were added. */
  readonly names: readonly string[]
  /** The variables whose lines were replaced. */
  readonly replaced: readonly string[]
  /** Others could read the file before. */
  readonly wasExposed: boolean
}

/** Sets variables, by name. */
type Lines = ReadonlyMap<string, string>

const maxBytes = 1_048_576

/**
 * @param replacements set whether or not they were set before.
 * @throws Refusal when the file cannot be written, or another setup is writing it; then nothing was changed.
 */
export async function addToSettingsFile(
  folder: string,
  additions: Lines,
  replacements: Lines = new Map(),
): Promise<Written> {
  const path = join(folder, '.env')
  const draft = `${path}.new`
  const names = [...additions.keys(), ...replacements.keys()]
  const file = await openDraft(draft, path, names)
  try {
    const found = await readIfThere(path)
    const set = parseVariables(found?.text ?? '')
    const isSet = (name: string) => (set[name] ?? '').trim() !== ''
    const stale = [...replacements].filter(([name, value]) => isSet(name) && set[name] !== value)
    const missing = [...additions, ...replacements].filter(([name]) => !isSet(name))
    const wasExposed = found !== null && process.platform !== 'win32' && (found.mode & 0o077) !== 0
    const written = { path, names: toNames(missing), replaced: toNames(stale), wasExposed }
    if (missing.length + stale.length === 0 && !wasExposed) {
      await discard(file, draft)
      return written
    }
    const text = extend(replaceLines(found?.text ?? '', stale), missing)
    const wanted = { ...set, ...Object.fromEntries([...stale, ...missing]) }
    if (!isDeepStrictEqual({ ...parseVariables(text) }, wanted)) throw unreadable(path, names)
    await file.writeFile(text)
    if (found !== null && process.getuid?.() === 0) await file.chown(found.uid, found.gid)
    await file.sync()
    await file.close()
    await rename(draft, path)
    return written
  } catch (error) {
    await discard(file, draft)
    throw error instanceof Refusal ? error : unwritable(path, names, error)
  }
}

const toNames = (lines: readonly (readonly [string, string])[]) => lines.map(([name]) => name)

/** Exclusive: it is the lock between two setups, too. */
async function openDraft(
  draft: string,
  path: string,
  names: readonly string[],
): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', 0o600)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw unwritable(path, names, error)
    const message = `${draft} exists: another setup is writing ${path}; if none runs, remove that file and run setup again`
    throw new Refusal({ error: { message } }, { cause: error })
  }
}

interface Found {
  readonly text: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

async function readIfThere(path: string): Promise<Found | null> {
  let file: FileHandle
  try {
    file = await open(path, plainFileFlags)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
  try {
    const { mode, uid, gid, size } = await file.stat()
    if (size > maxBytes) throw new Error('it is far too large for settings')
    return { text: await file.readFile('utf8'), mode, uid, gid }
  } finally {
    await file.close()
  }
}

/** Every line that sets one of them, since the last one of a name counts. A comment behind a value stays. */
function replaceLines(text: string, lines: readonly (readonly [string, string])[]): string {
  const values = new Map(lines)
  const assignment = /^([ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=)([^\r\n]*)/gm
  return text.replaceAll(assignment, (line, before: string, name: string, after: string) => {
    const value = values.get(name)
    return value === undefined ? line : `${before}${quote(value)}${toComment(after)}`
  })
}

/** The comment behind a value, which may have a `#` of its own between quotes. */
function toComment(after: string): string {
  const [, comment = ''] = /^[ \t]*(?:(["'`]).*?\1|[^#]*?)([ \t]*#.*)$/.exec(after)?.slice(1) ?? []
  return comment
}

function extend(text: string, added: readonly (readonly [string, string])[]): string {
  if (added.length === 0) return text
  const separator = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const lines = added.map(([name, value]) => `${name}=${quote(value)}\n`)
  return `${text}${separator}# Added by tributary setup.\n${lines.join('')}`
}

/**
 * The values are visible ASCII; some characters are only read as written between quotes, and `\\n` not
 * between all.
 */
function quote(value: string): string {
  const isReadBack = (text: string) => parseEnv(`A=${text}`).A === value
  if (/^[\w./:@+=-]*$/.test(value)) return value
  const quoted = ["'", '"', '`'].map((mark) => `${mark}${value}${mark}`).find(isReadBack)
  if (quoted !== undefined) return quoted
  const message = 'A value with all three kinds of quotes cannot be written to .env'
  throw new Refusal({ error: { message } })
}

async function discard(file: FileHandle, draft: string): Promise<void> {
  await file.close().catch(() => {})
  await unlink(draft).catch(() => {})
}

/** What would be written is not what the next start would read. */
function unreadable(path: string, names: readonly string[]): Refusal {
  const message = `${path} has a quote that is not closed, or a value of several lines that would have to change, and what setup adds would not be read; mend it there, or set ${names.join(', ')} in the environment`
  return new Refusal({ error: { message } })
}

function unwritable(path: string, names: readonly string[], cause: unknown): Refusal {
  const elsewhere = `set ${names.join(', ')} in the environment`
  const message =
    errorCode(cause) === 'ELOOP'
      ? `${path} is a link, and setup writes through none; put the file itself in its place, or ${elsewhere}`
      : `${path} cannot be written (${errorCode(cause) || String(cause)}); make its folder writable for the user that runs this, or ${elsewhere}`
  return new Refusal({ error: { message } }, { cause })
}
