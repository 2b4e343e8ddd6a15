/**
 * One real process of the product for tests: started from `src/main.ts` on free ports, asked over HTTP,
 * signalled like an operator would. It knows nothing of what the process shares with others.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { compileCache } from '#tests/support/process.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface ServerProcess {
  readonly pid: number
  readonly baseUrl: string
  /** Every line it has written so far. */
  readonly output: readonly string[]
  /** A GET with this key on a kept-alive connection. Rejects when no complete answer comes. */
  get(path: string, key?: string): Promise<Answer>
  /** One request to the admin API; throws unless the answer is a 2xx. */
  admin(method: Method, path: string, body?: unknown): Promise<Answer>
  /** The same, whatever the answer is. */
  askAdmin(method: Method, path: string, body?: unknown): Promise<Answer>
  /** The text of `/metrics`. */
  readMetrics(): Promise<string>
  isReady(): Promise<boolean>
  /** What `/readyz` says. */
  askReadiness(): Promise<Answer>
  /** How it ends, whatever ends it: the exit code, or null for a signal. */
  readonly ended: Promise<number | null>
  /** Resolves with how it ended: the exit code, or null when a signal ended it. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

const entry = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const startDeadlineMs = 60_000
/** No answer takes longer, whatever is down: a request that hangs fails its test. */
const answerDeadlineMs = 40_000
const adminToken = 'trib_admin_token_of_the_cluster_tests'

/** Background syncs would ask the emulators in between: a test of background work says `ROLE: 'all'`. */
const defaults = { NODE_ENV: 'test', PORT: '0', ADMIN_PORT: '0', ROLE: 'api', ...compileCache }

/** None outlives the test that failed to end it. */
const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})

/**
 * Starts it with this environment and nothing of ours but the path; resolves when it listens.
 * @param main the file to run; another version has its own.
 */
export async function startServerProcess(
  environment: Readonly<Record<string, string>>,
  main = entry,
): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...defaults, ADMIN_TOKEN: adminToken, ...environment },
  })
  living.add(child)
  child.once('exit', () => living.delete(child))
  const output: string[] = []
  const addresses = await readAddresses(child, output)
  const agent = new Agent({ connections: 64, keepAliveTimeout: 30_000 })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))

  const pending = new Set<Promise<Answer>>()
  function ask(url: string, options: Parameters<typeof request>[1]): Promise<Answer> {
    const answer = exchange(url, options).finally(() => pending.delete(answer))
    pending.add(answer)
    return answer
  }

  async function exchange(url: string, options: Parameters<typeof request>[1]): Promise<Answer> {
    const signal = AbortSignal.timeout(answerDeadlineMs)
    const response = await request(url, { dispatcher: agent, signal, ...options })
    const text = await response.body.text()
    const body: unknown = text === '' ? null : JSON.parse(text)
    return { status: response.statusCode, headers: response.headers, text, body }
  }

  const askAdmin = (method: Method, path: string, body?: unknown) =>
    ask(`${addresses.admin}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })

  return {
    pid: child.pid ?? 0,
    ended,
    baseUrl: addresses.base,
    output,
    get: (path, key) =>
      ask(addresses.base + path, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      }),
    askAdmin,
    async admin(method, path, body) {
      const answer = await askAdmin(method, path, body)
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`)
      return answer
    },
    async readMetrics() {
      const headers = { authorization: `Bearer ${adminToken}` }
      const signal = AbortSignal.timeout(answerDeadlineMs)
      const { body } = await request(`${addresses.admin}/metrics`, { headers, signal })
      return body.text()
    },
    askReadiness: () => ask(`${addresses.admin}/readyz`, {}),
    isReady: async () => (await ask(`${addresses.admin}/readyz`, {})).status === 200,
    async stop(signal) {
      child.kill(signal)
      const code = await ended
      // Answers that are on their way are still read.
      await Promise.allSettled(pending)
      await agent.destroy()
      return code
    },
  }
}

/** Waits for the words that say where it listens. */
async function readAddresses(
  child: ChildProcess,
  output: string[],
): Promise<{ base: string; admin: string }> {
  const ready = Promise.withResolvers<{ base: string; admin: string }>()
  const fail = (why: string) => ready.reject(new Error([why, ...output].join('\n')))
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ''
    stream?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      output.push(...lines)
      const base = find(output, /REST API\s+(\S+)\/v1$/)
      const admin = find(output, /Admin API\s+(\S+)/)
      if (base !== null && admin !== null) ready.resolve({ base, admin })
    })
  }
  child.once('exit', (code, signal) =>
    fail(`the process ended with ${code ?? signal} before it listened`),
  )
  const deadline = setTimeout(() => fail('the process did not listen in time'), startDeadlineMs)
  try {
    return await ready.promise
  } catch (error) {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
    throw error
  } finally {
    clearTimeout(deadline)
  }
}

function find(lines: readonly string[], pattern: RegExp): string | null {
  for (const line of lines) {
    const found = pattern.exec(line)?.[1]
    if (found !== undefined) return found
  }
  return null
}
