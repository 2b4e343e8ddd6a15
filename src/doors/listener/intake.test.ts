/** Whom a listener reads when each read costs so much that a turn of the event loop is full with it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Intake, makeIntake, type Share } from './intake.ts'

class Connection {
  isPaused = false
  /** Whether something has come that is not read yet. */
  hasBytes = true
  reads = 0
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
}

interface Place {
  readonly open: Map<Connection, Share>
  add(): Connection
  /** A turn that reads as the system does: always in the same order. */
  readTurn(): Promise<void>
}

/** So many connections that the first turn is full. */
async function crowd(t: TestContext, connections: number): Promise<Place> {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const open: Place['open'] = new Map()
  const intake: Intake = makeIntake(open)
  const add = () => {
    const connection = new Connection()
    open.set(connection, intake.makeShare())
    // As the listener does.
    if (intake.mayRead(open.get(connection) as Share) === false) connection.pause()
    return connection
  }
  const readTurn = async () => {
    for (const [connection, share] of open) {
      if (connection.isPaused || !connection.hasBytes) continue
      now += 50
      connection.reads += 1
      intake.countRead(share)
    }
    await turn()
  }
  for (let count = 0; count < connections; count += 1) add()
  await readTurn()
  return { open, add, readTurn }
}

const readsOf = (open: Place['open']) => [...open.keys()].map(({ reads }) => reads)

test('nobody is read twice before a new connection is, however many turns it takes to read all', async (t) => {
  const { open, add, readTurn } = await crowd(t, 300)
  for (let count = 0; count < 10; count += 1) {
    const modest = add()
    const before = readsOf(open)
    for (let turns = 0; modest.reads === 0; turns += 1) {
      assert(turns < 700, 'it is not read at all')
      await readTurn()
    }
    const most = Math.max(...readsOf(open).map((reads, at) => reads - (before[at] ?? 0)))
    assert(most <= 1, `one was read ${most} times before it`)
    modest.hasBytes = false
  }
})

test('those that were read before the time of a turn was measured wait like the others', async (t) => {
  const { open, readTurn } = await crowd(t, 200)
  for (let turns = 0; Math.min(...readsOf(open)) === 0; turns += 1) {
    assert(turns < 700, 'some are not read at all')
    await readTurn()
  }
  assert.equal(Math.max(...readsOf(open)), 1)
})

test('new connections without end keep none from being read again', async (t) => {
  const { open, add, readTurn } = await crowd(t, 100)
  const [kept] = open.keys()
  assert(kept !== undefined)
  for (const reads of [2, 3, 4]) {
    for (let turns = 0; kept.reads < reads; turns += 1) {
      assert(turns < 700, 'it is not read again')
      // One comes in each turn, and who was read leaves.
      add()
      await readTurn()
      for (const one of open.keys()) if (one !== kept && one.reads > 0) open.delete(one)
    }
  }
})
