/**
 * `npm run games -- --games 50000 [--seed S]`: plays games of the paging room (tests/support/paging-game.ts),
 * half of them in a second process, and ends with 1 when one of them breaks the promise. A game is played
 * again by its own seed: `--games 1 --seed S`.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { makeTally } from './support/paging-board.ts'
import { playGame } from './support/paging-game.ts'

const { values } = parseArgs({
  options: {
    games: { type: 'string', default: '50000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  },
})
const [games, firstSeed] = [Number(values.games), Number(values.seed)]
if (!Number.isSafeInteger(games) || games < 1 || !Number.isSafeInteger(firstSeed)) {
  console.error('--games is a number from 1 on, --seed a whole number')
  process.exit(2)
}
const isHelper = process.send !== undefined
const others = isHelper ? 0 : Math.floor(games / 2)
const own = games - others
const helper =
  others === 0
    ? null
    : fork(import.meta.filename, ['--games', `${others}`, '--seed', `${firstSeed + own}`])
const helperEnds = helper === null ? null : once(helper, 'exit')
const started = performance.now()
const tally = makeTally()
for (let seed = firstSeed; seed < firstSeed + own; seed += 1) {
  try {
    await playGame(seed, tally)
  } catch (error) {
    console.error(`the game of seed ${seed}:`, error)
    process.exitCode = 1
  }
}
const seconds = Math.round((performance.now() - started) / 1000)
console.log(`${own} games from seed ${firstSeed} in ${seconds} s: ${JSON.stringify(tally)}`)
if (helperEnds !== null && (await helperEnds)[0] !== 0) process.exitCode = 1
