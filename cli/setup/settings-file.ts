/**
 * Adds variables to the `.env` that the service reads at its start. What a person wrote stays as it is: lines are only
 * added, for variables that are not set. The file is replaced as a whole, readable by its owner alone.
 */
import {
  chown,
  type FileHandle,
  open,
  readFile,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { Refusal } from '../server.ts'

export interface Written {
  readonly path: string
  /** The variables that were added. */
  readonly names: readonly string[]
  /** Others could read the file before. */
  readonly wasExposed: boolean
}

/** @throws Refusal when the file cannot be written, or another setup is writing it; then nothing was changed. */
export async function addToSettingsFile(
  folder: string,
  additions: ReadonlyMap<string, string>,
): Promise<Written> {
  const path = await resolvePath(join(folder, '.env'))
  const draft = `${path}.new`
  const file = await openDraft(draft, path, [...additions.keys()])
  try {
    const found = await readIfThere(path)
    const set = parseEnv(found?.text ?? '')
    const missing = [...additions].filter(([name]) => (set[name] ?? '').trim() === '')
    const wasExposed = found !== null && process.platform !== 'win32' && (found.mode & 0o077) !== 0
    if (missing.length === 0 && !wasExposed) {
      await discard(file, draft)
      return { path, names: [], wasExposed }
    }
    await file.writeFile(extend(found?.text ?? '', missing))
    await file.sync()
    if (found !== null && process.getuid?.() === 0) await chown(draft, found.uid, found.gid)
    await file.close()
    await rename(draft, path)
    return { path, names: missing.map(([name]) => name), wasExposed }
  } catch (error) {
    await discard(file, draft)
    throw error instanceof Refusal ? error : unwritable(path, [...additions.keys()], error)
  }
}

/** A link stays a link: what it leads to is replaced. */
async function resolvePath(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    // There is no file yet; whatever else is wrong shows when it is written.
    return path
  }
}

/** Exclusive: it is the lock between two setups, too. */
async function openDraft(
  draft: string,
  path: string,
  names: readonly string[],
): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', 0o600)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unwritable(path, names, error)
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
  try {
    const { mode, uid, gid } = await stat(path)
    return { text: await readFile(path, 'utf8'), mode, uid, gid }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

function extend(text: string, added: readonly (readonly [string, string])[]): string {
  if (added.length === 0) return text
  const separator = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const lines = added.map(([name, value]) => `${name}=${quote(value)}\n`)
  return `${text}${separator}# Added by tributary setup.\n${lines.join('')}`
}

/** The values are visible ASCII; some characters are only read as written between quotes. */
function quote(value: string): string {
  if (/^[\w./:@+=-]*$/.test(value)) return value
  const mark = ["'", '"', '`'].find((one) => !value.includes(one))
  if (mark === undefined) {
    const message = 'A value with all three kinds of quotes cannot be written to .env'
    throw new Refusal({ error: { message } })
  }
  return `${mark}${value}${mark}`
}

async function discard(file: FileHandle, draft: string): Promise<void> {
  await file.close().catch(() => {})
  await unlink(draft).catch(() => {})
}

function unwritable(path: string, names: readonly string[], cause: unknown): Refusal {
  const reason = codeOf(cause)
  const message = `${path} cannot be written (${reason}); make ${dirname(path)} writable for the user that runs this, or set ${names.join(', ')} in the environment`
  return new Refusal({ error: { message } }, { cause })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
