/**
 * A Redis of a test's own, on a free port and in a directory of its own, so that it can be stopped, hung and
 * started without harm to anybody else's. It stores nothing on disk and ends with its test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findFreePort } from './free-port.ts'

export interface RedisServer {
  readonly url: string
  start(): Promise<void>
  /** Kills it as a crash would. */
  kill(): Promise<void>
  /** Lets it hang with its connections open. */
  hang(): void
  wake(): void
  /** Runs one command through a connection of its own. */
  call(command: string, ...args: string[]): Promise<unknown>
  close(): Promise<void>
}

const startDeadlineMs = 10_000

/** Reserves a port; `start` starts the server. */
export async function makeRedisServer(): Promise<RedisServer> {
  const port = await findFreePort()
  const directory = await mkdtemp(join(tmpdir(), 'tributary-redis-'))
  const url = `redis://127.0.0.1:${port}`
  let child: ChildProcess | null = null

  async function kill(): Promise<void> {
    if (child === null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    child = null
  }

  async function call(command: string, ...args: string[]): Promise<unknown> {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return await client.call(command, ...args)
    } finally {
      client.disconnect()
    }
  }

  return {
    url,
    async start() {
      const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory]
      child = spawn('redis-server', [...options, '--save', '', '--appendonly', 'no'], {
        stdio: 'ignore',
      })
      const deadline = Date.now() + startDeadlineMs
      while (!(await call('PING').catch(() => false))) {
        if (Date.now() > deadline) throw new Error('redis-server did not start')
        await sleep(50)
      }
    },
    kill,
    hang: () => void child?.kill('SIGSTOP'),
    wake: () => void child?.kill('SIGCONT'),
    call,
    async close() {
      await kill()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
