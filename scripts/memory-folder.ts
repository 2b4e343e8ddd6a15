/**
 * Temporary files of tests in memory: each commit of an embedded store waits for the disk, which took more of
 * a suite's time than anything else. Where memory cannot be had as a folder, they stay where they are.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'

const place = '/dev/shm'
const leastBytes = 2 ** 31

/** The environment that names the folder, which goes when this process ends; empty where there is none. */
export function openMemoryFolder(): { readonly TMPDIR?: string } {
  if (process.platform !== 'linux' || process.env.TMPDIR !== undefined || !isUsable()) return {}
  const TMPDIR = mkdtempSync(`${place}/tributary-tests-`)
  // As the folder of a system: servers that a test starts may be other users.
  chmodSync(TMPDIR, 0o1777)
  process.once('exit', () => rmSync(TMPDIR, { recursive: true, force: true }))
  return { TMPDIR }
}

/** Large enough, and programs may run there. */
function isUsable(): boolean {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  const [, , , options = 'noexec'] =
    mounts.find((line) => line.split(' ')[1] === place)?.split(' ') ?? []
  if (options.split(',').some((option) => option === 'noexec' || option === 'ro')) return false
  const { bavail, bsize } = statfsSync(place)
  return bavail * bsize >= leastBytes
}
