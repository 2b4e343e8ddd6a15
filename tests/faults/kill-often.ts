/**
 * `npm run faults -- --rounds 300 [--store sqlite|postgres] [--seed S]`: kills the service at random moments
 * so often, and ends with 1 when a promise was broken. PostgreSQL is the one of TEST_DATABASE_URL; two
 * processes share it.
 */
import { parseArgs } from 'node:util'
import { makeSharedGround } from '#tests/cluster/kills-ground.ts'
import { makeSqliteGround } from './kills/ground.ts'
import { runKills } from './kills/run.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    store: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  },
})
const { store, seed } = values
const rounds = Number(values.rounds)
if (!Number.isSafeInteger(rounds) || rounds < 1 || !['sqlite', 'postgres'].includes(store)) {
  console.error('--rounds is a number from 1 on, --store is sqlite or postgres')
  process.exit(2)
}
console.log(`seed ${seed}, ${rounds} rounds, ${store}`)
const started = performance.now()
const ground = await (store === 'postgres' ? makeSharedGround() : makeSqliteGround())
try {
  const result = await runKills({ ground, rounds, seed, say: console.log })
  const { problems, kills, events, messages, rows } = result
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`${seconds} s; kills by their moment: ${JSON.stringify(kills)}`)
  console.log(`${events} events of ${rows} rows, ${messages} messages with those that came again`)
  for (const problem of problems.slice(0, 50)) console.log(`BROKEN: ${problem}`)
  console.log(problems.length === 0 ? 'every promise held' : `${problems.length} broken promises`)
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  await ground.remove()
}
