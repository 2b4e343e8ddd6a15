/**
 * Runs the official conformance suite (@modelcontextprotocol/conformance) against a service, and a proxy that
 * gives its requests a key: the suite has no option for one. Everything else passes the proxy untouched, Host
 * and Origin too.
 */
import { spawn } from 'node:child_process'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)

export interface SuiteRun {
  /** Resolves with the exit code and everything that was printed. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>
  /**
   * Resolves with the first match in what is printed, as soon as it is there; rejects when the run ends
   * before.
   */
  waitFor(pattern: RegExp): Promise<string>
}

/** Starts the suite's command with these arguments; killed after two minutes. */
export function runSuite(args: readonly string[]): SuiteRun {
  let output = ''
  let look: () => void = () => undefined
  const child = spawn(process.execPath, [entry, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', NO_COLOR: '1' },
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
  const take = (text: string) => {
    output += text
    look()
  }
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  const ended = new Promise<{ code: number | null; output: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, output }))
  })
  return {
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const match = pattern.exec(output)
          if (match !== null) resolve(match[0])
        }
        look()
        void ended.then(() => reject(new Error(`it ended: ${output}`)))
      }),
  }
}

export interface KeyProxy {
  readonly url: string
  close(): Promise<void>
}

/** Listens on a localhost name, which the suite's test of DNS rebinding needs. */
export async function startKeyProxy(target: string, key: string): Promise<KeyProxy> {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` }
    const { method, url: path } = incoming
    const upstream = request(
      { host: hostname, port, ...(method && { method }), ...(path && { path }), headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    upstream.on('error', () => outgoing.destroy())
    outgoing.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
