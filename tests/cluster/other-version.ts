/**
 * Other versions of the service, run with the packages that are installed here: the code of an earlier
 * commit, taken out of the clone's history, and the present code with migrations that a later version might
 * have.
 */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

export interface OtherVersion {
  /** Its `src/main.ts`. */
  readonly main: string
  readonly folder: string
  remove(): Promise<void>
}

/** A shallow clone may lack the commit: then its oldest one that is there. @throws Error without a clone. */
export async function takeOut(wanted: string): Promise<OtherVersion> {
  const commit = (await hasCommit(wanted)) ? wanted : await findOldestCommit()
  const folder = await mkdtemp(join(tmpdir(), 'tributary-older-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const archive = join(folder, 'archive.tar')
    await run('git', ['-C', root, 'archive', '--format=tar', `--output=${archive}`, commit])
    await run('tar', ['-xf', archive, '-C', folder])
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    return { main: join(folder, 'src', 'main.ts'), folder, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

function hasCommit(commit: string): Promise<boolean> {
  return run('git', ['-C', root, 'cat-file', '-e', `${commit}^{commit}`]).then(
    () => true,
    () => false,
  )
}

async function findOldestCommit(): Promise<string> {
  const { stdout } = await run('git', ['-C', root, 'rev-list', '--max-parents=0', 'HEAD'])
  const [oldest] = stdout.trim().split('\n')
  if (oldest === undefined) throw new Error('this clone has no commits')
  return oldest
}

/** The present code with more migrations: their file names and texts. */
export async function makeNewer(
  migrations: Readonly<Record<string, string>>,
): Promise<OtherVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-newer-'))
  for (const part of ['src', 'sandbox', 'package.json'])
    await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [name, text] of Object.entries(migrations))
    await writeFile(join(folder, 'src/store/migrations', name), text)
  const remove = () => rm(folder, { recursive: true, force: true })
  return { main: join(folder, 'src', 'main.ts'), folder, remove }
}
