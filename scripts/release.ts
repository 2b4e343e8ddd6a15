/**
 * `npm run release -- 1.2.3`: checks the tree and the changelog, writes the version, commits and tags. It
 * reports all reasons for a refusal at once and exits 1; wrong arguments exit 2.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { release } from './release/release.ts'

const root = join(import.meta.dirname, '..')
const [version, ...rest] = process.argv.slice(2)
if (version === undefined || rest.length > 0) {
  console.error('usage: npm run release -- <version>, for example 1.2.3')
  process.exit(2)
}

function runScript(...args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${args[0]} failed: nothing is committed, see \`git status\``)
}

try {
  release({
    root,
    version,
    day: Temporal.Now.plainDateISO('UTC').toString(),
    prepare() {
      runScript('scripts/openapi.ts')
      runScript('scripts/check.ts')
    },
  })
  console.log(`v${version} is tagged; push it with: git push origin main v${version}`)
} catch (error) {
  console.error(`release refused:\n${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
