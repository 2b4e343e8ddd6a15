/** Cached GETs by a key that sees one account (reading R43), against a key that sees everything. */
import type { Figure } from './figures.ts'
import { startTributary, warmUp } from './hit.ts'
import { measureLoad } from './load.ts'
import { takeTurns } from './turns.ts'

const rounds = 15
const [durationMs, connections] = [1000, 32]
const goal = 1.03

export async function measureNarrow(): Promise<Figure[]> {
  const tributary = await startTributary()
  const { port, key, narrowKey, small } = tributary.facts
  const targetOf = (secret: string) => ({
    ...{ port, path: small, connections, durationMs },
    headers: { authorization: `Bearer ${secret}` },
  })
  for (const secret of [key, narrowKey]) await warmUp(targetOf(secret))
  const turns = await takeTurns(
    {
      wide: () => measureLoad(tributary, targetOf(key)),
      narrow: () => measureLoad(tributary, targetOf(narrowKey)),
    },
    rounds,
  )
  await tributary.stop()
  const ratio = turns.ratio('narrow', 'wide', 'cpuMicros')
  return [
    {
      bench: 'narrow',
      what: `CPU of a cached GET by a key of one account and one network, ${connections} conn.`,
      figure: `${turns.median('narrow', 'cpuMicros').toFixed(1)} µs`,
      anchor: `${turns.median('wide', 'cpuMicros').toFixed(1)} µs by a key that sees everything`,
      ratio: ratio.toFixed(2),
      goal: `≤ ${goal}`,
      met: ratio <= goal,
    },
  ]
}
