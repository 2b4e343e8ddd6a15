import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ToolOperation, toolOperations } from '#contract/tool-descriptions.ts'
import type { Answer } from '#gate/gate.ts'
import type { ResultForm } from './call-tool.ts'
import { type Frame, makeEndings, makeFrames } from './frames.ts'

const [operation] = toolOperations as [ToolOperation]
const endingOf = makeEndings({ name: 'n', title: 'N', version: '1' })

function hit(rows: number, description = 'row'): Answer {
  const data = Array.from({ length: rows }, () => ({ description }))
  return { body: Buffer.from(JSON.stringify({ data })), truncated: false, cache: 'HIT' }
}

function write(frames: ResultForm<Frame>, answer: Answer, isShorter = false): Frame {
  const written = frames.answer(operation, answer, { isShorter })
  return 'result' in written ? written.result : assert.fail('another page is to be read')
}

function parse(frame: string | Uint8Array) {
  const text = typeof frame === 'string' ? frame : Buffer.from(frame).toString()
  return JSON.parse(text + endingOf('2025', 1))
}

test('the frame of a cached answer is made once', () => {
  const frames = makeFrames(0)
  for (const answer of [hit(1), hit(1, 'é'), hit(900)]) {
    const frame = write(frames, answer)
    assert.equal(write(frames, { ...answer }), frame)
    assert.deepEqual(parse(frame).result.structuredContent, JSON.parse(answer.body.toString()))
  }
})

test('a page that was asked for and the same page instead of a longer one do not share a frame', () => {
  const frames = makeFrames(0)
  const answer = { ...hit(2) }
  const pagination = { total: 9, limit: 2, offset: 0, hasMore: true }
  const paged = { ...answer, body: Buffer.from(JSON.stringify({ data: [{}, {}], pagination })) }
  const lineOf = (isShorter: boolean) =>
    parse(write(frames, paged, isShorter)).result.content[1].text as string
  for (const isShorter of [false, true, false]) {
    assert.equal(lineOf(isShorter).includes('(the page ends early to fit)'), isShorter)
  }
})

test('a page that is too large is read again as far as it fits', () => {
  const data = Array.from({ length: 9 }, () => ({ description: 'x'.repeat(400) }))
  const pagination = { total: 9, limit: 50, offset: 0, hasMore: false }
  const page = { ...hit(0), body: Buffer.from(JSON.stringify({ data, pagination })) }
  assert.deepEqual(makeFrames(4000).answer(operation, page, { isShorter: false }), { limit: 3 })
  const whole = parse(write(makeFrames(0), page)).result.structuredContent
  assert.equal(whole.data.length, 9)
})

test('short ASCII frames are text, all others bytes', () => {
  const frames = makeFrames(0)
  assert.equal(typeof write(frames, hit(1)), 'string')
  assert.equal(typeof write(frames, hit(1, 'é')), 'object')
  assert.equal(typeof write(frames, hit(900)), 'object')
})

test('equal bodies that are not the same bytes do not share a frame', () => {
  const frames = makeFrames(0)
  const first = write(frames, hit(900))
  const second = write(frames, hit(900))
  assert.notEqual(first, second)
  assert.deepEqual(first, second)
})

test('frames are kept up to a bound; those in use stay', () => {
  const answers = Array.from({ length: 40 }, () => hit(300))
  const [busy, idle] = answers as [Answer, Answer]
  const { length } = write(makeFrames(0), busy)
  const frames = makeFrames(0, 8 * length)
  const first = { busy: write(frames, busy), idle: write(frames, idle) }
  for (const answer of answers.slice(2)) {
    write(frames, answer)
    assert.equal(write(frames, busy), first.busy, 'it is used again and again')
  }
  assert.notEqual(write(frames, idle), first.idle, 'it was dropped and made anew')
})
