/**
 * Makes one release: refuses a tree that is not ready, writes the version into every file that contains it,
 * commits and tags. It does not push. Nothing else in this repository makes a tag.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChangelogFaults, releaseChangelog } from './changelog.ts'

export interface ReleaseOptions {
  /** The folder of the clone. */
  readonly root: string
  readonly version: string
  /** The day of the release, YYYY-MM-DD. */
  readonly day: string
  /**
   * Regenerates what contains the version (the OpenAPI document) and runs the checks; throws when they fail.
   */
  readonly prepare: (root: string) => void
}

/** Files that contain the version as `"version": "…"`; the first occurrence is our own. */
const versioned = ['package.json', 'server.json']

/**
 * Makes the commit and the tag `v<version>`. Throws with every reason against it before anything is written.
 */
export function release({ root, version, day, prepare }: ReleaseOptions): void {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const faults = [...findTreeFaults(root, version), ...findChangelogFaults(changelog)]
  if (faults.length > 0) throw new Error(faults.join('\n'))
  writeFileSync(join(root, 'CHANGELOG.md'), releaseChangelog(changelog, version, day))
  for (const name of versioned) replaceVersion(join(root, name), version, 1)
  // A lock file names its own package twice: at its top and in the list of packages.
  replaceVersion(join(root, 'package-lock.json'), version, 2)
  prepare(root)
  git(root, 'commit', '--all', '--message', `release: ${version}`)
  git(root, 'tag', '--annotate', `v${version}`, '--message', `Tributary ${version}`)
}

function findTreeFaults(root: string, version: string): string[] {
  const faults: string[] = []
  const current = readVersion(join(root, 'package.json'))
  if (!/^\d+\.\d+\.\d+$/.test(version)) faults.push(`"${version}" is not a version like 1.2.3`)
  else if (!isNewer(version, current)) faults.push(`${version} is not newer than ${current}`)
  if (git(root, 'branch', '--show-current') !== 'main') faults.push('releases are made on main')
  if (git(root, 'status', '--porcelain') !== '') faults.push('there are uncommitted changes')
  if (git(root, 'tag', '--list', `v${version}`) !== '') faults.push(`v${version} is tagged already`)
  return faults
}

function isNewer(version: string, current: string): boolean {
  const [wanted, had] = [version, current].map((text) => text.split('.').map(Number))
  const difference = [0, 1, 2].map((at) => (wanted?.[at] ?? 0) - (had?.[at] ?? 0))
  return (difference.find((part) => part !== 0) ?? 0) > 0
}

const versionLine = /"version": "([^"]+)"/

function readVersion(file: string): string {
  const [, version] = versionLine.exec(readFileSync(file, 'utf8')) ?? []
  if (version === undefined) throw new Error(`${file} has no version`)
  return version
}

function replaceVersion(file: string, version: string, times: number): void {
  let text = readFileSync(file, 'utf8')
  const places = [...text.matchAll(new RegExp(versionLine, 'g'))].slice(0, times)
  if (places.length < times) throw new Error(`${file} has no version`)
  for (const { index, 0: found } of places.reverse()) {
    text = `${text.slice(0, index)}"version": "${version}"${text.slice(index + found.length)}`
  }
  writeFileSync(file, text)
}

function git(root: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr.trim()}`)
  return stdout.trim()
}
