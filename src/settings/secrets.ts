/**
 * The secrets that operators need not set: the encryption key of the embedded store and the admin token. They
 * are generated once, readable by their owner alone, and never overwritten. A damaged file is refused, since
 * a new key would make everything sealed with the old one unreadable. For the same reason no key is generated
 * when a store already exists. A link in the place of a file, or of their folder, is refused.
 */
import { randomBytes } from 'node:crypto'
import { type FileHandle, link, open, readFile, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '#kernel/error-code.ts'
import { Secret } from '#kernel/secret.ts'
import { describeOnlookers, makeFolder } from '#store/make-folder.ts'
import { plainFileFlags, SymlinkError, setMode, statPlain } from '#store/plain-file.ts'
import type { Config } from './compose.ts'
import { keyBytes, parseEncryptionKeys } from './encryption-keys.ts'

export interface Secrets {
  readonly encryptionKeys: Secret<readonly Uint8Array[]>
  /** Where they come from, for messages: the variable, or the path of the file. */
  readonly encryptionKeysIn: string
  readonly adminToken: Secret<string>
  /** The file with the admin token; null when `ADMIN_TOKEN` sets it. */
  readonly adminTokenFile: string | null
  /** One sentence each, without secrets. */
  readonly warnings: readonly string[]
}

/** A secret's file that cannot be created, read or parsed; the message names the file and what to do. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError'
}

/**
 * Returns the configured secrets, or those in the data directory, which are generated when they are missing:
 * `secrets/encryption-key` (not with PostgreSQL, where configuration demands one) and `admin-token`. Safe to
 * run in several processes at once: one of them creates the file, all read it.
 * @throws SecretsError
 */
export async function loadSecrets(config: Config): Promise<Secrets> {
  const warnings: string[] = []
  const keyFile = join(config.dataDir, 'secrets', 'encryption-key')
  const tokenFile = join(config.dataDir, 'admin-token')
  // Must run before the key is read: a process that starts at the same time creates its key before its store.
  const sealedStores = config.encryptionKeys === null ? await listStores(config.dataDir) : []
  const encryptionKeys =
    config.encryptionKeys ??
    new Secret(
      await loadFile(keyFile, {
        variable: 'ENCRYPTION_KEY',
        isPrivateFolder: true,
        make: () => makeKeyText(config.dataDir, keyFile, sealedStores),
        parse: parseEncryptionKeys,
        expects: 'base64 of 32 bytes',
        warnings,
      }),
    )
  const adminToken =
    config.adminToken ??
    new Secret(
      await loadFile(tokenFile, {
        variable: 'ADMIN_TOKEN',
        isPrivateFolder: false,
        make: () => `trib_admin_${randomBytes(32).toString('base64url')}`,
        parse: (text) => (/^[\x21-\x7e]{16,}$/.test(text) ? text : undefined),
        expects: 'one token of at least 16 visible characters',
        warnings,
      }),
    )
  const adminTokenFile = config.adminToken === null ? tokenFile : null
  // In live mode the store reports it, whose directory it is.
  const isStoreBelow = config.databaseUrl === null && config.storeDir !== config.dataDir
  const onlookers = isStoreBelow ? describeOnlookers(config.dataDir) : null
  if (onlookers !== null) warnings.push(onlookers)
  const encryptionKeysIn = config.encryptionKeys === null ? keyFile : 'ENCRYPTION_KEY'
  return { encryptionKeys, encryptionKeysIn, adminToken, adminTokenFile, warnings }
}

/** The existing embedded stores of both modes: one key file seals both. */
async function listStores(dataDir: string): Promise<readonly string[]> {
  const places = [join(dataDir, 'tributary.db'), join(dataDir, 'sandbox', 'tributary.db')]
  const sizes = await Promise.all(places.map(sizeOf))
  // An empty file was never written to: nothing in it is sealed.
  return places.filter((_place, index) => (sizes[index] ?? 0) > 0)
}

/** 0 when there is no such file. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return 0
    throw new SecretsError(`${path} cannot be read: ${describe(error)}`, { cause: error })
  }
}

/**
 * @throws SecretsError when a store exists: it was sealed with another key, and a new key would hide that the
 *   old one is lost.
 */
function makeKeyText(dataDir: string, keyFile: string, stores: readonly string[]): string {
  const [store] = stores
  if (store === undefined) return randomBytes(keyBytes).toString('base64')
  const isMadeUp = stores.every((path) => path === join(dataDir, 'sandbox', 'tributary.db'))
  const otherwise = isMadeUp
    ? `; or remove ${dirname(store)}, which holds only made-up data`
    : '. A new key could decrypt none of it'
  throw new SecretsError(
    `${keyFile} is missing, but ${stores.join(' and ')} ${stores.length === 1 ? 'was' : 'were'} sealed with it: put the file back from your copy, or set ENCRYPTION_KEY to its content${otherwise}`,
  )
}

interface FileRules<Value> {
  /** Sets the secret without a file. */
  readonly variable: string
  /** The folder holds nothing but secrets: its access is restricted to its owner too. */
  readonly isPrivateFolder: boolean
  make(): string
  parse(text: string): Value | undefined
  readonly expects: string
  readonly warnings: string[]
}

async function loadFile<Value>(path: string, rules: FileRules<Value>): Promise<Value> {
  try {
    makeFolder(dirname(path))
    if (rules.isPrivateFolder) tighten(dirname(path), 0o700, rules.warnings)
    const existing = await readText(path)
    const text = existing ?? (await createFile(path, rules.make()))
    tighten(path, 0o600, rules.warnings)
    const value = rules.parse(text.trim())
    if (value !== undefined) return value
  } catch (cause) {
    if (cause instanceof SecretsError) throw cause
    // A Secret of Kubernetes that is mounted as a folder holds only links, which nobody can replace.
    if (cause instanceof SymlinkError)
      throw new SecretsError(
        `${cause.message}, or set ${rules.variable} instead, or mount the file by itself (in Kubernetes by subPath)`,
        { cause },
      )
    const advice =
      errorCode(cause) === ''
        ? ''
        : '; see that DATA_DIR is a directory that the user of this process may write, on a disk with free space'
    throw new SecretsError(`${path} cannot be used: ${describe(cause)}${advice}`, { cause })
  }
  throw new SecretsError(
    `${path} should hold ${rules.expects}; put the right content back from your backup, or remove the file if nothing depends on it`,
  )
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

const maxFileBytes = 65_536

/** Null when there is no such file. */
async function readText(path: string): Promise<string | null> {
  const found = statPlain(path)
  if (found === undefined) return null
  if (found.size > maxFileBytes) throw new Error('it is far too large for a secret')
  return await readFile(path, { encoding: 'utf8', flag: plainFileFlags })
}

/**
 * Writes a temporary file and hard-links it to its name: no reader sees a partial file, and a file that
 * another process created meanwhile is kept.
 * @returns what the file contains now.
 */
async function createFile(path: string, text: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`
  await writeDurably(draft, text)
  try {
    await link(draft, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') await createWithoutLinks(path, text, error)
  } finally {
    await unlink(draft)
  }
  await syncFolder(dirname(path))
  const written = await readText(path)
  if (written === null) throw new Error('it disappeared while it was being created')
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

/** Some mounted file systems have no hard links: there, exclusive creation is used alone. */
async function createWithoutLinks(path: string, text: string, cause: unknown): Promise<void> {
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(errorCode(cause))) throw cause
  try {
    await writeDurably(path, text)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
}

/**
 * A new file's name survives a power loss only when its folder is synced too; not every system supports that.
 */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle
  try {
    folder = await open(path, 'r')
  } catch (error) {
    if (['EISDIR', 'EPERM', 'EACCES'].includes(errorCode(error))) return
    throw error
  }
  try {
    await folder.sync()
  } catch (error) {
    if (!['EINVAL', 'EPERM', 'ENOTSUP'].includes(errorCode(error))) throw error
  } finally {
    await folder.close()
  }
}

/**
 * Removes the permissions of group and others; where that is impossible (a read-only mount), adds a warning.
 */
function tighten(path: string, mode: number, warnings: string[]): void {
  // Windows has no such mode bits: Node reports made-up ones.
  if (process.platform === 'win32') return
  const now = (statPlain(path)?.mode ?? 0) & 0o777
  if ((now & 0o077) === 0) return
  try {
    setMode(path, mode)
    warnings.push(`${path} could be read by others (mode ${octal(now)}): it is ${octal(mode)} now.`)
  } catch (error) {
    if (!['EPERM', 'EROFS', 'EACCES'].includes(errorCode(error))) throw error
    warnings.push(`${path} can be read by others (mode ${octal(now)}) and that cannot be changed.`)
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
