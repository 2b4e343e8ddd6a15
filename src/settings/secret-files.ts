/**
 * Variables whose value may be in a file that another variable names, e.g. a private key. The file is read at
 * the start, and its text takes the place of the value.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Environment } from './environment-file.ts'

export interface SecretFiles {
  /** With what the files hold. */
  readonly environment: Environment
  /** One line per variable, which never repeats what a file holds. */
  readonly problems: readonly string[]
}

/** A key has a few thousand characters: anything much larger is another file. */
const maxBytes = 65_536

/** @param workingDirectory base of a relative path. */
export function readSecretFiles(given: Environment, workingDirectory: string): SecretFiles {
  const environment: Record<string, string | undefined> = { ...given }
  const problems: string[] = []
  for (const [name, pathName] of listPairs()) {
    const path = given[pathName]?.trim() ?? ''
    if (path === '') continue
    if ((given[name]?.trim() ?? '') !== '') {
      problems.push(`${pathName}: set together with ${name}, should be one of the two`)
      continue
    }
    const text = readText(resolve(workingDirectory, path))
    if (typeof text === 'string') environment[name] = text
    else problems.push(`${pathName}: ${text.problem}`)
  }
  return { environment, problems }
}

function listPairs(): readonly (readonly [string, string])[] {
  return providerNames.flatMap((provider) => Object.entries(factsOf(provider).settings.files ?? {}))
}

function readText(path: string): string | { readonly problem: string } {
  try {
    const text = readFileSync(path, 'utf8')
    if (text.length > maxBytes) return { problem: 'names a file that is far too large for a key' }
    return text.trim() === '' ? { problem: 'names a file that is empty' } : text
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return { problem: `names a file that cannot be read (${code})` }
  }
}
