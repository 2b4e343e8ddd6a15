/** One deadline for all commands in flight: who is late is failed, and nobody is because this process was. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeCommandDeadline, timedOut } from './command-deadline.ts'

function makePending() {
  const pending = {
    isSettled: false,
    failure: '',
    reject(error: Error) {
      pending.isSettled = true
      pending.failure = error.message
    },
  }
  return pending
}

/** Blocks the event loop, as a garbage collection or a profiler does. */
function stall(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a command that is not answered in time fails, and one sent later gets its own time', async () => {
  const deadline = makeCommandDeadline(60)
  const [first, second, later] = [makePending(), makePending(), makePending()]
  deadline.watch(first)
  deadline.watch(second)
  await sleep(40)
  deadline.watch(later)
  assert.equal(first.failure, '')
  await sleep(35)
  assert.deepEqual([first.failure, second.failure, later.failure], [timedOut, timedOut, ''])
  await sleep(60)
  assert.equal(later.failure, timedOut)
})

test('an answered command never fails, and the one after it is watched all the same', async () => {
  const deadline = makeCommandDeadline(40)
  const [answered, silent] = [makePending(), makePending()]
  deadline.watch(answered)
  deadline.watch(silent)
  answered.isSettled = true
  await sleep(80)
  assert.deepEqual([answered.failure, silent.failure], ['', timedOut])
  const next = makePending()
  deadline.watch(next)
  await sleep(80)
  assert.equal(next.failure, timedOut, 'the deadline begins again after a pause')
})

test('after a stall of this process the answers that arrived meanwhile are read before anything is late', async () => {
  const deadline = makeCommandDeadline(30)
  const commands = Array.from({ length: 5 }, makePending)
  for (const command of commands) deadline.watch(command)
  // The answers are in the socket: they are read in the poll phase that follows the timers, one after
  // another.
  let read = 0
  const readOne = () => {
    const command = commands[read]
    if (command === undefined) return
    command.isSettled = true
    read += 1
    setImmediate(readOne)
  }
  setImmediate(readOne)
  stall(100)
  await sleep(60)
  assert.deepEqual(
    commands.map(({ failure }) => failure),
    ['', '', '', '', ''],
  )
})

test('however many are in flight, all late ones fail and all answered ones do not', async () => {
  const deadline = makeCommandDeadline(50)
  const commands = Array.from({ length: 1000 }, makePending)
  for (const [index, command] of commands.entries()) {
    deadline.watch(command)
    if (index % 3 > 0) command.isSettled = true
  }
  await sleep(100)
  const failed = commands.filter(({ failure }) => failure === timedOut)
  assert.equal(failed.length, 334)
})
