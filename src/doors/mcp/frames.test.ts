import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ToolOperation, toolOperations } from '#contract/tool-descriptions.ts'
import type { Answer } from '#gate/gate.ts'
import { makeEndings, makeFrames } from './frames.ts'

const [operation] = toolOperations as [ToolOperation]
const endingOf = makeEndings({ name: 'n', title: 'N', version: '1' })

function hit(rows: number, description = 'row'): Answer {
  const data = Array.from({ length: rows }, () => ({ description }))
  return { body: Buffer.from(JSON.stringify({ data })), truncated: false, cache: 'HIT' }
}

function parse(frame: string | Uint8Array) {
  const text = typeof frame === 'string' ? frame : Buffer.from(frame).toString()
  return JSON.parse(text + endingOf('2025', 1))
}

test('the frame of a cached answer is made once', () => {
  const frames = makeFrames(0)
  for (const answer of [hit(1), hit(1, 'é'), hit(900)]) {
    const frame = frames.answer(operation, answer)
    assert.equal(frames.answer(operation, { ...answer }), frame)
    assert.deepEqual(parse(frame).result.structuredContent, JSON.parse(answer.body.toString()))
  }
})

test('short ASCII frames are text, all others bytes', () => {
  const frames = makeFrames(0)
  assert.equal(typeof frames.answer(operation, hit(1)), 'string')
  assert.equal(typeof frames.answer(operation, hit(1, 'é')), 'object')
  assert.equal(typeof frames.answer(operation, hit(900)), 'object')
})

test('equal bodies that are not the same bytes do not share a frame', () => {
  const frames = makeFrames(0)
  const first = frames.answer(operation, hit(900))
  const second = frames.answer(operation, hit(900))
  assert.notEqual(first, second)
  assert.deepEqual(first, second)
})

test('frames are kept up to a bound; those in use stay', () => {
  const answers = Array.from({ length: 40 }, () => hit(300))
  const [busy, idle] = answers as [Answer, Answer]
  const { length } = makeFrames(0).answer(operation, busy)
  const frames = makeFrames(0, 8 * length)
  const first = { busy: frames.answer(operation, busy), idle: frames.answer(operation, idle) }
  for (const answer of answers.slice(2)) {
    frames.answer(operation, answer)
    assert.equal(frames.answer(operation, busy), first.busy, 'it is used again and again')
  }
  assert.notEqual(frames.answer(operation, idle), first.idle, 'it was dropped and made anew')
})
