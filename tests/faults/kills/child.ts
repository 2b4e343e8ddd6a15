/** One life of the killed service: started, asked through its admin API, ended by a signal. */
import { fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import type { Jump, ProcessFacts, ProcessOptions } from './service-process.ts'

const entry = fileURLToPath(new URL('./service-process.ts', import.meta.url))
const { NODE_COMPILE_CACHE = join(tmpdir(), 'tributary-compile-cache') } = process.env
/** Generous: the machine may be busy. */
const readyWithinMs = 90_000
const endWithinMs = 60_000
const maxOutput = 20_000

export interface Child {
  readonly pid: number
  /** Rejects when it ends before it is ready. */
  readonly ready: Promise<ProcessFacts>
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  jump(jump: Jump): void
  /** @throws Error unless the answer is a 2xx; also when the process is killed meanwhile. */
  ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown>
  kill(): Promise<void>
  /**
   * SIGTERM; resolves when it has ended by itself. @throws Error with its last words when it ended in another
   * way.
   */
  stop(): Promise<void>
}

export function startChild(options: ProcessOptions): Child {
  let output = ''
  const child = fork(entry, [JSON.stringify(options)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Hundreds of starts: what was compiled is kept.
    env: { NODE_ENV: 'test', PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const collect = (text: string) => {
    output = (output + text).slice(-maxOutput)
  }
  child.stdout?.setEncoding('utf8').on('data', collect)
  child.stderr?.setEncoding('utf8').on('data', collect)
  const ended = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const ready = new Promise<ProcessFacts>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`not ready in time\n${output}`)), readyWithinMs)
    child.once('message', (facts) => resolve(facts as ProcessFacts))
    child.once('message', () => clearTimeout(late))
    void ended.then((how) => {
      clearTimeout(late)
      reject(new Error(`it ended (${how}) before it was ready\n${output}`))
    })
  })
  // A process that is killed while it starts is never ready, and there may be no caller waiting for it.
  ready.catch(() => {})
  const agent = new Agent({ connections: 32 })

  return {
    pid: child.pid ?? 0,
    ready,
    ended,
    jump: (jump) => void (child.connected && child.send(jump)),
    async ask(method, path, body) {
      const { adminUrl, adminToken } = await ready
      const response = await request(`${adminUrl}${path}`, {
        method,
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${adminToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      })
      const text = await response.body.text()
      if (response.statusCode >= 300) throw new Error(`${path}: ${response.statusCode} ${text}`)
      return path === '/metrics' || text === '' ? text : JSON.parse(text)
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
      await agent.destroy()
    },
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), endWithinMs)
      const how = await ended
      clearTimeout(late)
      await agent.destroy()
      if (how !== 0) throw new Error(`told to stop, it ended with ${how}\n${output}`)
    },
  }
}
