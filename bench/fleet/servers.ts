/** What the servers behind the processes do meanwhile: round trips and CPU time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { Client } from 'pg'

export interface ServerFacts {
  /** Times that Redis read from a connection: with one request in flight, the round trips. */
  readonly redisReads: number
  readonly redisCpuMicros: number
  /** Of the backends of this database; NaN where they are on another machine. */
  readonly postgresCpuMicros: number
}

export interface Servers {
  readonly redisUrl: string
  read(): Promise<ServerFacts>
  close(): Promise<void>
}

/** A Redis of its own, and the database at this URL, which exists. */
export async function startServers(databaseUrl: string): Promise<Servers> {
  const port = await findPort()
  const child = spawn('redis-server', ['--port', String(port), '--save', ''], { stdio: 'ignore' })
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 })
  redis.on('error', () => {})
  await redis.ping()
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  const backends = new Map<number, number>()
  return {
    redisUrl: `redis://127.0.0.1:${port}`,
    async read() {
      const info = await redis.info()
      const number = (name: string) => Number(new RegExp(`^${name}:(.+)$`, 'm').exec(info)?.[1])
      return {
        redisReads: number('total_reads_processed'),
        redisCpuMicros: (number('used_cpu_user') + number('used_cpu_sys')) * 1e6,
        postgresCpuMicros: await readBackends(database, backends),
      }
    },
    async close() {
      await database.end()
      await stop(redis, child)
    },
  }
}

async function stop(redis: Redis, child: ChildProcess): Promise<void> {
  redis.disconnect()
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/**
 * CPU of the backends of the database in microseconds; NaN where they are on another machine. proc(5): user
 * and system time are the 14th and 15th field, in ticks of ten milliseconds.
 * @param known ticks by process: a backend that has ended keeps the last that was read.
 */
export async function readBackends(database: Client, known: Map<number, number>): Promise<number> {
  const { rows } = await database.query(
    'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  for (const { pid } of rows) {
    const ticks = readTicks(pid)
    if (ticks !== null) known.set(pid, ticks)
  }
  return known.size === 0 ? Number.NaN : known.values().reduce((sum, one) => sum + one, 0) * 10_000
}

/** Null when there is no such process on this machine. */
function readTicks(pid: number): number | null {
  const path = `/proc/${pid}/stat`
  if (!existsSync(path)) return null
  const fields = readFileSync(path, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was free')
  return address.port
}
