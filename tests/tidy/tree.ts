/**
 * The files that the tidy tests look at: what git tracks or would track, so that somebody's scratch files and
 * installed packages stay out of it. Without git (an unpacked archive) it walks the folder and leaves out
 * what is never shipped.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const neverShipped = new Set(['node_modules', 'data', 'coverage', '.git', '.env'])

/** Paths from the root, with forward slashes, sorted; only files that exist. */
export const files: readonly string[] = listFiles()

function listFiles(): string[] {
  const git = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
  const listed = git.status === 0 ? git.stdout.split('\0').filter((path) => path !== '') : walk('')
  return listed.filter((path) => existsSync(join(root, path))).sort()
}

function walk(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    if (neverShipped.has(entry.name) || entry.name.endsWith('.log')) return []
    return entry.isDirectory() ? walk(path) : [path]
  })
}

export function exists(path: string): boolean {
  return existsSync(join(root, path))
}

const texts = new Map<string, string>()

/** The text of a file; the trees of this size fit into memory many times. */
export function readText(path: string): string {
  const known = texts.get(path)
  if (known !== undefined) return known
  const text = readFileSync(join(root, path), 'utf8')
  texts.set(path, text)
  return text
}

const codeFile = /\.(?:ts|js)$/
const testFile = /(?:^tests\/|\.test\.ts$)/

/** Declarations are written by the compiler. */
export const codeFiles: readonly string[] = files.filter(
  (path) => codeFile.test(path) && !path.endsWith('.d.ts'),
)
export const isTest = (path: string): boolean => testFile.test(path)
/** Text a person wrote: no lock file, no pictures, no vendored or generated data. */
export const textFiles: readonly string[] = files.filter(
  (path) =>
    /(?:\.(?:ts|js|json|md|sql|css|html|svg|yaml|yml|sh|txt)|\.ci\/run|\.env\.example)$/.test(
      path,
    ) &&
    path !== 'package-lock.json' &&
    !path.includes('/openapi/'),
)

/** Every line that matches, as `path:line: text`: what a failing rule shows. */
export function findLines(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) =>
    readText(path)
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
      ),
  )
}
