/**
 * A PostgreSQL of a test's own, in a directory of its own and on a free port, so that it can be restarted and
 * crashed without harm to anybody else's. It refuses to run as root, as PostgreSQL does: then the system's
 * user of that name runs it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { findFreePort } from './free-port.ts'

export interface PostgresServer {
  readonly url: string
  /** Stops it as an operator does: `fast` ends every connection, `immediate` is a crash. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  /** Resolves when it takes connections. */
  start(): Promise<void>
  close(): Promise<void>
}

interface Identity {
  readonly uid?: number
  readonly gid?: number
}

/** Makes the cluster and starts it; the caller closes it. */
export async function makePostgresServer(): Promise<PostgresServer> {
  const programs = findPrograms()
  const identity = await findIdentity()
  const directory = await mkdtemp(join(tmpdir(), 'tributary-postgres-'))
  if (identity.uid !== undefined && identity.gid !== undefined)
    await chown(directory, identity.uid, identity.gid)
  const data = join(directory, 'data')
  const port = await findFreePort()
  const run = (program: string, ...args: string[]) =>
    runProgram(join(programs, program), [...args, '-D', data], { identity, directory })
  const settings = `-p ${port} -k ${directory} -c listen_addresses=127.0.0.1 -c fsync=off`
  const server: PostgresServer = {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    stop: (mode) => run('pg_ctl', 'stop', '-w', '-m', mode),
    start: () => run('pg_ctl', 'start', '-w', '-l', join(directory, 'log'), '-o', settings),
    async close() {
      if (existsSync(join(data, 'postmaster.pid'))) await server.stop('immediate')
      await rm(directory, { recursive: true, force: true })
    },
  }
  try {
    await run('initdb', '-U', 'postgres', '-A', 'trust', '-N', '--locale', 'C.UTF-8')
    await server.start()
    return server
  } catch (error) {
    await server.close()
    throw error
  }
}

/** Where the newest server's programs are: Debian keeps them apart from the path. */
function findPrograms(): string {
  const folders = [
    ...globSync('/usr/lib/postgresql/*/bin').toSorted((left, right) =>
      right.localeCompare(left, 'en', { numeric: true }),
    ),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')))
  if (found === undefined) throw new Error('initdb is not found: install the server of PostgreSQL')
  return found
}

async function findIdentity(): Promise<Identity> {
  if (process.getuid?.() !== 0) return {}
  const line = (await readFile('/etc/passwd', 'utf8')).split('\n').find((text) => {
    return text.startsWith('postgres:')
  })
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined || gid === undefined) throw new Error('there is no user "postgres"')
  return { uid: Number(uid), gid: Number(gid) }
}

async function runProgram(
  program: string,
  args: readonly string[],
  options: { readonly identity: Identity; readonly directory: string },
): Promise<void> {
  const child = spawn(program, args, {
    ...options.identity,
    cwd: options.directory,
    // The server outlives pg_ctl and would keep a pipe open.
    stdio: 'ignore',
    env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' },
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}`)
}
