/**
 * The secrets that operators need not set: the encryption key of the embedded store and the admin token. They are made
 * once, readable by their owner alone, and never overwritten; a damaged file is refused, since a new key would make
 * everything sealed with the old one unreadable.
 */
import { randomBytes } from 'node:crypto'
import { chmod, type FileHandle, link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Secret } from '#kernel/secret.ts'
import type { Config } from '../config.ts'
import { keyBytes, parseEncryptionKeys } from './encryption-keys.ts'

export interface Secrets {
  readonly encryptionKeys: Secret<readonly Uint8Array[]>
  readonly adminToken: Secret<string>
  /** Where the admin token can be read; null when `ADMIN_TOKEN` gives it. */
  readonly adminTokenFile: string | null
  /** One sentence each, without secrets. */
  readonly warnings: readonly string[]
}

/** A secret's file that cannot be made, read or believed; the message names the file and what to do. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError'
}

/**
 * Gives the configured secrets, or those in the data directory, which are generated when they are missing:
 * `secrets/encryption-key` (not with PostgreSQL, where configuration demands one) and `admin-token`.
 * Safe to run in several processes at once: one of them makes the file, all read it.
 * @throws SecretsError
 */
export async function loadSecrets(config: Config): Promise<Secrets> {
  const warnings: string[] = []
  const keyFile = join(config.dataDir, 'secrets', 'encryption-key')
  const tokenFile = join(config.dataDir, 'admin-token')
  const encryptionKeys =
    config.encryptionKeys ??
    new Secret(
      await loadFile(keyFile, {
        isPrivateFolder: true,
        make: () => randomBytes(keyBytes).toString('base64'),
        parse: parseEncryptionKeys,
        expects: 'base64 of 32 bytes',
        warnings,
      }),
    )
  const adminToken =
    config.adminToken ??
    new Secret(
      await loadFile(tokenFile, {
        isPrivateFolder: false,
        make: () => `trib_admin_${randomBytes(32).toString('base64url')}`,
        parse: (text) => (/^[\x21-\x7e]{16,}$/.test(text) ? text : undefined),
        expects: 'one token of at least 16 visible characters',
        warnings,
      }),
    )
  const adminTokenFile = config.adminToken === null ? tokenFile : null
  return { encryptionKeys, adminToken, adminTokenFile, warnings }
}

interface FileRules<Value> {
  /** The folder holds nothing but secrets: it is tightened to its owner as well. */
  readonly isPrivateFolder: boolean
  make(): string
  parse(text: string): Value | undefined
  readonly expects: string
  readonly warnings: string[]
}

async function loadFile<Value>(path: string, rules: FileRules<Value>): Promise<Value> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    if (rules.isPrivateFolder) await tighten(dirname(path), 0o700, rules.warnings)
    const existing = await readText(path)
    const text = existing ?? (await createFile(path, rules.make()))
    await tighten(path, 0o600, rules.warnings)
    const value = rules.parse(text.trim())
    if (value !== undefined) return value
  } catch (cause) {
    throw new SecretsError(`${path} cannot be used: ${describe(cause)}`, { cause })
  }
  throw new SecretsError(
    `${path} should hold ${rules.expects}; put the right content back from your backup, or remove the file if nothing depends on it`,
  )
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

const maxFileBytes = 65_536

/** Null when there is no such file. */
async function readText(path: string): Promise<string | null> {
  try {
    if ((await stat(path)).size > maxFileBytes) throw new Error('it is far too large for a secret')
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes beside the place and links it in: nobody ever sees half a file, and a file that appeared meanwhile stays.
 * @returns what stands in the file now.
 */
async function createFile(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  await writeDurably(draft, text)
  try {
    await link(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') await createWithoutLinks(path, text, error)
  } finally {
    await unlink(draft)
  }
  await syncFolder(dirname(path))
  const written = await readText(path)
  if (written === null) throw new Error('it vanished while it was being made')
  return written
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Some mounted file systems know no hard links: there the exclusive creation alone has to do. */
async function createWithoutLinks(path: string, text: string, cause: unknown): Promise<void> {
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(cause))) throw cause
  try {
    await writeDurably(path, text)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** The name of a new file survives a power loss only when its folder is written too; not every system can. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle
  try {
    folder = await open(path, 'r')
  } catch (error) {
    if (['EISDIR', 'EPERM', 'EACCES'].includes(codeOf(error))) return
    throw error
  }
  try {
    await folder.sync()
  } catch (error) {
    if (!['EINVAL', 'EPERM', 'ENOTSUP'].includes(codeOf(error))) throw error
  } finally {
    await folder.close()
  }
}

/** Takes rights of group and others away; where that is impossible (a read-only mount) the log says so. */
async function tighten(path: string, mode: number, warnings: string[]): Promise<void> {
  // Windows keeps its access lists elsewhere and reports made-up modes.
  if (process.platform === 'win32') return
  const now = (await stat(path)).mode & 0o777
  if ((now & 0o077) === 0) return
  try {
    await chmod(path, mode)
    warnings.push(`${path} could be read by others (mode ${octal(now)}): it is ${octal(mode)} now.`)
  } catch (error) {
    if (!['EPERM', 'EROFS', 'EACCES'].includes(codeOf(error))) throw error
    warnings.push(`${path} can be read by others (mode ${octal(now)}) and that cannot be changed.`)
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
