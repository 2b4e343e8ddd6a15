/**
 * The same cached GET served by Fastify, Hono and Express with their usual plug-ins, compared with ours.
 * Their packages are in a separate folder, so that the product's lock file stays small, and are installed on
 * demand.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { fetchAnswer, startTributary, warmUp } from './hit.ts'
import { measureLoad } from './load.ts'
import { type Turns, takeTurns } from './turns.ts'

const rounds = 9
const durationMs = 700
const connections = 32
/** The goal: how many times less CPU ours uses. */
const goals = {
  fastify: { small: 1.4, large: 1.4 },
  hono: { small: 1.9, large: 1.9 },
  express: { small: 2.4, large: 4 },
} as const
type Peer = keyof typeof goals
const peers = Object.keys(goals) as Peer[]

export async function measurePeers(): Promise<Figure[]> {
  install()
  const ours = await startTributary()
  const { port, key, small, large } = ours.facts
  const headers = { authorization: `Bearer ${key}` }
  const answers = [await fetchAnswer(port, small, headers), await fetchAnswer(port, large, headers)]
  const args = [JSON.stringify({ answers, key })]
  const theirs = await Promise.all(
    peers.map((peer) => startChild<{ port: number }>(`./peers/${peer}.js`, { args })),
  )
  const figures: Figure[] = []
  for (const [index, { path, length }] of answers.entries()) {
    const options = { path, headers, connections, durationMs }
    for (const at of [port, ...theirs.map((child) => child.facts.port)]) {
      await warmUp({ ...options, port: at })
    }
    const candidates = {
      ours: () => measureLoad(ours, { ...options, port }),
      ...Object.fromEntries(
        theirs.map((child, at) => [
          peers[at] ?? '',
          () => measureLoad(child, { ...options, port: child.facts.port }),
        ]),
      ),
    }
    const turns: Turns<string> = await takeTurns(candidates, rounds)
    const size = index === 0 ? 'small' : 'large'
    figures.push(...peers.map((peer) => toFigure(turns, peer, { length, size })))
  }
  await Promise.all([ours, ...theirs].map((child) => child.stop()))
  return figures
}

function toFigure(
  turns: Turns<string>,
  peer: Peer,
  { length, size }: { readonly length: number; readonly size: 'small' | 'large' },
): Figure {
  const ratio = turns.ratio(peer, 'ours', 'cpuMicros')
  const goal = goals[peer][size]
  const cpu = (name: string) => `${turns.median(name, 'cpuMicros').toFixed(1)} µs`
  const rate = (name: string) => `${turns.median(name, 'rate').toFixed(0)}/s`
  return {
    bench: 'peers',
    what: `CPU of a cached GET, ${length} bytes, ${connections} conn.`,
    figure: `${cpu('ours')} (${rate('ours')})`,
    anchor: `${cpu(peer)} (${rate(peer)}) ${peer}`,
    ratio: `${ratio.toFixed(1)} × cheaper`,
    goal: `≥ ${goal}`,
    met: ratio >= goal,
  }
}

function install(): void {
  const folder = fileURLToPath(new URL('peers', import.meta.url))
  if (existsSync(`${folder}/node_modules/.package-lock.json`)) return
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error('the peers could not be installed')
}
