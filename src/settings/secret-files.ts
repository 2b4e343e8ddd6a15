/**
 * Variables whose value may be in a file that another variable names, e.g. a private key. The file is read at
 * the start, and its text takes the place of the value.
 */
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { errorCode } from '#kernel/error-code.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Environment } from './environment-file.ts'

export interface SecretFiles {
  /** With what the files hold. */
  readonly environment: Environment
  /** One line per variable, which never repeats what a file holds. */
  readonly problems: readonly string[]
  /** Files that others on this machine may read, one sentence each. */
  readonly warnings: readonly string[]
  /** By the variable whose value a file was to give: the one that names the file. */
  readonly sources: ReadonlyMap<string, string>
}

/** A key has a few thousand characters: anything much larger is another file. */
const maxBytes = 65_536

/** @param workingDirectory base of a relative path. */
export function readSecretFiles(given: Environment, workingDirectory: string): SecretFiles {
  const environment: Record<string, string | undefined> = { ...given }
  const problems: string[] = []
  const warnings: string[] = []
  const sources = new Map<string, string>()
  for (const [name, pathName] of listPairs()) {
    const path = given[pathName]?.trim() ?? ''
    if (path === '') continue
    sources.set(name, pathName)
    if ((given[name]?.trim() ?? '') !== '') {
      problems.push(`${pathName}: set together with ${name}, should be one of the two`)
      continue
    }
    const file = resolve(workingDirectory, path)
    const text = readText(file)
    if (typeof text === 'string') {
      environment[name] = text
      warnings.push(...describeExposure(pathName, file))
    } else problems.push(`${pathName}: ${text.problem}`)
  }
  return { environment, problems, warnings, sources }
}

/** As `.env` is judged. */
function describeExposure(pathName: string, file: string): string[] {
  const bits = statSync(file).mode & 0o777
  if (process.platform === 'win32' || (bits & 0o077) === 0) return []
  const mode = bits.toString(8).padStart(4, '0')
  return [`${pathName} names ${file}, which can be read by others (mode ${mode}): chmod 600 it.`]
}

/**
 * Problems of a value that a file gave are those of the variable that names the file, and a file that has a
 * problem has only that one.
 */
export function nameByFile(
  { problems, sources }: Pick<SecretFiles, 'problems' | 'sources'>,
  found: readonly string[],
): readonly string[] {
  const named = found.flatMap((problem) => {
    const [name = '', ...rest] = problem.split(':')
    const pathName = sources.get(name)
    if (pathName === undefined) return [problem]
    const hasOwn = problems.some((one) => one.startsWith(`${pathName}:`))
    return hasOwn ? [] : [[pathName, ...rest].join(':')]
  })
  return [...problems, ...named]
}

function listPairs(): readonly (readonly [string, string])[] {
  return providerNames.flatMap((provider) => Object.entries(factsOf(provider).settings.files ?? {}))
}

function readText(path: string): string | { readonly problem: string } {
  try {
    // Before it is read: a device may have no end, and a pipe would be waited for.
    const stats = statSync(path)
    if (!stats.isFile()) return { problem: 'names what is not a regular file' }
    if (stats.size > maxBytes) return { problem: 'names a file that is far too large for a key' }
    const text = readFileSync(path, 'utf8')
    return text.trim() === '' ? { problem: 'names a file that is empty' } : text
  } catch (error) {
    return { problem: `names a file that cannot be read (${errorCode(error) || 'unknown'})` }
  }
}
